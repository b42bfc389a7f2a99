//! Carries out writes on a list of objects, as far as plans and reports can tell it from a cluster.

use crate::fields::{fields_of, keys_of};
use serde_json::{Map, Value, json};
use windlass_core::object::Object;
use windlass_core::write::{Request, Subresource, Write};

/// The objects there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub(crate) objects: Vec<Object>,
    version: u64,
}

impl World {
    pub(crate) fn with(objects: Vec<Object>) -> Self {
        Self { objects, version: 100 }
    }

    /// Carries a write out; false where the API server would refuse it.
    pub(crate) fn carry_out(&mut self, write: &Write) -> bool {
        self.version += 1;
        let there = self.objects.iter().position(|object| {
            object.kind().same_group_kind(&write.target.kind.of)
                && object.namespace() == write.target.namespace.as_deref()
                && object.name() == write.target.name
        });
        match (&write.request, there) {
            (Request::Create(body), None) => self.create(body, write),
            (Request::Apply { object, .. }, Some(index)) => {
                let live = &mut self.objects[index];
                let same = live.uid() == object.uid();
                if same {
                    apply(live, object, write);
                }
                same
            }
            (Request::JsonPatch(patch), Some(index)) => json_patch(&mut self.objects[index], patch),
            (Request::MergePatch(patch), Some(index)) => {
                let live = &mut self.objects[index];
                let current = patch["metadata"]["resourceVersion"] == live.resource_version();
                if current {
                    live.0.entry("status").or_insert_with(|| json!({}));
                    patch["status"]
                        .as_object()
                        .unwrap()
                        .iter()
                        .for_each(|(key, value)| live.0["status"][key] = value.clone());
                }
                current
            }
            (Request::Delete { uid, .. }, Some(index)) => {
                let same = self.objects[index].uid() == uid;
                if same {
                    self.objects.remove(index);
                }
                same
            }
            _ => false,
        }
    }

    fn create(&mut self, body: &Object, write: &Write) -> bool {
        let mut object = body.clone();
        let entry = json!({"manager": write.manager, "operation": "Update", "fieldsV1": fields_of(body, "Update")});
        let metadata = object.metadata_mut();
        metadata.insert("uid".into(), json!(format!("uid-{}", self.version)));
        metadata.insert("resourceVersion".into(), json!(self.version.to_string()));
        metadata.insert("managedFields".into(), json!([entry]));
        self.objects.push(object);
        true
    }
}

fn apply(live: &mut Object, body: &Object, write: &Write) {
    let subresource = if write.subresource == Subresource::Status {
        "status"
    } else {
        ""
    };
    let mut value = Value::Object(live.0.clone());
    let is_ours = |entry: &Value| {
        entry["manager"] == write.manager.as_str() && entry["subresource"].as_str().unwrap_or_default() == subresource
    };
    let managed = value["metadata"]["managedFields"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let before = managed
        .iter()
        .find(|entry| is_ours(entry) && entry["operation"] == "Apply")
        .cloned();
    let fields = fields_of(body, "Apply");
    if let Some(before) = before {
        take_off(&mut value, &before["fieldsV1"], &fields);
    }
    merge(&mut value, &Value::Object(body.0.clone()));
    let mut kept: Vec<Value> = managed
        .into_iter()
        .filter(|entry| !(is_ours(entry) && entry["operation"] == "Apply"))
        .collect();
    kept.push(json!({"manager": write.manager, "operation": "Apply", "subresource": subresource, "fieldsV1": fields}));
    value["metadata"]["managedFields"] = Value::Array(kept);
    *live = Object::from_value(value).unwrap();
}

/// Removes what the earlier entry owned and the new one does not.
fn take_off(value: &mut Value, before: &Value, now: &Value) {
    for (key, below) in before.as_object().into_iter().flatten() {
        if let (Some(name), Some(map)) = (key.strip_prefix("f:"), value.as_object_mut()) {
            match (map.get_mut(name), now.get(key)) {
                (Some(child), None) => {
                    take_off(child, below, &json!({}));
                    let is_leaf = below.as_object().is_some_and(Map::is_empty);
                    if is_leaf || [json!({}), json!([])].contains(child) {
                        map.remove(name);
                    }
                }
                (Some(child), Some(now)) => take_off(child, below, now),
                _ => {}
            }
        } else if let (Some(keys), Some(list)) = (key.strip_prefix("k:"), value.as_array_mut()) {
            let is_it = |element: &Value| keys_of(element).map(|keys| keys.to_string()).as_deref() == Some(keys);
            match now.get(key) {
                None => list.retain(|element| !is_it(element)),
                Some(now) => list
                    .iter_mut()
                    .filter(|element| is_it(element))
                    .for_each(|live| take_off(live, below, now)),
            }
        }
    }
}

fn merge(live: &mut Value, body: &Value) {
    match (live, body) {
        (Value::Object(live), Value::Object(body)) => {
            for (key, value) in body {
                merge(live.entry(key.as_str()).or_insert(Value::Null), value);
            }
        }
        (Value::Array(live), Value::Array(body)) if body.iter().all(|element| keys_of(element).is_some()) => {
            for element in body {
                match live.iter_mut().find(|there| keys_of(there) == keys_of(element)) {
                    Some(there) => merge(there, element),
                    None => live.push(element.clone()),
                }
            }
        }
        (live, body) => *live = body.clone(),
    }
}

fn json_patch(live: &mut Object, patch: &[Value]) -> bool {
    let mut value = Value::Object(live.0.clone());
    for operation in patch {
        let path = operation["path"].as_str().unwrap();
        let (parent, last) = path.rsplit_once('/').unwrap();
        let wanted = &operation["value"];
        let Some(parent) = value.pointer_mut(parent) else {
            return false;
        };
        match (operation["op"].as_str().unwrap(), parent) {
            ("test", parent) => {
                if parent.pointer(&format!("/{last}")) != Some(wanted) {
                    return false;
                }
            }
            ("remove", Value::Array(list)) => drop(list.remove(last.parse().unwrap())),
            ("add", Value::Array(list)) => list.push(wanted.clone()),
            (_, parent) => drop(Map::insert(
                parent.as_object_mut().unwrap(),
                last.into(),
                wanted.clone(),
            )),
        }
    }
    *live = Object::from_value(value).unwrap();
    true
}
