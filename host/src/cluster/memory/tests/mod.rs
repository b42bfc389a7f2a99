//! Shows the in-memory cluster in the cases in which the host depends on what an API server does.

use super::MemoryCluster;
use crate::cluster::Cluster;
use serde_json::{Value, json};
use windlass_core::kind::{KindInfo, KindRef, ObjectRef};
use windlass_core::object::Object;
use windlass_core::write::{Identity, Request, Subresource, Target, Write, WriteError};

mod applies;
mod custom;
mod deletions;
mod ownership;
mod properties;
mod recorded;
mod records;
mod rules;
mod watches;

fn cluster() -> MemoryCluster {
    MemoryCluster::starting_at("2026-01-01T00:00:00Z".parse().expect("a time"))
}

fn object(value: Value) -> Object {
    Object::from_value(value).expect("a map")
}

fn config_map(name: &str, data: impl Into<Value>) -> Object {
    object(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data.into()}),
    )
}

fn deployment(name: &str) -> Object {
    object(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name, "extra": "yes"}},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "web", "image": "nginx:1", "ports": [{"containerPort": 80}]}]},
            },
        },
    }))
}

fn deployments() -> KindInfo {
    KindInfo::namespaced("apps", "v1", "Deployment", "deployments")
}

fn config_maps() -> KindInfo {
    KindInfo::namespaced("", "v1", "ConfigMap", "configmaps")
}

fn crd() -> Object {
    object(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "required": ["image"], "properties": {
                        "image": {"type": "string", "minLength": 1},
                        "replicas": {"type": "integer", "minimum": 1, "default": 1},
                        "mode": {"type": "string", "enum": ["fast", "safe"]},
                        "nested": {"type": "object", "properties": {"known": {"type": "string"}}},
                        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                        "parts": {
                            "type": "array",
                            "x-kubernetes-list-type": "map",
                            "x-kubernetes-list-map-keys": ["name"],
                            "items": {"type": "object", "required": ["name"], "properties": {
                                "name": {"type": "string"}, "size": {"type": "integer"},
                            }},
                        },
                    }},
                    "status": {"type": "object", "properties": {
                        "observedGeneration": {"type": "integer"},
                        "ready": {"type": "integer"},
                    }},
                }}},
            }],
        },
    }))
}

fn widget(name: &str, spec: impl Into<Value>) -> Object {
    object(json!({
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec.into(),
    }))
}

fn widgets() -> KindInfo {
    KindInfo::namespaced("example.com", "v1", "Widget", "widgets")
}

fn account() -> Identity {
    Identity::ServiceAccount {
        namespace: "default".into(),
        name: "worker".into(),
    }
}

fn write(kind: &KindInfo, name: &str, manager: &str, request: Request) -> Write {
    Write {
        identity: account(),
        target: Target {
            kind: kind.clone(),
            namespace: Some("default".into()),
            name: name.into(),
        },
        subresource: Subresource::None,
        manager: manager.into(),
        request,
    }
}

async fn send(cluster: &MemoryCluster, write: Write) -> Result<Option<Object>, WriteError> {
    Cluster::apply(cluster, &write).await
}

/// The names of managers with what they own, as `manager operation subresource: paths`.
fn owners(object: &Object) -> Vec<String> {
    let managed = object
        .at(&["metadata", "managedFields"])
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    managed
        .iter()
        .map(|entry| {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
            let paths = super::fields::FieldSet::from_json(&entry["fieldsV1"]).paths().join(" ");
            format!(
                "{} {} {}: {paths}",
                text("manager"),
                text("operation"),
                text("subresource")
            )
        })
        .collect()
}

fn set(object: &mut Object, path: &[&str], value: Value) {
    let mut at = &mut object.0;
    let (last, way) = path.split_last().expect("a path");
    for step in way {
        at = at
            .entry(*step)
            .or_insert_with(|| json!({}))
            .as_object_mut()
            .expect("a map");
    }
    at.insert((*last).into(), value);
}

fn namespace(name: &str) -> ObjectRef {
    ObjectRef {
        of: KindRef::new("", "v1", "Namespace"),
        namespace: None,
        name: name.into(),
    }
}
