//! Tells from managedFields which fields of an object are ours, without looking at their values.
//!
//! Any other writer's change takes a field out of our entry, so a field that is still in there is as we wrote it, however
//! the server spells, defaults or converts it. `fields` reads the format itself.
//!
//! Stored objects keep the entries of other managers as empty maps, so that an index into the list is the server's own.

mod fields;
mod handover;
#[cfg(test)]
mod tests;

use crate::object::Object;
use crate::write::Subresource;
use fields::Node;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

pub use handover::{VersionsDiffer, hand_over, owned_by_others, owns_any};

/// The path of the first leaf of the intent that no entry of the manager covers; none if it owns them all.
///
/// Empty lists are no leaves: for a keyed list the server records nothing, and so they could never be ours. Zeros and empty
/// maps that the server drops from a POST count as lost until the first apply, which records them.
pub fn first_lost(intent: &Object, object: &Object, manager: &str) -> Option<String> {
    let nodes: Vec<Node<'_>> = entries(object, manager, Subresource::None)
        .filter_map(|(_, entry)| Node::of(entry))
        .collect();
    fields::first_lost(intent, &nodes)
}

/// The index of the entry that a POST of ours left, still to be rewritten from `Update` to `Apply`.
///
/// Without that, what is no longer wanted would stay for ever: the entry of the POST would go on owning it.
pub fn entry_index_to_take_over(object: &Object, manager: &str) -> Option<usize> {
    index_of(object, manager, "Update")
}

/// Whether the manager owns fields twice, as `Update` and as `Apply`: a take-over that failed before its apply did not.
pub fn is_split(object: &Object, manager: &str) -> bool {
    index_of(object, manager, "Update").is_some() && index_of(object, manager, "Apply").is_some()
}

/// The JSON patch that makes what a POST of ours left an applier's entry, none if there is nothing to take over.
///
/// Where both exist, one list of fields is made of the two, as the server keeps only one entry of each kind.
pub fn take_over(object: &Object, manager: &str) -> Option<Vec<Value>> {
    let updated = entry_index_to_take_over(object, manager)?;
    let at = |index: usize| format!("/metadata/managedFields/{index}");
    let mut patch = vec![
        json!({"op": "test", "path": "/metadata/resourceVersion", "value": object.resource_version()}),
        json!({"op": "test", "path": format!("{}/operation", at(updated)), "value": "Update"}),
    ];
    match index_of(object, manager, "Apply") {
        None => patch.push(json!({"op": "replace", "path": format!("{}/operation", at(updated)), "value": "Apply"})),
        Some(applied) => {
            let mut fields = fields_of(object, applied);
            fields::unite(&mut fields, &fields_of(object, updated));
            patch.push(json!({"op": "replace", "path": format!("{}/fieldsV1", at(applied)), "value": fields}));
            patch.push(json!({"op": "remove", "path": at(updated)}));
        }
    }
    Some(patch)
}

/// Whether the manager has applied exactly these fields, no more and no fewer, and all have these values now.
///
/// Only for what nobody normalises: fields of primaries and their status.
pub fn has_applied(wanted: &Object, object: &Object, manager: &str, subresource: Subresource) -> bool {
    let entry = entries(object, manager, subresource).find(|(_, entry)| text(entry, "operation") == "Apply");
    let nothing = Map::new();
    let node = entry
        .and_then(|(_, entry)| entry.get("fieldsV1"))
        .and_then(Value::as_object)
        .unwrap_or(&nothing);
    fields::agrees(wanted, object, node)
}

/// The types of the conditions in `status` that the manager owns.
pub fn owned_condition_types(object: &Object, manager: &str) -> BTreeSet<String> {
    entries(object, manager, Subresource::Status)
        .filter_map(|(_, entry)| entry.get("fieldsV1")?.get("f:status")?.get("f:conditions")?.as_object())
        .flat_map(|conditions| conditions.keys())
        .filter_map(|key| serde_json::from_str::<Value>(key.strip_prefix("k:")?).ok())
        .filter_map(|key| Some(key.get("type")?.as_str()?.to_owned()))
        .collect()
}

/// Whether the manager has written to the object at all.
pub fn has_written(object: &Object, manager: &str) -> bool {
    entries(object, manager, Subresource::None).next().is_some()
}

/// Who has written to the object, each once, in the order of its entries.
pub fn managers(object: &Object) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (_, entry) in all_entries(object) {
        let name = text(entry, "manager");
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn all_entries(object: &Object) -> impl Iterator<Item = (usize, &Map<String, Value>)> {
    let list = object.at(&["metadata", "managedFields"]).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .enumerate()
        .filter_map(|(index, entry)| Some((index, entry.as_object()?)))
}

fn entries<'a>(
    object: &'a Object,
    manager: &'a str,
    subresource: Subresource,
) -> impl Iterator<Item = (usize, &'a Map<String, Value>)> {
    let subresource = match subresource {
        Subresource::None => "",
        Subresource::Status => "status",
    };
    all_entries(object)
        .filter(move |(_, entry)| text(entry, "manager") == manager && text(entry, "subresource") == subresource)
}

fn index_of(object: &Object, manager: &str, operation: &str) -> Option<usize> {
    entries(object, manager, Subresource::None)
        .find(|(_, entry)| text(entry, "operation") == operation)
        .map(|(index, _)| index)
}

fn fields_of(object: &Object, index: usize) -> Value {
    let entry = all_entries(object).find(|(at, _)| *at == index);
    entry
        .and_then(|(_, entry)| entry.get("fieldsV1").cloned())
        .unwrap_or_else(|| json!({}))
}

fn text<'a>(entry: &'a Map<String, Value>, field: &str) -> &'a str {
    entry.get(field).and_then(Value::as_str).unwrap_or_default()
}
