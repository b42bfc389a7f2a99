//! Defines the custom resource of Windlass, from which `deploy/crds` is generated.

mod reconciler;
mod status;

pub use reconciler::{ConfigMapSource, Limits, ModuleSource, Reconciler, ReconcilerSpec};
pub use status::{Active, LastFailure, Primaries, ReconcilerStatus, Refused, StatusCondition};

use windlass_core::kind::KindInfo;

/// The `Reconciler` kind with its path.
pub fn reconciler_kind() -> KindInfo {
    KindInfo::namespaced("windlass.dev", "v1alpha1", "Reconciler", "reconcilers")
}

/// Name of the CRD that serves it.
pub const RECONCILER_CRD: &str = "reconcilers.windlass.dev";

/// The CRD as a JSON value, as `windlass crds` prints it.
pub fn crd() -> serde_json::Value {
    let crd = <Reconciler as kube::CustomResourceExt>::crd();
    serde_json::to_value(crd).unwrap_or_default()
}
