//! Reads what a real API server (1.37.2) recorded as owner of fields, for a POST and for the apply that took it over.
//!
//! Each file in `tests/records` has the body that was sent and the entries that came back. Where the record of the POST
//! does not tell, `lostUntilApplied` is the path: that costs one apply, and never a second.

use serde_json::{Value, json};
use std::path::Path;
use windlass_core::managed_fields::{first_lost, has_applied};
use windlass_core::object::Object;
use windlass_core::write::Subresource;

const OURS: &str = "windlass:team-a:nginx";

#[test]
fn what_a_server_records_of_a_write_of_ours_is_all_ours() {
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records");
    for file in std::fs::read_dir(records).unwrap() {
        let file = file.unwrap().path();
        let record: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let expected = record["lostUntilApplied"].as_str().map(str::to_owned);
        assert_eq!(lost(&record, "posted"), expected, "{} after the POST", file.display());
        assert_eq!(lost(&record, "applied"), None, "{} after the apply", file.display());
    }
}

#[test]
fn whatever_leaf_is_taken_from_an_entry_is_missed() {
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records");
    for file in std::fs::read_dir(records).unwrap() {
        let file = file.unwrap().path();
        let record: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let mut leaves = Vec::new();
        list_leaves(&record["applied"][0]["fieldsV1"], &mut Vec::new(), &mut leaves);
        for leaf in leaves {
            let mut taken = record.clone();
            for entries in ["applied", "posted"] {
                take(&mut taken[entries][0]["fieldsV1"], &leaf);
                assert!(
                    lost(&taken, entries).is_some(),
                    "{}: {entries} without {leaf:?}",
                    file.display()
                );
            }
        }
    }
}

/// As for fields of a primary, which are compared by value too.
#[test]
fn what_was_applied_is_as_wanted_until_a_value_changes_or_a_field_is_wanted_no_more() {
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records");
    for file in std::fs::read_dir(records).unwrap() {
        let file = file.unwrap().path();
        let record: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let wanted = &record["intent"];
        let mut live = wanted.clone();
        let port = match wanted["kind"].as_str() {
            Some("Service") => "port",
            Some("Thing") => "number",
            _ => "containerPort",
        };
        fill_in(&mut live, port);
        live["metadata"]["managedFields"] = record["applied"].clone();
        let applied = |wanted: &Value, live: &Value| {
            let object = |value: &Value| Object::from_value(value.clone()).unwrap();
            has_applied(&object(wanted), &object(live), OURS, Subresource::None)
        };
        let name = file.display();
        assert!(applied(wanted, &live), "{name}");
        let mut leaves = Vec::new();
        list_values(wanted, String::new(), &mut leaves);
        for leaf in leaves {
            let mut other = live.clone();
            *other.pointer_mut(&leaf).unwrap() = json!("another");
            assert!(!applied(wanted, &other), "{name}: another {leaf}");
        }
        let mut less = wanted.clone();
        less["metadata"].as_object_mut().unwrap().remove("labels");
        assert!(!applied(&less, &live), "{name}: without labels");
    }
}

/// What the server fills in that tells entries of a list apart. Others it does not tell by a port.
fn fill_in(value: &mut Value, port: &str) {
    match value {
        Value::Array(list) => {
            for element in list {
                if let Some(map) = element.as_object_mut().filter(|map| map.contains_key(port)) {
                    map.entry("protocol").or_insert(json!("TCP"));
                }
                fill_in(element, port);
            }
        }
        Value::Object(map) => map.values_mut().for_each(|value| fill_in(value, port)),
        _ => {}
    }
}

/// The pointers to all scalars but those that identify the object.
fn list_values(value: &Value, path: String, leaves: &mut Vec<String>) {
    match value {
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                list_values(value, format!("{path}/{index}"), leaves);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                list_values(
                    value,
                    format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")),
                    leaves,
                );
            }
        }
        _ if ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"].contains(&path.as_str()) => {}
        _ => leaves.push(path),
    }
}

fn lost(record: &Value, entries: &str) -> Option<String> {
    let object = |value: Value| Object::from_value(value).unwrap();
    let stored = object(json!({"metadata": {"managedFields": record[entries]}}));
    first_lost(&object(record["intent"].clone()), &stored, OURS)
}

/// The paths of all nodes without children, but for the items themselves.
fn list_leaves(node: &Value, path: &mut Vec<String>, leaves: &mut Vec<Vec<String>>) {
    for (key, child) in node.as_object().into_iter().flatten().filter(|(key, _)| *key != ".") {
        path.push(key.clone());
        // The key of an element goes only with the element.
        let is_key = path.iter().rev().nth(1).is_some_and(|item| {
            item.starts_with("k:") && item.contains(&format!("\"{}\":", key.trim_start_matches("f:")))
        });
        if child == &json!({}) && !is_key {
            leaves.push(path.clone());
        }
        list_leaves(child, path, leaves);
        path.pop();
    }
}

/// Removes a node as the server does: what is empty without it goes too, and what was owned besides its content stays as
/// a node without children.
fn take(node: &mut Value, path: &[String]) {
    let (Some(map), [key, rest @ ..]) = (node.as_object_mut(), path) else {
        return;
    };
    let Some(child) = map.get_mut(key) else { return };
    let was_owned = child.get(".").is_some();
    take(child, rest);
    if child == &json!({".": {}}) {
        *child = json!({});
    }
    if rest.is_empty() || child == &json!({}) && !was_owned {
        map.remove(key);
    }
}
