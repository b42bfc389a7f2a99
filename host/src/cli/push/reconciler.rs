//! Says how the Reconciler of a pushed module changes: what is named, and nothing else.

use super::owned::{Owner, owners};
use crate::api::reconciler_kind;
use serde_json::{Map, Value, json};
use windlass_core::key::ReconcilerId;
use windlass_core::object::Object;

/// What somebody said about the Reconciler; what is none stays as it is.
#[derive(Debug, Default)]
pub(super) struct Wish<'a> {
    pub(super) service_account: Option<&'a str>,
    pub(super) settings: Option<&'a Value>,
    pub(super) namespaces: Option<Vec<String>>,
}

/// How to bring it about.
#[derive(Debug)]
pub(super) struct Change {
    /// Pins what runs while the module is written, where the spec changes too: the new module is to be taken up with the
    /// new settings, and the old one not with them.
    pub(super) meanwhile: Option<Vec<Value>>,
    /// Puts whole values in the place of others, where applying would mix both.
    pub(super) patch: Option<Vec<Value>>,
    /// What is applied after that.
    pub(super) object: Object,
    /// What is to be said.
    pub(super) notes: Vec<String>,
}

/// The change from what is there to what is wished.
///
/// # Errors
/// If it is being deleted.
pub(super) fn change(id: &ReconcilerId, wish: &Wish<'_>, existing: Option<&Object>) -> Result<Change, String> {
    let source = json!({"configMap": {"name": id.name}});
    let mut wanted = vec![("source", Some(source))];
    wanted.push(("serviceAccountName", wish.service_account.map(Value::from)));
    wanted.push(("settings", wish.settings.cloned()));
    wanted.push(("namespaces", wish.namespaces.as_ref().map(|names| json!(names))));
    let (mut spec, mut patch, mut notes) = (Map::new(), Vec::new(), Vec::new());
    let Some(existing) = existing else {
        wanted.retain(|(_, value)| value.is_some());
        spec.extend(
            wanted
                .into_iter()
                .filter_map(|(field, value)| Some((field.to_owned(), value?))),
        );
        spec.entry("serviceAccountName")
            .or_insert_with(|| id.name.as_str().into());
        if wish.namespaces.is_none() {
            notes.push(format!(
                "it is for primaries in namespace {} alone; --all-namespaces or --for-namespace say otherwise",
                id.namespace
            ));
        }
        return Ok(Change {
            meanwhile: None,
            patch: None,
            object: object(id, &spec),
            notes,
        });
    };
    if existing.is_being_deleted() {
        return Err(format!(
            "Reconciler {id} is being deleted; wait until it is gone. `windlass release {} -n {}` helps if no host does",
            id.name, id.namespace
        ));
    }
    for (field, value) in wanted {
        let there = existing.at(&["spec", field]);
        let path = format!("/spec/{field}");
        match (value, there) {
            (Some(value), Some(there)) if value != *there => {
                if field == "source" {
                    notes.push(format!("its source was {there}"));
                }
                // The very value that is replaced, and not the resourceVersion: a host writes its status all the time.
                patch.push(json!({"op": "test", "path": path, "value": there}));
                patch.push(json!({"op": "replace", "path": path, "value": value}));
                spec.insert(field.into(), value);
            }
            (Some(value), _) => {
                spec.insert(field.into(), value);
            }
            // Ours already: what an apply does not name any more goes.
            (None, Some(there)) if owners(existing, &["spec", field]).iter().any(Owner::is_our_apply) => {
                spec.insert(field.into(), there.clone());
            }
            (None, _) => {}
        }
    }
    let pinned = existing.text_at(&["spec", "digest"]);
    let runs = existing.text_at(&["status", "active", "digest"]);
    let same = json!({"op": "test", "path": "/metadata/uid", "value": existing.uid()});
    let first_settings = wish.settings.filter(|_| existing.at(&["spec", "settings"]).is_none());
    let meanwhile = match (pinned, runs) {
        (None, Some(runs)) if !patch.is_empty() || first_settings.is_some() => {
            let pin = json!({"op": "add", "path": "/spec/digest", "value": runs});
            Some((vec![same.clone(), pin], runs))
        }
        _ => None,
    };
    if let Some(digest) = pinned {
        notes.push(format!("the pin to {} is removed", crate::cli::taken_up::short(digest)));
    }
    if let Some(digest) = pinned.or(meanwhile.as_ref().map(|(_, runs)| *runs)) {
        patch.push(json!({"op": "test", "path": "/spec/digest", "value": digest}));
        patch.push(json!({"op": "remove", "path": "/spec/digest"}));
    }
    // The pin and the settings go in one write. Settings that were not there before have nothing that could be replaced.
    if let (Some(_), Some(settings)) = (&meanwhile, first_settings) {
        patch.push(json!({"op": "add", "path": "/spec/settings", "value": settings}));
    }
    Ok(Change {
        meanwhile: meanwhile.map(|(pin, _)| pin),
        patch: (!patch.is_empty()).then(|| std::iter::once(same).chain(patch).collect()),
        object: object(id, &spec),
        notes,
    })
}

fn object(id: &ReconcilerId, spec: &Map<String, Value>) -> Object {
    Object::from_value(json!({
        "apiVersion": reconciler_kind().of.api_version(),
        "kind": "Reconciler",
        "metadata": {"namespace": id.namespace, "name": id.name},
        "spec": spec,
    }))
    .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::person::MANAGER;

    fn id() -> ReconcilerId {
        ReconcilerId::new("team-a", "nginx")
    }

    fn existing(spec: &Value, ours: &[&str]) -> Object {
        let fields: Map<String, Value> = ours.iter().map(|field| (format!("f:{field}"), json!({}))).collect();
        Object::from_value(json!({
            "metadata": {"uid": "u", "resourceVersion": "7", "managedFields": [
                {"manager": MANAGER, "operation": "Apply", "fieldsV1": {"f:spec": fields}},
            ]},
            "spec": spec,
        }))
        .unwrap()
    }

    fn spec(change: &Change) -> Value {
        change.object.at(&["spec"]).cloned().unwrap()
    }

    #[test]
    fn a_new_one_has_what_is_said_and_the_account_of_its_name() {
        let change = change(&id(), &Wish::default(), None).unwrap();
        assert_eq!(
            spec(&change),
            json!({"source": {"configMap": {"name": "nginx"}}, "serviceAccountName": "nginx"})
        );
        assert!(
            change.patch.is_none() && change.notes[0].contains("namespace team-a alone"),
            "{:?}",
            change.notes
        );
        let settings = json!({"a": 1});
        let wish = Wish {
            service_account: Some("other"),
            settings: Some(&settings),
            namespaces: Some(vec!["*".into()]),
        };
        let change = super::change(&id(), &wish, None).unwrap();
        let wanted = json!({
            "source": {"configMap": {"name": "nginx"}}, "serviceAccountName": "other", "settings": {"a": 1},
            "namespaces": ["*"],
        });
        assert_eq!(spec(&change), wanted);
        assert!(change.notes.is_empty());
    }

    #[test]
    fn an_existing_one_keeps_what_is_not_named_whoever_holds_it() {
        let there = json!({
            "source": {"configMap": {"name": "nginx"}}, "serviceAccountName": "other", "settings": {"a": 1},
            "namespaces": ["*"], "limits": {"memoryMebibytes": 32},
        });
        let ours = existing(&there, &["source", "serviceAccountName", "settings"]);
        let change = change(&id(), &Wish::default(), Some(&ours)).unwrap();
        let named = json!({
            "source": {"configMap": {"name": "nginx"}}, "serviceAccountName": "other", "settings": {"a": 1},
        });
        assert_eq!(spec(&change), named, "what is ours would go if it were not named");
        assert!(change.patch.is_none() && change.notes.is_empty());
        let theirs = super::change(&id(), &Wish::default(), Some(&existing(&there, &[]))).unwrap();
        assert_eq!(spec(&theirs), json!({"source": {"configMap": {"name": "nginx"}}}));
    }

    #[test]
    fn what_is_named_takes_the_place_of_what_was_there_as_a_whole() {
        let there = json!({
            "source": {"configMap": {"name": "old", "key": "a.wasm"}}, "serviceAccountName": "nginx",
            "settings": {"a": 1}, "namespaces": ["*"], "digest": "0123456789abcdef",
        });
        let settings = json!({"b": 2});
        let wish = Wish {
            settings: Some(&settings),
            namespaces: Some(vec!["team-a".into()]),
            ..Wish::default()
        };
        let change = change(&id(), &wish, Some(&existing(&there, &[]))).unwrap();
        let wanted = json!([
            {"op": "test", "path": "/metadata/uid", "value": "u"},
            {"op": "test", "path": "/spec/source", "value": {"configMap": {"name": "old", "key": "a.wasm"}}},
            {"op": "replace", "path": "/spec/source", "value": {"configMap": {"name": "nginx"}}},
            {"op": "test", "path": "/spec/settings", "value": {"a": 1}},
            {"op": "replace", "path": "/spec/settings", "value": {"b": 2}},
            {"op": "test", "path": "/spec/namespaces", "value": ["*"]},
            {"op": "replace", "path": "/spec/namespaces", "value": ["team-a"]},
            {"op": "test", "path": "/spec/digest", "value": "0123456789abcdef"},
            {"op": "remove", "path": "/spec/digest"},
        ]);
        assert_eq!(json!(change.patch), wanted);
        let notes = change.notes.join("; ");
        assert!(
            notes.contains("its source was") && notes.contains("pin to 0123456789ab"),
            "{notes}"
        );
    }

    #[test]
    fn while_module_and_settings_change_what_runs_is_pinned_and_both_are_let_in_at_once() {
        let there = json!({"source": {"configMap": {"name": "nginx"}}, "serviceAccountName": "nginx"});
        let mut running = existing(&there, &[]);
        running.0.insert("status".into(), json!({"active": {"digest": "abc"}}));
        let settings = json!({"b": 2});
        let wish = Wish {
            settings: Some(&settings),
            ..Wish::default()
        };
        let change = change(&id(), &wish, Some(&running)).unwrap();
        let same = json!({"op": "test", "path": "/metadata/uid", "value": "u"});
        let pin = json!([same, {"op": "add", "path": "/spec/digest", "value": "abc"}]);
        assert_eq!(json!(change.meanwhile), pin);
        let then = json!([
            same,
            {"op": "test", "path": "/spec/digest", "value": "abc"},
            {"op": "remove", "path": "/spec/digest"},
            {"op": "add", "path": "/spec/settings", "value": {"b": 2}},
        ]);
        assert_eq!(json!(change.patch), then);
        let equal = super::change(&id(), &Wish::default(), Some(&running)).unwrap();
        assert!(
            equal.meanwhile.is_none() && equal.patch.is_none(),
            "the module alone needs no pin"
        );
    }

    #[test]
    fn one_that_is_being_deleted_is_not_written() {
        let mut going = existing(&json!({}), &[]);
        going.metadata_mut().insert("deletionTimestamp".into(), "t".into());
        let error = change(&id(), &Wish::default(), Some(&going)).unwrap_err();
        assert!(
            error.contains("is being deleted") && error.contains("windlass release nginx -n team-a"),
            "{error}"
        );
    }
}
