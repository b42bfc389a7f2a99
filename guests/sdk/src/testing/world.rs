//! Answers queries from a list of objects, showing no more of each than the manifest allows.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::selector::selects;
use crate::manifest::{KindRef, Manifest, Projection, Reach, Read};
use crate::query::{Answer, FieldMatch, Query};

#[derive(Debug, Clone, Default)]
pub(super) struct World {
    pub(super) objects: Vec<Value>,
    pub(super) not_served: Vec<KindRef>,
    pub(super) forbidden: Vec<(KindRef, String)>,
}

impl World {
    pub(super) fn answer(&self, manifest: &Manifest, primary: &Value, query: &Query) -> Answer {
        let read = allowed(manifest, primary, query);
        if self.not_served.contains(&query.of) {
            return Answer::NotServed;
        }
        if let Some((_, rule)) = self.forbidden.iter().find(|(kind, _)| *kind == query.of) {
            return Answer::Forbidden(rule.clone());
        }
        let mut found: Vec<&Value> = self
            .objects
            .iter()
            .filter(|object| matches(read, query, object))
            .collect();
        found.sort_by_key(|object| (text(object, "/metadata/namespace"), text(object, "/metadata/name")));
        let limit = query.limit as usize;
        let shown = found
            .iter()
            .take(limit)
            .map(|object| project(object, &read.projection).to_string())
            .collect();
        if found.len() > limit {
            Answer::Truncated(shown)
        } else {
            Answer::Found(shown)
        }
    }
}

/// The read of the manifest that covers the query.
fn allowed<'a>(manifest: &'a Manifest, primary: &Value, query: &Query) -> &'a Read {
    let read = manifest.reads.iter().find(|read| read.kind.of == query.of);
    let read = read.unwrap_or_else(|| panic!("asks about {:?}, which its manifest does not read", query.of));
    let own = query.namespace.as_deref() == Some(text(primary, "/metadata/namespace"));
    let anywhere = read.reach == Reach::AllNamespaces || read.kind.scope == crate::Scope::Cluster;
    assert!(
        own || anywhere,
        "asks outside the primary's namespace, which its manifest does not: {query:?}"
    );
    read
}

fn matches(read: &Read, query: &Query, object: &Value) -> bool {
    let labels = labels(object);
    text(object, "/apiVersion") == query.of.api_version()
        && text(object, "/kind") == query.of.kind
        && query
            .namespace
            .as_deref()
            .is_none_or(|namespace| namespace == text(object, "/metadata/namespace"))
        && query
            .name
            .as_deref()
            .is_none_or(|name| name == text(object, "/metadata/name"))
        && selects(&read.selector, &labels)
        && selects(&query.labels, &labels)
        && query.fields.iter().all(|field| has_field(object, field))
}

fn has_field(object: &Value, field: &FieldMatch) -> bool {
    at(object, &steps(&field.path)).into_iter().any(|value| {
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        shown == field.value
    })
}

/// `.spec.tls[*].name` as `spec`, `tls`, `*`, `name`.
fn steps(path: &str) -> Vec<&str> {
    path.split(['.', '[', ']']).filter(|step| !step.is_empty()).collect()
}

fn at<'a>(value: &'a Value, steps: &[&str]) -> Vec<&'a Value> {
    match (steps, value) {
        ([], value) => vec![value],
        (["*", rest @ ..], Value::Array(items)) => items.iter().flat_map(|item| at(item, rest)).collect(),
        ([step, rest @ ..], Value::Object(fields)) => fields
            .get(*step)
            .into_iter()
            .flat_map(|field| at(field, rest))
            .collect(),
        _ => Vec::new(),
    }
}

fn project(object: &Value, projection: &Projection) -> Value {
    let mut shown = match projection {
        Projection::Full => object.clone(),
        Projection::Metadata => keep(object, &[]),
        Projection::Fields(paths) => keep(object, paths),
    };
    if let Some(metadata) = shown.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
    }
    shown
}

fn keep(object: &Value, paths: &[String]) -> Value {
    let mut kept = Value::Object(Map::new());
    for path in ["apiVersion", "kind", "metadata"]
        .into_iter()
        .chain(paths.iter().map(String::as_str))
    {
        copy(object, &mut kept, &steps(path));
    }
    kept
}

/// Copies what `steps` lead to, with the objects and lists on the way.
fn copy(from: &Value, to: &mut Value, steps: &[&str]) {
    match (steps, from) {
        ([], from) => *to = from.clone(),
        (["*", rest @ ..], Value::Array(items)) => {
            if !to.is_array() {
                *to = Value::Array(vec![Value::Object(Map::new()); items.len()]);
            }
            for (index, item) in items.iter().enumerate() {
                copy(item, &mut to[index], rest);
            }
        }
        ([step, rest @ ..], Value::Object(fields)) => {
            if let Some(field) = fields.get(*step) {
                copy(field, &mut to[*step], rest);
            }
        }
        _ => {}
    }
}

fn labels(object: &Value) -> BTreeMap<String, String> {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
    let pairs = labels.into_iter().flatten();
    pairs
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_projection_is_shown() {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "a", "resourceVersion": "7", "managedFields": []},
            "spec": {"nodeName": "n", "containers": [{"name": "x", "image": "i"}]},
        });
        let metadata = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}});
        assert_eq!(project(&pod, &Projection::Metadata), metadata);
        let mut fields = metadata;
        fields["spec"] = json!({"nodeName": "n", "containers": [{"image": "i"}]});
        let paths = [".spec.nodeName", ".spec.containers[*].image"]
            .map(str::to_owned)
            .to_vec();
        assert_eq!(project(&pod, &Projection::Fields(paths)), fields);
    }

    #[test]
    fn a_field_matches_in_any_element_of_a_list() {
        let ingress = json!({"spec": {"port": 80, "tls": [{"name": "a"}, {"name": "b"}]}});
        let field = |path: &str, value: &str| FieldMatch {
            path: path.to_owned(),
            value: value.to_owned(),
        };
        assert!(has_field(&ingress, &field(".spec.tls[*].name", "b")));
        assert!(has_field(&ingress, &field(".spec.port", "80")));
        assert!(!has_field(&ingress, &field(".spec.tls[*].name", "c")));
    }
}
