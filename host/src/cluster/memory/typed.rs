//! Refuses applied bodies that do not fit their schema. An apply is stricter than other writes: it prunes nothing.

use serde_json::Value;
use std::collections::BTreeSet;
use windlass_core::shape::{ListShape, MapShape, Shape};

/// The first thing in an applied body that does not fit, as the server words it.
pub(super) fn misfit(value: &Value, shape: Shape<'_>, path: &str) -> Option<String> {
    if let Some(wanted) = shape.wanted_type().filter(|_| !value.is_null()) {
        let expected = match (wanted, value) {
            ("string", Value::String(_)) | ("boolean", Value::Bool(_)) => None,
            ("integer" | "number", Value::Number(_)) => None,
            ("object", Value::Object(_)) | ("array", Value::Array(_)) => None,
            ("string", _) => Some("string"),
            ("boolean", _) => Some("boolean"),
            ("integer" | "number", _) => Some("numeric (int or float)"),
            ("object", _) => Some("map"),
            ("array", _) => Some("list"),
            _ => None,
        };
        if let Some(expected) = expected {
            return Some(format!("{path}: expected {expected}, got {}", type_name(value)));
        }
    }
    match value {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let below = shape.field(name);
            let here = format!("{path}.{name}");
            if path.is_empty() && ["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
                return None;
            }
            if below.is_unknown() && shape.map() == MapShape::Struct && !shape.keeps_unknown() {
                return Some(format!("{here}: field not declared in schema"));
            }
            misfit(value, below, &here)
        }),
        Value::Array(entries) => ambiguous(entries, shape, path)
            .or_else(|| entries.iter().find_map(|entry| misfit(entry, shape.item(), path))),
        _ => None,
    }
}

/// Entries of a keyed list that have no key, or the same.
fn ambiguous(entries: &[Value], shape: Shape<'_>, path: &str) -> Option<String> {
    let ListShape::Keyed(keys) = shape.list() else {
        return None;
    };
    let mut seen = BTreeSet::new();
    for (at, entry) in entries.iter().enumerate() {
        if keys
            .iter()
            .all(|key| entry.get(key).is_none() && shape.default_of_key(key).is_none())
        {
            let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
            return Some(format!(
                "{path}: element {at}: associative list with keys has an element that omits all key fields [{}] (and \
                 doesn't have default values for any key fields)",
                keys.join(" ")
            ));
        }
        let values = keys
            .iter()
            .map(|key| entry.get(key).cloned().or_else(|| shape.default_of_key(key)));
        let named = keys
            .iter()
            .zip(values)
            .filter_map(|(key, value)| Some(format!("{key}={}", value?)));
        let name = named.collect::<Vec<_>>().join(",");
        if !seen.insert(name.clone()) {
            return Some(format!("{path}: duplicate entries for key [{name}]"));
        }
    }
    None
}

fn type_name(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) => "boolean".into(),
        Value::Number(number) => format!("&value.valueUnstructured{{Value:{number}}}"),
        Value::String(_) => "string".into(),
        Value::Array(_) => "list".into(),
        Value::Object(_) => "map".into(),
    }
}
