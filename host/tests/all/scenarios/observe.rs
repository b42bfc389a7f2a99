//! Puts down what is in a namespace so that two clusters can be compared: without uids, times and what controllers add.

use super::stage::{Stage, kind};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use windlass_core::names::{ANNOTATION_APPLIED, REPORTING_CONTROLLER};

/// What is looked at, by kind.
const OBSERVED: [&str; 9] = [
    "Nginx",
    "MyCustomResource",
    "Hostile",
    "Told",
    "Tale",
    "Service",
    "Deployment",
    "ConfigMap",
    "Secret",
];
/// Every namespace of a real cluster has it.
const EVERYWHERE: &str = "kube-root-ca.crt";

/// All that is in a namespace, and what the host told about it.
pub(crate) async fn namespace(stage: &dyn Stage, namespace: &str) -> Value {
    let mut uids = BTreeMap::new();
    let mut objects = Map::new();
    for of in OBSERVED {
        for object in stage.list(&kind(of), namespace).await {
            let name = text(&object, "/metadata/name");
            if name != EVERYWHERE {
                uids.insert(text(&object, "/metadata/uid"), format!("<uid of {of} {name}>"));
                objects.insert(format!("{of} {name}"), normalised(&object));
            }
        }
    }
    let mut events: Vec<Value> = stage
        .list(&kind("Event"), namespace)
        .await
        .iter()
        .filter_map(event)
        .collect();
    events.sort_by_key(Value::to_string);
    events.dedup();
    let mut seen = Value::Object(objects);
    if !events.is_empty() {
        seen["events"] = events.into();
    }
    // A real cluster's controllers write status too.
    let seen = seen
        .to_string()
        .replace("kube-controller-manager, ", "")
        .replace(", kube-controller-manager", "");
    let masked = uids
        .iter()
        .fold(seen, |text, (uid, name)| text.replace(uid.as_str(), name));
    serde_json::from_str(&masked).unwrap()
}

fn text(object: &Value, pointer: &str) -> String {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// The host's own Event, without its name and time.
fn event(event: &Value) -> Option<Value> {
    (event["reportingController"] == REPORTING_CONTROLLER).then(|| {
        let about = format!("{} {}", text(event, "/regarding/kind"), text(event, "/regarding/name"));
        json!({
            "about": about, "type": event["type"], "reason": event["reason"], "note": event["note"],
            "action": event["action"],
        })
    })
}

fn normalised(object: &Value) -> Value {
    let metadata = &object["metadata"];
    let is_own = !["Deployment", "ConfigMap", "Secret", "Service"]
        .iter()
        .any(|of| object["kind"] == *of);
    let mut seen = Map::new();
    let mut put = |key: &str, value: Value| {
        let is_empty = value.is_null() || value == json!({}) || value == json!([]);
        if !is_empty {
            seen.insert(key.into(), value);
        }
    };
    put("labels", metadata["labels"].clone());
    put("annotations", annotations(&metadata["annotations"]));
    put("owners", owners(&metadata["ownerReferences"]));
    put("finalizers", metadata["finalizers"].clone());
    put(
        "deleting",
        metadata.get("deletionTimestamp").map_or(Value::Null, |_| true.into()),
    );
    put("data", object["data"].clone());
    put("managers", managers(&metadata["managedFields"]));
    if is_own {
        put("generation", metadata["generation"].clone());
        put("spec", object["spec"].clone());
        put("status", status(&object["status"]));
    } else {
        put("spec", workload(&object["spec"]));
    }
    Value::Object(seen)
}

/// What the guest wants of a Deployment; the rest are the server's defaults, which the recorded tests hold.
fn workload(spec: &Value) -> Value {
    if spec.is_null() {
        return Value::Null;
    }
    let containers = spec["template"]["spec"]["containers"].as_array().into_iter().flatten();
    let containers: Vec<Value> = containers
        .map(|container| json!({"name": container["name"], "image": container["image"], "ports": container["ports"]}))
        .collect();
    json!({
        "replicas": spec["replicas"], "selector": spec["selector"], "labels": spec["template"]["metadata"]["labels"],
        "containers": containers,
    })
}

/// The hash depends on the uid of the primary; that it is there is what matters.
fn annotations(annotations: &Value) -> Value {
    let mut seen = annotations.as_object().cloned().unwrap_or_default();
    seen.retain(|key, _| !key.starts_with("deployment.kubernetes.io/"));
    if let Some(hash) = seen.get_mut(ANNOTATION_APPLIED) {
        *hash = "<hash>".into();
    }
    Value::Object(seen)
}

fn owners(owners: &Value) -> Value {
    let one = |owner: &Value| {
        let mut owner = owner.clone();
        owner.as_object_mut().unwrap().remove("uid");
        owner
    };
    owners.as_array().into_iter().flatten().map(one).collect()
}

fn status(status: &Value) -> Value {
    let mut status = status.clone();
    if let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) {
        for condition in conditions.iter_mut() {
            condition.as_object_mut().unwrap().remove("lastTransitionTime");
        }
        conditions.sort_by_key(|condition| condition["type"].to_string());
    }
    status
}

/// Which leaves people and the host own, by manager, operation and subresource.
fn managers(entries: &Value) -> Value {
    let mut seen = BTreeMap::new();
    for entry in entries.as_array().into_iter().flatten() {
        let manager = text(entry, "/manager");
        if manager.starts_with("windlass") || manager == "kubectl" {
            let name = format!(
                "{manager} {} {}",
                text(entry, "/operation"),
                text(entry, "/subresource")
            );
            let mut leaves = Vec::new();
            leaves_of("", &entry["fieldsV1"], &mut leaves);
            leaves.sort();
            seen.insert(name.trim_end().to_owned(), leaves);
        }
    }
    json!(seen)
}

fn leaves_of(path: &str, fields: &Value, leaves: &mut Vec<String>) {
    let children = fields.as_object().filter(|fields| !fields.is_empty());
    let Some(children) = children else {
        leaves.push(path.to_owned());
        return;
    };
    for (key, below) in children {
        match key.split_once(':') {
            Some(("f", name)) => leaves_of(&format!("{path}.{name}"), below, leaves),
            Some((_, item)) => leaves_of(&format!("{path}[{item}]"), below, leaves),
            None => leaves.push(format!("{path} itself")),
        }
    }
}
