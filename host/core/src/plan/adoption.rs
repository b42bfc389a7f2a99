//! Decides whether an object that has a child's name already may be taken over, and how.

use super::{Adoption, Situation, conflict};
use crate::decision::WriteMode;
use crate::inventory::{controller, is_controlled_by, is_ours};
use crate::managed_fields::{hand_over, owned_by_others, owns_any};
use crate::names::field_manager;
use crate::object::Object;
use crate::write::{Actor, Identity, Request, Target};
use serde_json::{Map, Value, json};

/// The requests that take an object over, in their order. Never with force: what others own stays theirs, and the API
/// server has the last word.
///
/// # Errors
/// What keeps it from being taken over, in a sentence about the target; none of it is ours to say where nothing allows it.
pub(super) fn adopt(
    situation: &Situation<'_>,
    target: &Target,
    mode: WriteMode,
    intent: &Object,
    object: &Object,
) -> Result<Vec<Request>, Option<String>> {
    let ours = field_manager(&situation.actor.reconciler);
    let allowed = allowed(situation, object);
    let is_foreign = controller(object).is_some() && !is_controlled_by(object, situation.primary);
    if allowed.is_empty() || is_foreign {
        return Err(None);
    }
    let mut managers: Vec<&str> = allowed.iter().map(String::as_str).collect();
    // Of an earlier try that came no further.
    managers.push(&ours);
    if !owns_any(object, &managers) {
        return Err(None);
    }
    let others = owned_by_others(intent, object, &managers);
    if !others.is_empty() {
        return Err(Some(conflict::owned_by_others(target, &others)));
    }
    if mode == WriteMode::CreateOnce {
        return Ok(vec![Request::JsonPatch(marks(intent, object))]);
    }
    let handed_over = hand_over(object, &managers, &ours);
    let handed_over = handed_over.map_err(|differ| Some(conflict::not_taken_over(target, &differ.to_string())))?;
    let mut body = intent.clone();
    body.metadata_mut().insert("uid".into(), Value::from(object.uid()));
    let apply = Request::Apply {
        object: body,
        force: false,
    };
    Ok(handed_over.into_iter().map(Request::JsonPatch).chain([apply]).collect())
}

/// The managers from which this object may be taken over: those that the spec names, and a Reconciler that took care of
/// this very primary before and does so no more (F-13).
fn allowed(situation: &Situation<'_>, object: &Object) -> Vec<String> {
    let Adoption {
        from_field_managers,
        predecessors,
    } = situation.adoption;
    let made_by = |predecessor: &&crate::key::ReconcilerId| {
        let actor = Actor {
            reconciler: (*predecessor).clone(),
            identity: Identity::Host,
        };
        is_ours(object, &actor, situation.primary)
    };
    let before = predecessors.iter().filter(made_by).map(field_manager);
    from_field_managers.iter().cloned().chain(before).collect()
}

/// The JSON patch that puts our marks on an object and leaves everything else as it is, for what is to be left alone.
fn marks(intent: &Object, object: &Object) -> Vec<Value> {
    let mut patch = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": object.uid()}),
        json!({"op": "test", "path": "/metadata/resourceVersion", "value": object.resource_version()}),
    ];
    for part in ["labels", "annotations"] {
        let Some(wanted) = intent.at(&["metadata", part]).and_then(Value::as_object) else {
            continue;
        };
        patch.extend(additions(part, wanted, object));
    }
    if let Some(owners) = intent.at(&["metadata", "ownerReferences"]).and_then(Value::as_array) {
        let path = "/metadata/ownerReferences";
        let there = object.at(&["metadata", "ownerReferences"]).is_some();
        let is_there = |owner: &&Value| {
            let uid = owner.get("uid").and_then(Value::as_str);
            object
                .owner_references()
                .iter()
                .any(|other| Some(other.uid.as_str()) == uid)
        };
        let missing: Vec<&Value> = owners.iter().filter(|owner| !is_there(owner)).collect();
        if there {
            let add = |owner| json!({"op": "add", "path": format!("{path}/-"), "value": owner});
            patch.extend(missing.into_iter().map(add));
        } else if !missing.is_empty() {
            patch.push(json!({"op": "add", "path": path, "value": missing}));
        }
    }
    patch
}

fn additions(part: &str, wanted: &Map<String, Value>, object: &Object) -> Vec<Value> {
    let path = format!("/metadata/{part}");
    if object.at(&["metadata", part]).and_then(Value::as_object).is_none() {
        return vec![json!({"op": "add", "path": path, "value": wanted})];
    }
    let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
    let add = |(key, value): (&String, &Value)| json!({"op": "add", "path": format!("{path}/{}", escaped(key)), "value": value});
    wanted.iter().map(add).collect()
}
