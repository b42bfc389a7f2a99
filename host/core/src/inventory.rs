//! Tells what is ours: marks it, recognises it and orders it.

use crate::canonical::{self, IntentKey};
use crate::decision::Propagation;
use crate::kind::KindRef;
use crate::managed_fields;
use crate::names::{
    ANNOTATION_APPLIED, ANNOTATION_PROPAGATION, ANNOTATION_RETAIN, LABEL_PRIMARY_UID, LABEL_RECONCILER,
    LABEL_RECONCILER_NAMESPACE, field_manager,
};
use crate::object::{Object, OwnerReference};
use crate::write::Actor;
use serde_json::{Value, json};

/// On which terms a child exists, besides whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// It goes when its primary goes, by an owner reference where namespaces allow one.
    pub owned: bool,
    /// It stays when its primary goes.
    pub retained: bool,
    /// How its own dependents go when it is pruned.
    pub propagation: Propagation,
}

/// Turns what a guest wants into what is sent: its intent with our marks, and the hash of it all.
pub fn mark(object: &mut Object, actor: &Actor, primary: &Object, terms: Terms, key: &IntentKey) {
    *object = canonical::intent(object);
    object.set_metadata_entry("labels", LABEL_RECONCILER, &actor.reconciler.name);
    object.set_metadata_entry("labels", LABEL_RECONCILER_NAMESPACE, &actor.reconciler.namespace);
    object.set_metadata_entry("labels", LABEL_PRIMARY_UID, primary.uid());
    if terms.retained {
        object.set_metadata_entry("annotations", ANNOTATION_RETAIN, "true");
    }
    if terms.propagation != Propagation::Background {
        object.set_metadata_entry(
            "annotations",
            ANNOTATION_PROPAGATION,
            &format!("{:?}", terms.propagation),
        );
    }
    if terms.owned && !terms.retained && may_own(primary, object) {
        set_controller(object, primary);
    }
    let hash = key.hash(object);
    object.set_metadata_entry("annotations", ANNOTATION_APPLIED, &hash);
}

/// Whether the object was made by this Reconciler for this primary and belongs to nobody else by now.
///
/// Proof is our controller reference, or our three labels with a trace of our own write: controllers copy labels onto
/// what they make (a Service's onto its EndpointSlices), and such a copy must never be pruned.
pub fn is_ours(object: &Object, actor: &Actor, primary: &Object) -> bool {
    let label_is = |key: &str, value: &str| object.label(key) == Some(value);
    let label_denies = |key: &str, value: &str| object.label(key).is_some_and(|given| given != value);
    let reconciler = &actor.reconciler;
    if primary.uid().is_empty()
        || label_denies(LABEL_RECONCILER, &reconciler.name)
        || label_denies(LABEL_RECONCILER_NAMESPACE, &reconciler.namespace)
    {
        return false;
    }
    match controller(object) {
        Some(owner) => owner.uid == primary.uid(),
        None => {
            label_is(LABEL_RECONCILER, &reconciler.name)
                && label_is(LABEL_RECONCILER_NAMESPACE, &reconciler.namespace)
                && label_is(LABEL_PRIMARY_UID, primary.uid())
                && (object.annotation(ANNOTATION_APPLIED).is_some()
                    || managed_fields::has_written(object, &field_manager(reconciler)))
        }
    }
}

/// Whether the primary is the object's controller.
pub fn is_controlled_by(object: &Object, primary: &Object) -> bool {
    controller(object).is_some_and(|owner| owner.uid == primary.uid())
}

/// The owner that manages the object.
pub fn controller(object: &Object) -> Option<OwnerReference> {
    object
        .owner_references()
        .into_iter()
        .find(|owner| owner.controller == Some(true))
}

/// Whether the object stays when its primary goes.
pub fn is_retained(object: &Object) -> bool {
    object.annotation(ANNOTATION_RETAIN).is_some()
}

/// How the object's dependents go when it is pruned.
pub fn propagation(object: &Object) -> Propagation {
    match object.annotation(ANNOTATION_PROPAGATION) {
        Some("Foreground") => Propagation::Foreground,
        Some("Orphan") => Propagation::Orphan,
        _ => Propagation::Background,
    }
}

/// When a kind is written, lowest first; what others need comes before them.
pub fn rank(of: &KindRef) -> u8 {
    match (of.group.as_str(), of.kind.as_str()) {
        ("", "Namespace") => 0,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => 1,
        ("", "ServiceAccount") => 2,
        ("rbac.authorization.k8s.io", _) => 3,
        ("", "ConfigMap" | "Secret") => 4,
        ("", "Service") => 5,
        _ => 6,
    }
}

/// Owners of another namespace, or namespaced owners of cluster-scoped objects, make garbage collection delete the object.
fn may_own(primary: &Object, child: &Object) -> bool {
    primary.namespace().is_none() || primary.namespace() == child.namespace()
}

fn set_controller(object: &mut Object, primary: &Object) {
    let reference = json!({
        "apiVersion": primary.text_at(&["apiVersion"]),
        "kind": primary.text_at(&["kind"]),
        "name": primary.name(),
        "uid": primary.uid(),
        "controller": true,
    });
    let metadata = object.metadata_mut();
    let mut owners = metadata
        .remove("ownerReferences")
        .and_then(|owners| owners.as_array().cloned())
        .unwrap_or_default();
    owners.retain(|owner| owner.get("uid") != reference.get("uid"));
    owners.push(reference);
    metadata.insert("ownerReferences".into(), Value::Array(owners));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::ReconcilerId;
    use crate::write::Identity;

    fn object(value: Value) -> Object {
        Object::from_value(value).unwrap()
    }

    fn actor() -> Actor {
        Actor {
            reconciler: ReconcilerId::new("team-a", "nginx"),
            identity: Identity::Host,
        }
    }

    fn primary() -> Object {
        object(json!({"apiVersion": "demo.example.com/v1", "kind": "Nginx",
                      "metadata": {"name": "web", "namespace": "team-a", "uid": "u1"}}))
    }

    fn marked(namespace: &str, owned: bool, retained: bool) -> Object {
        let mut child = object(json!({"kind": "ConfigMap", "metadata": {"name": "c", "namespace": namespace}}));
        mark(
            &mut child,
            &actor(),
            &primary(),
            Terms {
                owned,
                retained,
                propagation: Propagation::Orphan,
            },
            &IntentKey::derive(b"key"),
        );
        child
    }

    #[test]
    fn a_marked_child_is_ours_and_says_how_it_goes() {
        let child = marked("team-a", true, false);
        assert!(is_ours(&child, &actor(), &primary()) && is_controlled_by(&child, &primary()));
        assert_eq!(propagation(&child), Propagation::Orphan);
        assert!(!is_retained(&child));
        assert_eq!(child.owner_references()[0].block_owner_deletion, None);
    }

    #[test]
    fn a_retained_child_has_no_owner_reference_and_is_ours_all_the_same() {
        let child = marked("team-a", true, true);
        assert!(is_ours(&child, &actor(), &primary()) && is_retained(&child));
        assert!(child.owner_references().is_empty());
    }

    #[test]
    fn no_owner_reference_crosses_namespaces() {
        assert!(marked("team-b", true, false).owner_references().is_empty());
    }

    #[test]
    fn marking_twice_changes_nothing() {
        let once = marked("team-a", true, false);
        let mut twice = once.clone();
        twice
            .metadata_mut()
            .get_mut("annotations")
            .unwrap()
            .as_object_mut()
            .unwrap()
            .remove(ANNOTATION_APPLIED);
        mark(
            &mut twice,
            &actor(),
            &primary(),
            Terms {
                owned: true,
                retained: false,
                propagation: Propagation::Orphan,
            },
            &IntentKey::derive(b"key"),
        );
        assert_eq!(twice, once);
    }

    #[test]
    fn a_copy_of_our_labels_is_not_ours() {
        let mut slice = marked("team-a", false, false);
        slice.metadata_mut().remove("annotations");
        assert!(
            !is_ours(&slice, &actor(), &primary()),
            "an EndpointSlice has its Service's labels"
        );
    }

    #[test]
    fn a_child_that_moved_to_another_controller_is_not_ours() {
        let mut child = marked("team-a", true, false);
        let mut other = primary();
        other.metadata_mut().insert("uid".into(), json!("u2"));
        child.metadata_mut().remove("ownerReferences");
        set_controller(&mut child, &other);
        assert!(!is_ours(&child, &actor(), &primary()));
    }

    #[test]
    fn two_reconcilers_of_one_primary_do_not_share_children() {
        let other = Actor {
            reconciler: ReconcilerId::new("team-a", "other"),
            identity: Identity::Host,
        };
        assert!(!is_ours(&marked("team-a", true, false), &other, &primary()));
    }

    #[test]
    fn stripped_labels_leave_the_owner_reference_as_proof() {
        let mut child = marked("team-a", true, false);
        child.metadata_mut().remove("labels");
        assert!(is_ours(&child, &actor(), &primary()));
    }

    #[test]
    fn an_unknown_primary_owns_nothing() {
        assert!(!is_ours(&marked("team-a", true, false), &actor(), &Object::default()));
    }

    #[test]
    fn what_others_need_comes_first() {
        let kinds = [
            ("", "Namespace"),
            ("", "ServiceAccount"),
            ("rbac.authorization.k8s.io", "Role"),
            ("", "Secret"),
            ("", "Service"),
            ("apps", "Deployment"),
        ];
        let ranks: Vec<u8> = kinds
            .iter()
            .map(|(group, kind)| rank(&KindRef::new(group, "v1", kind)))
            .collect();
        assert!(ranks.is_sorted_by(|left, right| left < right));
    }
}
