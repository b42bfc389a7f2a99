//! Makes the ConfigMaps that hold a module, and says what of an earlier one has to go.

use super::owned::{Owner, owners};
use crate::api::{INDEX_KEY, Index, Part};
use crate::cli::files;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use windlass_core::key::ReconcilerId;
use windlass_core::names::{ANNOTATION_DIGEST, ANNOTATION_PARTS, LABEL_MODULE, LABEL_PART_OF};
use windlass_core::object::Object;

/// Endings of keys that hold a module.
const ENDINGS: [&str; 3] = [".wasm", ".wasm.gz", ".wasm.zst"];
/// Where a ConfigMap holds something, and what is text there.
const DATA: &str = "data";
const BINARY: &str = "binaryData";

/// The ConfigMap of a module that fits one.
pub(super) fn whole(id: &ReconcilerId, digest: &str, key: &str, bytes: &[u8]) -> Object {
    config_map(id, &id.name, digest, json!({BINARY: {key: STANDARD.encode(bytes)}}))
}

/// One part of a module that does not, by its number and how many there are.
pub(super) fn part(
    id: &ReconcilerId,
    digest: &str,
    key: &str,
    (number, count): (usize, usize),
    bytes: &[u8],
) -> Object {
    let key = part_key(key, number);
    let name = part_name(id, number);
    let mut part = config_map(id, &name, digest, json!({BINARY: {key: STANDARD.encode(bytes)}}));
    part.set_metadata_entry("labels", LABEL_PART_OF, &id.name);
    part.set_metadata_entry("annotations", ANNOTATION_PARTS, &count.to_string());
    part
}

/// The ConfigMap that names the parts.
///
/// # Errors
/// If it cannot be written as YAML.
pub(super) fn index(id: &ReconcilerId, digest: &str, key: &str, names: &[String]) -> anyhow::Result<Object> {
    let parts = names.iter().enumerate().map(|(number, name)| Part {
        name: name.clone(),
        key: Some(part_key(key, number)),
    });
    let index = Index {
        digest: digest.into(),
        parts: parts.collect(),
    };
    let text = files::yaml(&index)?;
    Ok(config_map(id, &id.name, digest, json!({DATA: {INDEX_KEY: text}})))
}

/// Name of the ConfigMap of a part.
pub(super) fn part_name(id: &ReconcilerId, number: usize) -> String {
    format!("{}-part-{number}", id.name)
}

fn part_key(key: &str, number: usize) -> String {
    format!("{key}.{number}")
}

fn config_map(id: &ReconcilerId, name: &str, digest: &str, content: Value) -> Object {
    let mut object = Object::from_value(content).unwrap_or_default();
    object.0.insert("apiVersion".into(), "v1".into());
    object.0.insert("kind".into(), "ConfigMap".into());
    object
        .metadata_mut()
        .insert("namespace".into(), id.namespace.as_str().into());
    object.metadata_mut().insert("name".into(), name.into());
    object.set_metadata_entry("annotations", ANNOTATION_DIGEST, digest);
    object
}

/// What is under the name of the module already.
pub(super) struct Found<'a> {
    object: Option<&'a Object>,
    /// What is no part of the module, and stays.
    pub(super) bytes_beside: usize,
}

impl<'a> Found<'a> {
    /// Looks at what is there.
    ///
    /// # Errors
    /// If it is something else than a module.
    pub(super) fn new(object: Option<&'a Object>) -> Result<Self, String> {
        let Some(found) = object else {
            return Ok(Self {
                object: None,
                bytes_beside: 0,
            });
        };
        let (held, beside): (Vec<_>, Vec<_>) = entries(found).partition(|(section, key, _)| is_module(section, key));
        let is_labelled = found.label(LABEL_MODULE) == Some("true");
        if held.is_empty() && !beside.is_empty() && !is_labelled {
            let keys: Vec<&str> = beside.iter().map(|(_, key, _)| *key).collect();
            return Err(format!(
                "{} is there and holds no module, but {}: push under another --name, or delete it first",
                found.reference(),
                keys.join(", ")
            ));
        }
        let bytes_beside = beside.iter().map(|(section, _, value)| size(section, value)).sum();
        Ok(Self { object, bytes_beside })
    }

    /// The patch that puts the module in the place of what else holds one, with what is to be said about it; none where
    /// applying alone does that. One request: in two, too much or nothing would be there in between.
    pub(super) fn replacement(&self, wanted: &Object) -> (Option<Value>, Vec<String>) {
        let Some(found) = self.object else {
            return (None, Vec::new());
        };
        let mut patch = Map::new();
        let mut notes = Vec::new();
        for (section, key, value) in entries(found).filter(|(section, key, _)| is_module(section, key)) {
            let holders = owners(found, &[section, key]);
            let others: Vec<&str> = holders
                .iter()
                .filter(|owner| !owner.is_us())
                .map(|owner| owner.manager.as_str())
                .collect();
            let new = wanted.at(&[section, key]);
            if new.is_none() {
                // What only an apply of ours holds, the next apply takes away.
                if holders.is_empty() || !holders.iter().all(Owner::is_our_apply) {
                    section_of(&mut patch, section).insert(key.into(), Value::Null);
                }
                if !others.is_empty() {
                    notes.push(format!("{key}, which {} put there, is removed", others.join(" and ")));
                }
            } else if new != Some(value) && !others.is_empty() {
                notes.push(format!("{key}, which {} put there, is replaced", others.join(" and ")));
            }
        }
        if patch.is_empty() {
            return (None, notes);
        }
        for section in [DATA, BINARY] {
            for (key, value) in wanted.at(&[section]).and_then(Value::as_object).into_iter().flatten() {
                section_of(&mut patch, section).insert(key.clone(), value.clone());
            }
        }
        let precondition = json!({"uid": found.uid(), "resourceVersion": found.resource_version()});
        patch.insert("metadata".into(), precondition);
        (Some(Value::Object(patch)), notes)
    }
}

fn section_of<'a>(patch: &'a mut Map<String, Value>, section: &str) -> &'a mut Map<String, Value> {
    let value = patch.entry(section).or_insert_with(|| json!({}));
    value.as_object_mut().expect("was made as a map, here")
}

/// Section, key and value of all that a ConfigMap holds.
fn entries(object: &Object) -> impl Iterator<Item = (&'static str, &str, &Value)> {
    [DATA, BINARY].into_iter().flat_map(|section| {
        let map = object.at(&[section]).and_then(Value::as_object);
        map.into_iter()
            .flatten()
            .map(move |(key, value)| (section, key.as_str(), value))
    })
}

fn is_module(section: &str, key: &str) -> bool {
    if section == DATA {
        return key == INDEX_KEY;
    }
    let whole = key.trim_end_matches(|character: char| character.is_ascii_digit());
    let key = whole.strip_suffix('.').filter(|_| whole != key).unwrap_or(key);
    ENDINGS.iter().any(|ending| key.ends_with(ending))
}

/// Bytes as the API server counts them.
fn size(section: &str, value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    if section == DATA {
        return text.len();
    }
    STANDARD.decode(text).map_or(text.len(), |bytes| bytes.len())
}

#[cfg(test)]
mod tests;
