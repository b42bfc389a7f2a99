//! Says of each child how it stands to what the module wants.

use super::answer::{ChildState, OfChild};
use crate::cluster::Cluster;
use crate::reconcile::preview::Preview;
use crate::running::Activation;
use serde_json::Value;
use std::collections::BTreeMap;
use windlass_core::decision::{ChildrenPlan, Decided, DesiredChild, Outcome, WriteMode};
use windlass_core::kind::ObjectRef;
use windlass_core::names::ANNOTATION_APPLIED;
use windlass_core::object::Object;
use windlass_core::secrets::names_secrets;
use windlass_core::write::{Request, Write};

/// At most this many fields are named of one child.
const FIELDS: usize = 12;
/// At most this many characters are shown of a value.
const VALUE: usize = 60;

/// What was decided, if it was to be carried out.
pub(super) fn outcome(looked: &Preview) -> Option<&Outcome> {
    match &looked.decided {
        Decided::Outcome(outcome) | Decided::Proceed(outcome) => Some(outcome),
        _ => None,
    }
}

/// What the module said of all children, where it gave no list.
pub(super) fn in_all(looked: &Preview) -> Option<String> {
    let words = match (&looked.decided, outcome(looked).map(|outcome| &outcome.children)) {
        (_, Some(ChildrenPlan::Exactly(_))) => return None,
        (_, Some(ChildrenPlan::Unchanged)) => "left as they are: the module says that not enough is known",
        (_, Some(ChildrenPlan::NoneWanted)) => "none is wanted",
        (Decided::Done | Decided::Skipped(_), _) => "all go, but for what outlives the object",
        (Decided::Leaving, _) => {
            "the object is going without a finalizer of its Reconciler: the garbage collector takes them"
        }
        _ => "left as they are: no decision was reached",
    };
    Some(words.into())
}

/// All children: those that are wanted in the order in which they are, and then those that go.
pub(super) async fn children(cluster: &dyn Cluster, activation: &Activation, looked: &Preview) -> Vec<OfChild> {
    let mut all: BTreeMap<ObjectRef, OfChild> = BTreeMap::new();
    let mut add = |object: ObjectRef, state, why: Option<String>| {
        let child = OfChild {
            object: object.clone(),
            state,
            fields: Vec::new(),
            why,
        };
        all.insert(object, child);
    };
    for child in &looked.children {
        add(child.reference(), ChildState::Untouched, None);
    }
    for desired in wanted(looked) {
        match desired {
            DesiredChild::Hold(held) => {
                add(placed(activation, looked, held.clone()), ChildState::Held, None);
            }
            DesiredChild::Want(wanted) => {
                let object = placed(activation, looked, wanted.object.reference());
                let why =
                    (wanted.mode == WriteMode::CreateOnce).then(|| "it is made once and then left alone".to_owned());
                add(object, ChildState::AsWanted, why);
            }
        }
    }
    for write in &looked.plan.children {
        let is_recreated = matches!(write.request, Request::Delete { .. });
        let state = match write.request {
            Request::Create(_) => ChildState::Created,
            Request::Delete { .. } => ChildState::Recreated,
            _ if names_secrets(&write.target.kind.of) => ChildState::Unknown,
            _ => ChildState::Changed,
        };
        let why = match state {
            ChildState::Unknown => Some(
                "what was written of a Secret is known by a hash under the host's key, which is not read here".into(),
            ),
            _ => None,
        };
        if !is_recreated || !looked.plan.blocked.iter().any(|blocked| blocked.target == write.target) {
            add(write.target.reference(), state, why);
        }
    }
    for blocked in &looked.plan.blocked {
        let why = format!("{}: {}", blocked.reason, blocked.message);
        add(blocked.target.reference(), ChildState::Blocked, Some(why));
    }
    for delete in &looked.plan.prune {
        add(delete.target.reference(), ChildState::Pruned, None);
    }
    for write in &looked.plan.children {
        let child = all.get_mut(&write.target.reference());
        if let Some(child) = child.filter(|child| child.state == ChildState::Changed) {
            child.fields = changed(cluster, write).await;
        }
    }
    all.into_values().collect()
}

fn wanted(looked: &Preview) -> &[DesiredChild] {
    match outcome(looked).map(|outcome| &outcome.children) {
        Some(ChildrenPlan::Exactly(children)) => children,
        _ => &[],
    }
}

/// A child with its namespace: the primary's where it names none.
fn placed(activation: &Activation, looked: &Preview, mut child: ObjectRef) -> ObjectRef {
    let declared = activation.manifest.child(&child.of);
    if child.namespace.is_none() && declared.is_some_and(|declared| declared.kind.namespaced) {
        child.namespace.clone_from(&looked.namespace);
    }
    child
}

/// The fields that a write changes, as far as the object can be read.
async fn changed(cluster: &dyn Cluster, write: &Write) -> Vec<String> {
    let Request::Apply { object, .. } = &write.request else {
        return Vec::new();
    };
    let Ok(Some(live)) = cluster.get(&write.target).await else {
        return Vec::new();
    };
    let mut fields = Vec::new();
    let (wanted, live) = (without_marks(object), without_marks(&live));
    differences("", &Value::Object(wanted.0), &Value::Object(live.0), &mut fields);
    let more = fields.len().saturating_sub(FIELDS);
    fields.truncate(FIELDS);
    if more > 0 {
        fields.push(format!("and {more} more"));
    }
    fields
}

/// Without what is the host's own, which says nothing to people.
fn without_marks(object: &Object) -> Object {
    let mut object = object.clone();
    let metadata = object.metadata_mut();
    metadata.remove("uid");
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.remove(ANNOTATION_APPLIED);
    }
    object
}

/// Each leaf of what is wanted that is not there as it is wanted. The server may spell a value in another way.
fn differences(path: &str, wanted: &Value, live: &Value, into: &mut Vec<String>) {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => {
            for (key, value) in wanted {
                let below = format!("{path}.{key}");
                differences(&below, value, live.get(key).unwrap_or(&Value::Null), into);
            }
        }
        (Value::Array(wanted), Value::Array(live)) if wanted.len() == live.len() => {
            for (number, (wanted, live)) in wanted.iter().zip(live).enumerate() {
                differences(&format!("{path}[{number}]"), wanted, live, into);
            }
        }
        (Value::Object(wanted), Value::Null) if wanted.is_empty() => {}
        (wanted, live) if wanted == live => {}
        (wanted, live) => into.push(format!("{path}: {} -> {}", shown(live), shown(wanted))),
    }
}

fn shown(value: &Value) -> String {
    let text = match value {
        Value::Null => return "nothing".into(),
        value => value.to_string(),
    };
    match text.char_indices().nth(VALUE) {
        None => text,
        Some((end, _)) => format!("{}\u{2026}", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_differs_is_named_with_both_values() {
        let wanted =
            json!({"spec": {"replicas": 2, "list": [{"image": "a"}], "more": [1, 2], "empty": {}, "new": "x"}});
        let live = json!({"spec": {"replicas": 7, "list": [{"image": "b", "added": 1}], "more": [1], "other": true}});
        let mut found = Vec::new();
        differences("", &wanted, &live, &mut found);
        let expected = [
            ".spec.list[0].image: \"b\" -> \"a\"",
            ".spec.more: [1] -> [1,2]",
            ".spec.new: nothing -> \"x\"",
            ".spec.replicas: 7 -> 2",
        ];
        found.sort();
        assert_eq!(found, expected);
        assert_eq!(shown(&json!("x".repeat(100))).chars().count(), VALUE + 1);
    }
}
