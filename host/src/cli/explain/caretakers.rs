//! Finds out which Reconcilers take care of an object, and why the others of its kind do not.

use crate::api::{ReconcilerSpec, ReconcilerStatus};
use crate::cli::taken_up::status;
use serde::Deserialize;
use windlass_core::key::ReconcilerId;
use windlass_core::kind::KindRef;
use windlass_core::managed_fields::managers;
use windlass_core::names::FIELD_MANAGER_PREFIX;
use windlass_core::object::Object;

/// A Reconciler, and how it stands to an object.
pub(super) struct Caretaker {
    pub(super) id: ReconcilerId,
    pub(super) spec: ReconcilerSpec,
    pub(super) status: ReconcilerStatus,
    /// Why it does not take care of the object; none if it does.
    pub(super) not: Option<String>,
}

/// The Reconcilers that are about this kind of object, as far as they have ever said what they are about. Those that take care
/// of it come first.
pub(super) fn caretakers(reconcilers: &[Object], of: &KindRef, namespace: Option<&str>) -> Vec<Caretaker> {
    let mut found: Vec<Caretaker> = reconcilers
        .iter()
        .filter_map(|reconciler| caretaker(reconciler, of, namespace))
        .collect();
    found.sort_by_key(|caretaker| (caretaker.not.is_some(), caretaker.id.to_string()));
    found
}

fn caretaker(reconciler: &Object, of: &KindRef, namespace: Option<&str>) -> Option<Caretaker> {
    let status = status(reconciler);
    let spec = reconciler.at(&["spec"]).map(ReconcilerSpec::deserialize);
    let not = match &status.claim {
        Some(claim) if claim.kind().of.same_group_kind(of) => why_not(reconciler, &status, of, namespace),
        Some(_) => return None,
        None => Some(format!(
            "which kind it is about is not known, as no module of it has run yet ({})",
            ready(&status)
        )),
    };
    let (spec, not) = match spec {
        Some(Ok(spec)) => (spec, not),
        Some(Err(error)) => (
            ReconcilerSpec::default(),
            Some(format!("its spec cannot be read: {error}")),
        ),
        None => (ReconcilerSpec::default(), Some("it has no spec".into())),
    };
    let not = if spec.suspend {
        Some("it is suspended: no decisions are taken until spec.suspend is false again".into())
    } else {
        not
    };
    Some(Caretaker {
        id: ReconcilerId::new(reconciler.namespace().unwrap_or_default(), reconciler.name()),
        spec,
        status,
        not,
    })
}

fn why_not(reconciler: &Object, status: &ReconcilerStatus, of: &KindRef, namespace: Option<&str>) -> Option<String> {
    let claim = status.claim.as_ref()?;
    if reconciler.is_being_deleted() {
        return Some("it is being deleted, and lets go of what it took care of".into());
    }
    if !claim.covers(namespace) {
        let place = namespace.unwrap_or("no namespace");
        return Some(format!(
            "it takes care of {} in {} only, and this one is in {place}: its spec.namespaces says so",
            of.kind,
            claim.namespaces.join(", ")
        ));
    }
    if status.active.is_none() {
        return Some(format!("no module runs for it ({})", ready(status)));
    }
    None
}

/// What its condition `Ready` says.
pub(super) fn ready(status: &ReconcilerStatus) -> String {
    let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready");
    ready.map_or_else(
        || "it says nothing yet: does a host run?".into(),
        |ready| format!("{}: {}", ready.reason, ready.message),
    )
}

/// The Reconcilers that have written to an object, by their field managers.
pub(super) fn writers(object: &Object) -> Vec<ReconcilerId> {
    let mut ids: Vec<ReconcilerId> = managers(object)
        .into_iter()
        .filter_map(|manager| {
            let mut parts = manager.strip_prefix(FIELD_MANAGER_PREFIX)?.split(':');
            Some(ReconcilerId::new(parts.next()?, parts.next()?))
        })
        .collect();
    ids.sort();
    ids.dedup();
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn nginx() -> KindRef {
        KindRef::new("example.com", "v1", "Nginx")
    }

    fn reconciler(name: &str, changes: &Value) -> Object {
        let mut reconciler = json!({
            "metadata": {"namespace": "system", "name": name},
            "spec": {"source": {"configMap": {"name": name}}, "serviceAccountName": name},
            "status": {
                "active": {"digest": "1", "shortDigest": "1", "name": "n", "version": "1", "kind": "Nginx",
                    "strict": true, "rightsHash": ""},
                "claim": {
                    "primary": {"group": "example.com", "version": "v1", "kind": "Nginx", "plural": "nginxes",
                        "namespaced": true},
                    "namespaces": ["team-a"], "exclusive": true,
                },
                "conditions": [{"type": "Ready", "status": "False", "reason": "Why", "message": "because",
                    "lastTransitionTime": ""}],
            },
        });
        json_patch(&mut reconciler, changes);
        Object::from_value(reconciler).unwrap()
    }

    fn json_patch(into: &mut Value, changes: &Value) {
        for (key, value) in changes.as_object().into_iter().flatten() {
            match value {
                Value::Object(_) if into[key].is_object() => json_patch(&mut into[key], value),
                Value::Null => drop(into.as_object_mut().unwrap().remove(key)),
                value => into[key] = value.clone(),
            }
        }
    }

    #[test]
    fn whoever_does_not_take_care_of_it_is_named_with_the_reason() {
        let table = [
            (json!({}), "team-a", None),
            (json!({}), "team-b", Some("in team-a only, and this one is in team-b")),
            (json!({"status": {"claim": {"namespaces": ["*"]}}}), "team-b", None),
            (json!({"spec": {"suspend": true}}), "team-a", Some("suspended")),
            (
                json!({"status": {"active": null}}),
                "team-a",
                Some("no module runs for it (Why: because)"),
            ),
            (
                json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
                "team-a",
                Some("being deleted"),
            ),
            (
                json!({"status": {"claim": null}}),
                "team-a",
                Some("which kind it is about is not known"),
            ),
        ];
        for (changes, namespace, expected) in table {
            let found = caretakers(&[reconciler("one", &changes)], &nginx(), Some(namespace));
            let not = found[0].not.as_deref();
            match expected {
                None => assert_eq!(not, None, "{changes}"),
                Some(words) => assert!(not.is_some_and(|not| not.contains(words)), "{changes}: {not:?}"),
            }
        }
        let other = json!({"status": {"claim": {"primary": {"kind": "Other"}}}});
        assert!(caretakers(&[reconciler("one", &other)], &nginx(), Some("team-a")).is_empty());
    }

    #[test]
    fn those_that_take_care_of_it_come_first() {
        let away = json!({"status": {"claim": {"namespaces": ["elsewhere"]}}});
        let all = [
            reconciler("a", &away),
            reconciler("b", &json!({})),
            reconciler("c", &json!({})),
        ];
        let found = caretakers(&all, &nginx(), Some("team-a"));
        let names: Vec<&str> = found.iter().map(|caretaker| caretaker.id.name.as_str()).collect();
        assert_eq!(names, ["b", "c", "a"]);
    }

    #[test]
    fn who_wrote_an_object_is_known_by_its_managers() {
        let fields = |manager: &str| json!({"manager": manager, "operation": "Apply", "fieldsV1": {}});
        let managers = [
            "kubectl",
            "windlass:system:b:status",
            "windlass:system:b:conditions",
            "windlass:team:a",
        ];
        let object = json!({"metadata": {"managedFields": managers.map(fields)}});
        let object = Object::from_value(object).unwrap();
        let expected = [ReconcilerId::new("system", "b"), ReconcilerId::new("team", "a")];
        assert_eq!(writers(&object), expected);
    }
}
