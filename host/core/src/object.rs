//! Reads one Kubernetes object, held as JSON, without knowing its type.

use crate::kind::{KindRef, ObjectRef};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One Kubernetes object: `apiVersion`, `kind`, `metadata` and whatever else its kind has.
///
/// Nothing is assumed about its schema; what is missing reads as empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Object(pub Map<String, Value>);

/// One entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    /// `apiVersion` of the owner.
    pub api_version: String,
    /// Kind of the owner.
    pub kind: String,
    /// Name of the owner.
    pub name: String,
    /// Uid of the owner.
    pub uid: String,
    /// Whether this owner is the managing controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// Whether the owner's foreground deletion waits for this object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
}

impl Object {
    /// Takes a JSON value that must be a map; none otherwise.
    pub fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Object(map) => Some(Self(map)),
            _ => None,
        }
    }

    /// The whole object as a JSON value.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }

    /// The value at a path of map keys, none where something on the way is missing.
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.0.get(*first)?, |value, key| value.get(key))
    }

    /// The text at a path of map keys.
    pub fn text_at(&self, path: &[&str]) -> Option<&str> {
        self.at(path).and_then(Value::as_str)
    }

    /// The kind, from `apiVersion` and `kind`.
    pub fn kind(&self) -> KindRef {
        KindRef::from_api_version(
            self.text_at(&["apiVersion"]).unwrap_or_default(),
            self.text_at(&["kind"]).unwrap_or_default(),
        )
    }

    /// `metadata.name`, empty where missing.
    pub fn name(&self) -> &str {
        self.text_at(&["metadata", "name"]).unwrap_or_default()
    }

    /// `metadata.namespace`.
    pub fn namespace(&self) -> Option<&str> {
        self.text_at(&["metadata", "namespace"])
            .filter(|namespace| !namespace.is_empty())
    }

    /// `metadata.uid`, empty where missing.
    pub fn uid(&self) -> &str {
        self.text_at(&["metadata", "uid"]).unwrap_or_default()
    }

    /// `metadata.resourceVersion`, empty where missing.
    pub fn resource_version(&self) -> &str {
        self.text_at(&["metadata", "resourceVersion"]).unwrap_or_default()
    }

    /// `metadata.generation`, none for kinds that have none.
    pub fn generation(&self) -> Option<i64> {
        self.at(&["metadata", "generation"]).and_then(Value::as_i64)
    }

    /// Whether the object carries the deletion mark.
    pub fn is_being_deleted(&self) -> bool {
        self.text_at(&["metadata", "deletionTimestamp"]).is_some()
    }

    /// The value of one label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.text_at(&["metadata", "labels", key])
    }

    /// All labels that are text.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.at(&["metadata", "labels"])
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
    }

    /// The value of one annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.text_at(&["metadata", "annotations", key])
    }

    /// `metadata.finalizers`.
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.at(&["metadata", "finalizers"])
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    }

    /// `metadata.ownerReferences`, entries that cannot be read left out.
    pub fn owner_references(&self) -> Vec<OwnerReference> {
        self.at(&["metadata", "ownerReferences"])
            .and_then(|value| Deserialize::deserialize(value).ok())
            .unwrap_or_default()
    }

    /// Names the object.
    pub fn reference(&self) -> ObjectRef {
        ObjectRef {
            of: self.kind(),
            namespace: self.namespace().map(Into::into),
            name: self.name().into(),
        }
    }

    /// `metadata` for changing it; made where missing or not a map.
    pub fn metadata_mut(&mut self) -> &mut Map<String, Value> {
        let metadata = self.0.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        entries(metadata)
    }

    /// Sets one entry of a map inside `metadata`, such as `labels` or `annotations`.
    pub fn set_metadata_entry(&mut self, map: &str, key: &str, value: &str) {
        let map = self
            .metadata_mut()
            .entry(map)
            .or_insert_with(|| Value::Object(Map::new()));
        entries(map).insert(key.into(), value.into());
    }
}

/// The entries of a value, which becomes an empty map if it is none.
fn entries(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("made a map above"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_missing_or_of_another_type_reads_as_empty() {
        for value in [
            json!({}),
            json!({"metadata": 5, "kind": [], "apiVersion": null}),
            json!({"metadata": {"labels": []}}),
        ] {
            let object = Object::from_value(value).unwrap();
            assert_eq!((object.name(), object.uid(), object.resource_version()), ("", "", ""));
            assert_eq!(
                (object.namespace(), object.generation(), object.label("a")),
                (None, None, None)
            );
            assert_eq!((object.labels().count(), object.finalizers().count()), (0, 0));
            assert!(object.owner_references().is_empty() && !object.is_being_deleted());
            assert_eq!(object.kind(), KindRef::new("", "", ""));
        }
        assert!(Object::from_value(json!([])).is_none());
    }

    #[test]
    fn metadata_entries_are_set_whatever_was_there() {
        for value in [
            json!({}),
            json!({"metadata": null}),
            json!({"metadata": {"labels": "none"}}),
        ] {
            let mut object = Object::from_value(value).unwrap();
            object.set_metadata_entry("labels", "app", "web");
            assert_eq!(object.labels().collect::<Vec<_>>(), [("app", "web")]);
        }
    }

    #[test]
    fn an_object_is_named_by_kind_namespace_and_name() {
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "team-a", "name": "web"}});
        assert_eq!(
            Object::from_value(object).unwrap().reference().to_string(),
            "Pod team-a/web"
        );
    }
}
