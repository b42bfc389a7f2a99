//! Makes the names that last: changing one later would orphan objects in users' clusters.

use crate::key::ReconcilerId;

/// API group of everything that is Windlass's own; refused in what a guest wants.
pub const GROUP: &str = "windlass.dev";
/// Label on a child: name of its Reconciler.
pub const LABEL_RECONCILER: &str = "windlass.dev/reconciler";
/// Label on a child: namespace of its Reconciler.
pub const LABEL_RECONCILER_NAMESPACE: &str = "windlass.dev/reconciler-namespace";
/// Label on a child: uid of its primary. Uids fit a label; names may not (J-01).
pub const LABEL_PRIMARY_UID: &str = "windlass.dev/primary-uid";
/// Annotation on a child: hash of the intent that was written last.
pub const ANNOTATION_APPLIED: &str = "windlass.dev/applied";
/// Annotation on a child that outlives its primary. The missing owner reference would not tell: garbage collection strips
/// it too, and children made in `finalize` have none.
pub const ANNOTATION_RETAIN: &str = "windlass.dev/retain";
/// Annotation on a child whose dependents do not go in the background: how they go when it is pruned. By then the guest
/// does not list the child any more, so only the child itself can say.
pub const ANNOTATION_PROPAGATION: &str = "windlass.dev/propagation";
/// Label that makes a ConfigMap a drop-in module.
pub const LABEL_MODULE: &str = "windlass.dev/module";
/// Label on a Reconciler that was made for a drop-in ConfigMap.
pub const LABEL_DROP_IN: &str = "windlass.dev/drop-in";
/// Annotation on a ServiceAccount: comma-separated names of the Reconcilers that may act as it.
pub const ANNOTATION_CONSENT: &str = "windlass.dev/reconcilers";
/// Finalizer on a Reconciler, only while primaries carry its own.
pub const FINALIZER_RELEASE: &str = "windlass.dev/release";
/// `reportingController` of Events.
pub const REPORTING_CONTROLLER: &str = "windlass.dev/host";
/// Field manager of the host's own writes.
pub const HOST_FIELD_MANAGER: &str = "windlass";
/// Prefix of every field manager that acts for a Reconciler.
pub const FIELD_MANAGER_PREFIX: &str = "windlass:";

/// Field manager of a Reconciler's children and of what its guest owns on primaries.
pub fn field_manager(reconciler: &ReconcilerId) -> String {
    format!("{FIELD_MANAGER_PREFIX}{}:{}", reconciler.namespace, reconciler.name)
}

/// Field manager of the status fields that the guest owns.
pub fn status_manager(reconciler: &ReconcilerId) -> String {
    format!("{}:status", field_manager(reconciler))
}

/// Field manager of conditions, apart from the guest's fields: with one manager, having no opinion on the fields would
/// remove them.
pub fn conditions_manager(reconciler: &ReconcilerId) -> String {
    format!("{}:conditions", field_manager(reconciler))
}

/// Finalizer that a Reconciler keeps on its primaries.
pub fn finalizer(reconciler: &ReconcilerId) -> String {
    format!(
        "{}.{}.reconciler.windlass.dev/finalize",
        reconciler.name, reconciler.namespace
    )
}

/// Label selector that finds all children of a Reconciler.
pub fn children_selector(reconciler: &ReconcilerId) -> String {
    format!(
        "{LABEL_RECONCILER}={},{LABEL_RECONCILER_NAMESPACE}={}",
        reconciler.name, reconciler.namespace
    )
}
