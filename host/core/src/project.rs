//! Cuts objects to what a guest declared it needs, for the store and for the guest.

use crate::manifest::Projection;
use crate::names;
use crate::object::Object;
use crate::path::{self, PathError, Step};
use serde_json::{Map, Value};

/// The parts that every projection keeps.
const ALWAYS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Checks a path of [`Projection::Fields`].
///
/// # Errors
/// [`PathError`] with the place where it stops being a path.
pub fn validate_path(path: &str) -> Result<(), PathError> {
    path::validate(path)
}

/// Whether objects cut to a projection still show whatever is at the path.
pub fn covers(projection: &Projection, path: &str) -> bool {
    let is_kept = || {
        ALWAYS
            .iter()
            .any(|key| path.strip_prefix('.').is_some_and(|path| is_below(path, key)))
    };
    match projection {
        Projection::Full => true,
        Projection::Metadata => is_kept(),
        Projection::Fields(paths) => is_kept() || paths.iter().any(|prefix| path::is_within(path, prefix)),
    }
}

/// Cuts an object to its projection, and to our own entries of `metadata.managedFields`.
///
/// A foreign entry becomes `{}`, so that the place of each of ours is still its index in a JSON patch; after the last
/// of ours nothing is kept.
pub fn for_store(mut object: Object, projection: &Projection) -> Object {
    project(&mut object.0, projection);
    if let Some(Value::Object(metadata)) = object.0.get_mut("metadata") {
        keep_own_entries(metadata);
    }
    object
}

/// A copy for a guest: cut to its projection, without `metadata.resourceVersion` and `metadata.managedFields`, which
/// change without any meaning for a guest.
pub fn for_guest(object: &Object, projection: &Projection) -> Object {
    let kept = object.0.iter().filter(|(key, _)| keeps_entry(projection, key));
    let mut copy: Map<String, Value> = kept
        .map(|(key, value)| match value {
            Value::Object(metadata) if key == "metadata" => (key.clone(), metadata_for_guest(metadata)),
            _ => (key.clone(), value.clone()),
        })
        .collect();
    project(&mut copy, projection);
    Object(copy)
}

/// Whether two states of an object, both cut by [`for_store`], differ in nothing that anybody could have asked about.
///
/// Left out are `metadata.resourceVersion`, the entries of other writers in managedFields, and the time of ours.
pub fn unchanged(old: &Object, new: &Object) -> bool {
    same(&old.0, &new.0, &["metadata"]) && same_metadata(old.0.get("metadata"), new.0.get("metadata"))
}

fn same_metadata(old: Option<&Value>, new: Option<&Value>) -> bool {
    match (old, new) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            same(old, new, &["resourceVersion", "managedFields"]) && same_entries(old, new)
        }
        (old, new) => old == new,
    }
}

fn same_entries(old: &Map<String, Value>, new: &Map<String, Value>) -> bool {
    let mut old = own_entries(old);
    let mut new = own_entries(new);
    loop {
        match (old.next(), new.next()) {
            (None, None) => return true,
            (Some(old), Some(new)) if same(old, new, &["time"]) => {}
            _ => return false,
        }
    }
}

/// Whether two maps are equal but for some keys.
fn same(old: &Map<String, Value>, new: &Map<String, Value>, but: &[&str]) -> bool {
    let counted = |map: &Map<String, Value>| map.keys().filter(|key| !but.contains(&key.as_str())).count();
    counted(old) == counted(new)
        && old
            .iter()
            .all(|(key, value)| but.contains(&key.as_str()) || new.get(key) == Some(value))
}

fn own_entries(metadata: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    let entries = metadata
        .get("managedFields")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    entries.filter(|entry| is_own(entry)).filter_map(Value::as_object)
}

fn is_own(entry: &Value) -> bool {
    let manager = entry.get("manager").and_then(Value::as_str);
    manager.is_some_and(|manager| manager.starts_with(names::FIELD_MANAGER_PREFIX))
}

fn keep_own_entries(metadata: &mut Map<String, Value>) {
    let Some(Value::Array(entries)) = metadata.get_mut("managedFields") else {
        metadata.remove("managedFields");
        return;
    };
    let kept = entries.iter().rposition(is_own).map_or(0, |last| last + 1);
    entries.truncate(kept);
    entries.shrink_to_fit();
    if entries.is_empty() {
        metadata.remove("managedFields");
        return;
    }
    for entry in entries.iter_mut().filter(|entry| !is_own(entry)) {
        *entry = Value::Object(Map::new());
    }
}

fn metadata_for_guest(metadata: &Map<String, Value>) -> Value {
    let shown = metadata
        .iter()
        .filter(|(key, _)| !matches!(key.as_str(), "resourceVersion" | "managedFields"));
    Value::Object(shown.map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// Whether anything under a key of the object itself is kept.
fn keeps_entry(projection: &Projection, key: &str) -> bool {
    match projection {
        Projection::Full => true,
        Projection::Metadata => ALWAYS.contains(&key),
        Projection::Fields(paths) => ALWAYS.contains(&key) || paths.iter().any(|path| below(path, key).is_some()),
    }
}

fn project(object: &mut Map<String, Value>, projection: &Projection) {
    object.retain(|key, _| keeps_entry(projection, key));
    if let Projection::Fields(paths) = projection {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        object.retain(|key, value| ALWAYS.contains(&key.as_str()) || keep_entry(key, value, &paths));
    }
}

/// Cuts the value of a map's entry to what of the paths goes through it; false if none of them ends in it.
fn keep_entry(key: &str, value: &mut Value, paths: &[&str]) -> bool {
    let rests: Vec<&str> = paths.iter().filter_map(|path| below(path, key)).collect();
    !rests.is_empty() && keep(value, &rests)
}

fn keep(value: &mut Value, paths: &[&str]) -> bool {
    if paths.iter().any(|path| path.is_empty()) {
        return true;
    }
    match value {
        Value::Object(map) => {
            map.retain(|key, value| keep_entry(key, value, paths));
            paths
                .iter()
                .any(|path| matches!(path::split(path), Some((Step::Key(_), _))))
        }
        Value::Array(list) => {
            let rests: Vec<&str> = paths.iter().filter_map(|path| path.strip_prefix("[*]")).collect();
            list.retain_mut(|element| keep(element, &rests));
            !rests.is_empty()
        }
        _ => false,
    }
}

/// What is left of a path after its first step, if that is this key.
fn below<'a>(path: &'a str, key: &str) -> Option<&'a str> {
    match path::split(path) {
        Some((Step::Key(step), rest)) if step == key => Some(rest),
        _ => None,
    }
}

/// Whether a path without its first dot is at a key or below it.
fn is_below(path: &str, key: &str) -> bool {
    path.strip_prefix(key)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests;
