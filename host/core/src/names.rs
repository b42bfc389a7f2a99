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
/// Label on a ConfigMap of the host's namespace in which the host keeps a part of a module that ran.
pub const LABEL_KEPT_MODULE: &str = "windlass.dev/kept-module";
/// Begin of the names of those ConfigMaps; the first 40 digits of the digest and the number of the part follow.
pub const KEPT_MODULE_PREFIX: &str = "windlass-module-";
/// Annotation on a ConfigMap that holds a module or a part of one: the sha256 of the whole module once unpacked.
pub const ANNOTATION_DIGEST: &str = "windlass.dev/digest";
/// Annotation on such a ConfigMap: how many parts there are.
pub const ANNOTATION_PARTS: &str = "windlass.dev/parts";
/// Annotation on such a ConfigMap: the name that the module gives itself.
pub const ANNOTATION_MODULE_NAME: &str = "windlass.dev/module-name";
/// Annotation on such a ConfigMap: the version that the module gives itself.
pub const ANNOTATION_MODULE_VERSION: &str = "windlass.dev/module-version";
/// Label on a ConfigMap that `windlass push` made for a part of a module: the name of the Reconciler.
pub const LABEL_PART_OF: &str = "windlass.dev/part-of";
/// Annotation on a ServiceAccount: comma-separated names of the Reconcilers that may act as it.
pub const ANNOTATION_CONSENT: &str = "windlass.dev/reconcilers";
/// Annotation on a primary: hash of the deletions that somebody approved, as the condition says it.
pub const ANNOTATION_APPROVE_PRUNE: &str = "windlass.dev/approve-prune";
/// Finalizer on a Reconciler, only while primaries carry its own.
pub const FINALIZER_RELEASE: &str = "windlass.dev/release";
/// `reportingController` of Events.
pub const REPORTING_CONTROLLER: &str = "windlass.dev/host";
/// Field manager of the host's own writes.
pub const HOST_FIELD_MANAGER: &str = "windlass";
/// Prefix of every field manager that acts for a Reconciler.
pub const FIELD_MANAGER_PREFIX: &str = "windlass:";

/// Longest name of a Reconciler, in bytes: it becomes part of labels, field managers and a finalizer.
pub const MAX_RECONCILER_NAME: usize = 40;

/// Name of the ConfigMap that keeps a part of the module with this digest.
pub fn kept_module(digest: &str, part: usize) -> String {
    let short = &digest[..digest.floor_char_boundary(40)];
    format!("{KEPT_MODULE_PREFIX}{short}-{part}")
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever has to change one of these texts orphans what was made under the old one, in every cluster.
    #[test]
    fn names_stay_as_they_are_for_ever() {
        let reconciler = ReconcilerId::new("team-a", "nginx");
        assert_eq!(field_manager(&reconciler), "windlass:team-a:nginx");
        assert_eq!(status_manager(&reconciler), "windlass:team-a:nginx:status");
        assert_eq!(conditions_manager(&reconciler), "windlass:team-a:nginx:conditions");
        assert_eq!(finalizer(&reconciler), "nginx.team-a.reconciler.windlass.dev/finalize");
        assert_eq!(
            kept_module(&"ab".repeat(32), 1),
            format!("windlass-module-{}-1", "ab".repeat(20))
        );
        assert_eq!(
            children_selector(&reconciler),
            "windlass.dev/reconciler=nginx,windlass.dev/reconciler-namespace=team-a"
        );
        let constants = [
            (GROUP, "windlass.dev"),
            (LABEL_RECONCILER, "windlass.dev/reconciler"),
            (LABEL_RECONCILER_NAMESPACE, "windlass.dev/reconciler-namespace"),
            (LABEL_PRIMARY_UID, "windlass.dev/primary-uid"),
            (ANNOTATION_APPLIED, "windlass.dev/applied"),
            (ANNOTATION_RETAIN, "windlass.dev/retain"),
            (ANNOTATION_PROPAGATION, "windlass.dev/propagation"),
            (LABEL_MODULE, "windlass.dev/module"),
            (LABEL_DROP_IN, "windlass.dev/drop-in"),
            (LABEL_KEPT_MODULE, "windlass.dev/kept-module"),
            (KEPT_MODULE_PREFIX, "windlass-module-"),
            (ANNOTATION_DIGEST, "windlass.dev/digest"),
            (ANNOTATION_PARTS, "windlass.dev/parts"),
            (ANNOTATION_MODULE_NAME, "windlass.dev/module-name"),
            (ANNOTATION_MODULE_VERSION, "windlass.dev/module-version"),
            (LABEL_PART_OF, "windlass.dev/part-of"),
            (ANNOTATION_CONSENT, "windlass.dev/reconcilers"),
            (ANNOTATION_APPROVE_PRUNE, "windlass.dev/approve-prune"),
            (FINALIZER_RELEASE, "windlass.dev/release"),
            (REPORTING_CONTROLLER, "windlass.dev/host"),
            (HOST_FIELD_MANAGER, "windlass"),
            (FIELD_MANAGER_PREFIX, "windlass:"),
        ];
        for (constant, text) in constants {
            assert_eq!(constant, text);
        }
    }

    #[test]
    fn the_longest_names_fit_where_the_api_server_takes_them() {
        let reconciler = ReconcilerId::new(&"n".repeat(63), &"r".repeat(40));
        assert!(
            conditions_manager(&reconciler).len() <= 128,
            "a field manager has at most 128 characters"
        );
        assert_eq!(
            crate::syntax::label_key(&finalizer(&reconciler)),
            Ok(()),
            "a finalizer is a qualified name"
        );
        assert!(crate::selector::Selector::parse(&children_selector(&reconciler)).is_ok());
    }

    #[test]
    fn two_reconcilers_never_share_a_name() {
        let one = ReconcilerId::new("a", "b-c");
        let other = ReconcilerId::new("a-b", "c");
        assert_ne!(field_manager(&one), field_manager(&other));
        assert_ne!(finalizer(&one), finalizer(&other));
    }
}
