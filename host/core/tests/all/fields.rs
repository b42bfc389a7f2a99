//! Writes `fieldsV1` as the API server does for a POST or an apply of a body.

use serde_json::{Map, Value, json};
use windlass_core::object::Object;

/// Key fields of the keyed lists in the tests.
const KEYS: [&[&str]; 6] = [
    &["uid"],
    &["type"],
    &["containerPort", "protocol"],
    &["mountPath"],
    &["name"],
    &["ip"],
];

/// Maps that are one value.
const ATOMIC: [&str; 1] = ["selector"];

/// The fields that the body's sender owns.
pub(crate) fn fields_of(body: &Object, operation: &str) -> Value {
    let mut body = body.clone();
    body.0.remove("apiVersion");
    body.0.remove("kind");
    for identity in ["name", "namespace", "uid", "resourceVersion", "managedFields"] {
        body.metadata_mut().remove(identity);
    }
    map_fields(&body.0, operation == "Update", true)
}

fn map_fields(map: &Map<String, Value>, posted: bool, is_root: bool) -> Value {
    let mut fields = Map::new();
    if posted && !is_root {
        fields.insert(".".into(), json!({}));
    }
    for (key, value) in map {
        let below = if ATOMIC.contains(&key.as_str()) {
            json!({})
        } else {
            value_fields(value, posted)
        };
        let is_nothing = value.as_object().is_some_and(|map| !map.is_empty())
            && below == json!({})
            && !ATOMIC.contains(&key.as_str());
        if !is_nothing && value != &json!([]) {
            fields.insert(format!("f:{key}"), below);
        }
    }
    Value::Object(fields)
}

fn value_fields(value: &Value, posted: bool) -> Value {
    match value {
        Value::Object(map) if !map.is_empty() => map_fields(map, posted, false),
        Value::Array(list) => list_fields(list, posted),
        _ => json!({}),
    }
}

fn list_fields(list: &[Value], posted: bool) -> Value {
    let mut fields = Map::new();
    for element in list {
        let Some(keys) = keys_of(element) else { return json!({}) };
        let mut item = match element.get("uid") {
            Some(_) => json!({}),
            None => value_fields(element, posted),
        };
        if element.get("uid").is_none() {
            item["."] = json!({});
        }
        fields.insert(format!("k:{keys}"), item);
    }
    if posted {
        fields.insert(".".into(), json!({}));
    }
    Value::Object(fields)
}

/// The key of an element, the protocol filled in as the server does.
pub(crate) fn keys_of(element: &Value) -> Option<Value> {
    let keys = KEYS.iter().find(|keys| element.get(keys[0]).is_some())?;
    let default = |name: &str| if name == "protocol" { json!("TCP") } else { Value::Null };
    let value = |name: &str| element.get(name).cloned().unwrap_or_else(|| default(name));
    Some(Value::Object(
        keys.iter().map(|name| ((*name).to_owned(), value(name))).collect(),
    ))
}
