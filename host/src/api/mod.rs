//! Defines the custom resource of Windlass, from which `deploy/crds` is generated.

mod reconciler;
mod source;
mod status;

pub use reconciler::{Adoption, Limits, OnFinalizeFailure, PruneGuard, Reconciler, ReconcilerSpec};
pub use source::{ConfigMapSource, INDEX_KEY, Index, MAX_PARTS, ModuleSource, OciSource, Part};
pub use status::{
    Active, Approved, Claim, Earlier, HeldPlan, LastFailure, Primaries, PrimaryKind, PruneHeld, ReconcilerStatus,
    Refused, StatusCondition,
};

use serde_json::Value;
use windlass_core::kind::KindInfo;

/// The `Reconciler` kind with its path.
pub fn reconciler_kind() -> KindInfo {
    KindInfo::namespaced("windlass.dev", "v1alpha1", "Reconciler", "reconcilers")
}

/// Name of the CRD that serves it.
pub const RECONCILER_CRD: &str = "reconcilers.windlass.dev";

/// The CRD as a JSON value, as `windlass crds` prints it.
pub fn crd() -> Value {
    let crd = <Reconciler as kube::CustomResourceExt>::crd();
    let mut crd = serde_json::to_value(crd).unwrap_or_default();
    without_nullable(&mut crd);
    crd
}

/// Takes `nullable` out everywhere: a null is then dropped by the API server, so that the rules need not know it.
fn without_nullable(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.get("nullable") == Some(&Value::Bool(true)) {
                map.remove("nullable");
            }
            map.values_mut().for_each(without_nullable);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nullable),
        _ => {}
    }
}
