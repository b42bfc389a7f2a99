//! Compares what the core knows of the lists and maps of builtin kinds with what a real API server publishes of them.

use crate::scenarios::{RUNTIME, real};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use windlass_core::kind::KindRef;
use windlass_core::shape::{ListShape, MapShape, Shape};

#[test]
fn lists_and_maps_of_builtin_kinds_are_merged_as_the_server_says() {
    RUNTIME.block_on(async {
        let compared = compare().await;
        compared.unwrap_or_else(|error| panic!("{error:#}"));
    });
}

async fn compare() -> Result<()> {
    let cluster = real().await.cluster;
    let get = async |path: &str| -> Result<Value> {
        Ok(serde_json::from_str(&cluster.kubectl(&["get", "--raw", path]).await?)?)
    };
    let (mut kinds, mut wrong) = (0, Vec::new());
    for group_version in [
        "api/v1",
        "apis/admissionregistration.k8s.io/v1",
        "apis/apps/v1",
        "apis/autoscaling/v2",
        "apis/batch/v1",
        "apis/coordination.k8s.io/v1",
        "apis/discovery.k8s.io/v1",
        "apis/networking.k8s.io/v1",
        "apis/node.k8s.io/v1",
        "apis/policy/v1",
        "apis/rbac.authorization.k8s.io/v1",
        "apis/scheduling.k8s.io/v1",
        "apis/storage.k8s.io/v1",
    ] {
        let published = get(&format!("/openapi/v3/{group_version}")).await?;
        let schemas = published["components"]["schemas"].as_object().context("no schemas")?;
        for schema in schemas
            .values()
            .filter(|schema| schema["properties"]["metadata"].is_object())
        {
            let names = schema["x-kubernetes-group-version-kind"].as_array();
            let Some(name) = names.filter(|names| names.len() == 1).map(|names| &names[0]) else {
                continue;
            };
            let text = |key: &str| name[key].as_str().unwrap_or_default();
            if text("kind").ends_with("List") || schema["properties"]["items"].is_object() {
                continue;
            }
            let kind = KindRef::new(text("group"), text("version"), text("kind"));
            let mut walk = Walk {
                schemas: &published["components"]["schemas"],
                path: kind.to_string(),
                wrong: &mut wrong,
            };
            for (field, below) in schema["properties"].as_object().into_iter().flatten() {
                if !["metadata", "status", "apiVersion", "kind"].contains(&field.as_str()) {
                    walk.field(field, below, Shape::of_kind(&kind));
                }
            }
            kinds += 1;
        }
    }
    wrong.sort();
    wrong.dedup();
    ensure!(kinds > 30, "only {kinds} kinds were found");
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

struct Walk<'a> {
    schemas: &'a Value,
    path: String,
    wrong: &'a mut Vec<String>,
}

impl Walk<'_> {
    fn field(&mut self, name: &str, schema: &Value, shape: Shape<'_>) {
        let length = self.path.len();
        self.path.push('.');
        self.path.push_str(name);
        self.value(schema, shape.field(name));
        self.path.truncate(length);
    }

    /// The schema itself, with what a reference to it adds.
    fn resolved(&self, schema: &Value) -> Value {
        let reference = schema["allOf"][0]["$ref"].as_str().or(schema["$ref"].as_str());
        let Some(name) = reference.and_then(|path| path.rsplit('/').next()) else {
            return schema.clone();
        };
        let mut target = self.resolved(&self.schemas[name]);
        for (key, value) in schema
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| key.starts_with("x-"))
        {
            target[key] = value.clone();
        }
        target
    }

    fn value(&mut self, schema: &Value, shape: Shape<'_>) {
        let schema = self.resolved(schema);
        // JSONSchemaProps are made of themselves.
        if self.path.matches('.').count() > 14 || self.path.ends_with(".openAPIV3Schema") {
            return;
        }
        if schema["type"] == "array" {
            let keys: Vec<&str> = schema["x-kubernetes-list-map-keys"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let published = match schema["x-kubernetes-list-type"].as_str() {
                Some("set") => ListShape::Set,
                Some("map") => ListShape::Keyed(keys),
                _ => ListShape::Atomic,
            };
            if shape.list() != published {
                self.wrong
                    .push(format!("{}: {published:?}, not {:?}", self.path, shape.list()));
            } else if matches!(published, ListShape::Keyed(_)) {
                let items = self.resolved(&schema["items"]);
                self.map(&items, shape.item());
            }
        } else if schema["type"] == "object" || schema["properties"].is_object() {
            self.map(&schema, shape);
        }
    }

    fn map(&mut self, schema: &Value, shape: Shape<'_>) {
        let is_atomic = schema["x-kubernetes-map-type"] == "atomic";
        if is_atomic != (shape.map() == MapShape::Atomic) {
            let published = if is_atomic { "one value" } else { "many" };
            self.wrong
                .push(format!("{}: {published}, not {:?}", self.path, shape.map()));
        } else if !is_atomic {
            for (field, below) in schema["properties"].as_object().into_iter().flatten() {
                self.field(field, below, shape);
            }
        }
    }
}
