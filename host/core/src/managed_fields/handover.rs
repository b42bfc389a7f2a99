//! Tells whose the fields are that an intent names, and makes those of some managers an applier's.

use super::fields::{self, Node};
use super::{all_entries, text};
use crate::object::Object;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Manager of `kubectl apply` without `--server-side`.
const CLIENT_SIDE_APPLY: &str = "kubectl-client-side-apply";
/// In which it keeps what it applied last. Left there, it would have `kubectl apply` take off later what is ours by then.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Whether any of these managers owns something of the object, its subresources aside.
pub fn owns_any(object: &Object, managers: &[&str]) -> bool {
    main_entries(object).any(|(_, entry)| managers.contains(&text(entry, "manager")))
}

/// Which fields of the intent are owned by others than these managers, or by them through a subresource: paths by manager.
///
/// Of the elements of a list the key fields do not count: whoever owns anything of an element has those too.
pub fn owned_by_others(intent: &Object, object: &Object, managers: &[&str]) -> BTreeMap<String, Vec<String>> {
    let mut owned: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let is_theirs = |entry: &Map<String, Value>| {
        text(entry, "subresource").is_empty() && managers.contains(&text(entry, "manager"))
    };
    for (_, entry) in all_entries(object).filter(|(_, entry)| !is_theirs(entry)) {
        let paths = Node::of(entry)
            .map(|node| fields::covered(intent, node))
            .unwrap_or_default();
        if !paths.is_empty() {
            owned.entry(text(entry, "manager").into()).or_default().extend(paths);
        }
    }
    owned
}

/// Why what managers own cannot become one entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what is to be taken over was written in the versions {0} and {1} of its kind")]
pub struct VersionsDiffer(String, String);

/// The JSON patch by which everything that these managers own, as updaters or appliers, becomes one applier's entry: what
/// `kubectl apply --server-side` does with the entry of an earlier client-side apply. None if it is one already.
///
/// The patch changes nothing else, but for the annotation of a client-side apply that is taken over, and holds for this
/// state of this object only.
///
/// # Errors
/// [`VersionsDiffer`] where the entries are about more than one version: their fields cannot be put together.
pub fn hand_over(object: &Object, managers: &[&str], to: &str) -> Result<Option<Vec<Value>>, VersionsDiffer> {
    let is_taken =
        |entry: &Map<String, Value>| managers.contains(&text(entry, "manager")) || text(entry, "manager") == to;
    let taken: Vec<&Map<String, Value>> = main_entries(object)
        .map(|(_, entry)| entry)
        .filter(|entry| is_taken(entry))
        .collect();
    let is_done = |entry: &&Map<String, Value>| text(entry, "manager") == to && text(entry, "operation") == "Apply";
    let Some(first) = taken.first().filter(|_| !taken.iter().all(is_done)) else {
        return Ok(None);
    };
    let version = text(first, "apiVersion");
    if let Some(other) = taken.iter().find(|entry| text(entry, "apiVersion") != version) {
        return Err(VersionsDiffer(version.into(), text(other, "apiVersion").into()));
    }
    let was_applied = taken.iter().any(|entry| text(entry, "manager") == CLIENT_SIDE_APPLY);
    let mut united = json!({});
    for entry in &taken {
        fields::unite(&mut united, entry.get("fieldsV1").unwrap_or(&Value::Null));
    }
    let mut entries: Vec<Value> = all_entries(object)
        .filter(|(_, entry)| !(text(entry, "subresource").is_empty() && is_taken(entry)))
        .map(|(_, entry)| Value::Object(entry.clone()))
        .collect();
    let mut ours = json!({
        "manager": to, "operation": "Apply", "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": united,
    });
    if let Some(time) = taken.iter().filter_map(|entry| entry.get("time")?.as_str()).max() {
        ours["time"] = time.into();
    }
    entries.push(ours);
    let mut patch = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": object.uid()}),
        json!({"op": "test", "path": "/metadata/resourceVersion", "value": object.resource_version()}),
        json!({"op": "replace", "path": "/metadata/managedFields", "value": entries}),
    ];
    if was_applied && object.annotation(LAST_APPLIED).is_some() {
        let path = format!("/metadata/annotations/{}", LAST_APPLIED.replace('/', "~1"));
        patch.push(json!({"op": "remove", "path": path}));
    }
    Ok(Some(patch))
}

/// The entries about the object itself.
fn main_entries(object: &Object) -> impl Iterator<Item = (usize, &Map<String, Value>)> {
    all_entries(object).filter(|(_, entry)| text(entry, "subresource").is_empty())
}
