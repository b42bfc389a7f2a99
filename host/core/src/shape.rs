//! Knows which lists are keyed and which maps are one value, from a CRD's schema or from a table for the builtin kinds.
//!
//! The API server merges and records fields by this, so whoever reads `managedFields`, checks what is to be applied or
//! plays an API server has to know the same.

mod builtin;

use crate::kind::KindRef;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What is known about the kind of an object.
#[derive(Clone, Copy, Debug)]
pub enum Known<'a> {
    /// A builtin kind, known by the names of its fields.
    Builtin(&'a str),
    /// A schema in the form of a CRD.
    Schema(&'a Value),
    /// Nothing, of a kind that is known by name only: lists are one value, but for conditions.
    Nothing,
    /// That anything may be here, as where a schema preserves unknown fields.
    Anything,
    /// `metadata`, which is the same for all kinds.
    Metadata,
}

/// A place in an object, with what is known of the values there.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    known: Known<'a>,
    /// Name of the field that holds this place, empty at the top.
    field: &'a str,
    /// Whether this is an entry of the list in `field`.
    item: bool,
    top: bool,
}

/// How entries of a list are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListShape<'a> {
    /// Not at all: the list is one value.
    Atomic,
    /// Each is its own name.
    Set,
    /// By these fields.
    Keyed(Vec<&'a str>),
}

/// How a map is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapShape {
    /// As one value.
    Atomic,
    /// Field by field, the fields being those of a type.
    Struct,
    /// Entry by entry, any names.
    Open,
}

impl<'a> Shape<'a> {
    /// The shape of objects of a kind without its schema: known for the kinds that are built into the API server.
    pub fn of_kind(of: &'a KindRef) -> Self {
        Self::of(if builtin::GROUPS.contains(&of.group.as_str()) {
            Known::Builtin(&of.kind)
        } else {
            Known::Nothing
        })
    }

    /// The shape of a whole object.
    pub fn of(known: Known<'a>) -> Self {
        Self {
            known,
            field: "",
            item: false,
            top: true,
        }
    }

    /// The place below a map key.
    pub fn field(self, name: &'a str) -> Self {
        let known = match self.known {
            _ if self.top && name == "metadata" => Known::Metadata,
            Known::Schema(schema) => below(schema.get("properties").and_then(|fields| fields.get(name)))
                .or_else(|| below(schema.get("additionalProperties")))
                .unwrap_or(Known::Anything),
            // A key that somebody chose, such as `data`, says nothing of what is below it.
            Known::Builtin(_) if !self.top && self.map() == MapShape::Open => Known::Anything,
            known => known,
        };
        Self {
            known,
            field: name,
            item: false,
            top: false,
        }
    }

    /// The place of an entry of this list.
    pub fn item(self) -> Self {
        let known = match self.known {
            Known::Schema(schema) => below(schema.get("items")).unwrap_or(Known::Anything),
            known => known,
        };
        Self {
            known,
            item: true,
            ..self
        }
    }

    /// Whether a schema says nothing of this place.
    pub fn is_unknown(self) -> bool {
        matches!(self.known, Known::Anything)
    }

    /// The type that the schema wants here.
    pub fn wanted_type(self) -> Option<&'a str> {
        match self.known {
            Known::Schema(schema) if !self.top => schema.get("type").and_then(Value::as_str),
            // There is a list of that name as well.
            Known::Builtin(_) if self.field == "options" => None,
            Known::Builtin(kind) if !self.item && builtin::is_open(kind, self.field) => Some("object"),
            _ => None,
        }
    }

    /// Whether a key at this place says which object it is: nobody owns that.
    pub fn is_identity(self, key: &str) -> bool {
        match self.known {
            _ if self.top => ["apiVersion", "kind"].contains(&key),
            Known::Metadata => self.field == "metadata" && !self.item && ["name", "namespace"].contains(&key),
            _ => false,
        }
    }

    /// Whether the API server certainly takes a value at this place for one value, which one manager owns as a whole.
    pub fn is_one_value(self, value: &Value) -> bool {
        let is_known = !matches!(self.known, Known::Nothing | Known::Anything);
        match value {
            Value::Object(_) => is_known && self.map() == MapShape::Atomic,
            Value::Array(_) => is_known && self.list() == ListShape::Atomic,
            _ => true,
        }
    }

    /// Whether the schema lets anything be below this place.
    pub fn keeps_unknown(self) -> bool {
        let Known::Schema(schema) = self.known else { return true };
        schema
            .get("x-kubernetes-preserve-unknown-fields")
            .and_then(Value::as_bool)
            .unwrap_or(false)
    }

    /// How the map at this place is merged.
    pub fn map(self) -> MapShape {
        match self.known {
            _ if self.top => MapShape::Struct,
            Known::Schema(schema) => {
                let is_struct = schema.get("properties").is_some();
                match schema.get("x-kubernetes-map-type").and_then(Value::as_str) {
                    Some("atomic") => MapShape::Atomic,
                    _ if is_struct => MapShape::Struct,
                    _ => MapShape::Open,
                }
            }
            Known::Nothing => MapShape::Struct,
            Known::Anything => MapShape::Open,
            Known::Metadata if self.item => MapShape::Atomic,
            Known::Metadata if ["labels", "annotations"].contains(&self.field) => MapShape::Open,
            Known::Metadata => MapShape::Struct,
            Known::Builtin(_) if self.item && builtin::has_atomic_entries(self.field) => MapShape::Atomic,
            Known::Builtin(_) if self.item => MapShape::Struct,
            Known::Builtin(kind) if builtin::is_open(kind, self.field) => MapShape::Open,
            Known::Builtin(kind) if builtin::is_atomic(kind, self.field) => MapShape::Atomic,
            Known::Builtin(_) => MapShape::Struct,
        }
    }

    /// How entries of the list at this place are told apart.
    pub fn list(self) -> ListShape<'a> {
        match self.known {
            Known::Schema(schema) => match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
                Some("set") => ListShape::Set,
                Some("map") => ListShape::Keyed(texts(schema.get("x-kubernetes-list-map-keys")).collect()),
                _ => ListShape::Atomic,
            },
            Known::Metadata => match self.field {
                "finalizers" => ListShape::Set,
                "ownerReferences" => ListShape::Keyed(vec!["uid"]),
                _ => ListShape::Atomic,
            },
            Known::Nothing if self.field == "conditions" => ListShape::Keyed(vec!["type"]),
            Known::Nothing | Known::Anything => ListShape::Atomic,
            Known::Builtin(kind) => builtin::list(kind, self.field),
        }
    }

    /// What tells an entry of the list at this place from the others, such as `containerPort=80,protocol=TCP`; none where
    /// the list is one value, or the entry lacks a key.
    fn entry_name(self, entry: &Value) -> Option<String> {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match self.list() {
            ListShape::Atomic => None,
            ListShape::Set => Some(format!("={}", text(entry))),
            ListShape::Keyed(keys) => {
                let named = keys.iter().map(|key| {
                    let value = entry.get(key).cloned().or_else(|| self.default_of_key(key))?;
                    Some(format!("{key}={}", text(&value)))
                });
                named.collect::<Option<Vec<_>>>().map(|named| named.join(","))
            }
        }
    }

    /// What a key of an entry is when the entry does not say.
    pub fn default_of_key(self, key: &str) -> Option<Value> {
        match self.known {
            Known::Schema(schema) => schema
                .get("items")?
                .get("properties")?
                .get(key)?
                .get("default")
                .cloned(),
            Known::Builtin(_) if key == "protocol" => Some(json!("TCP")),
            _ => None,
        }
    }
}

/// The first few paths of entries that a list has more than once, such as `spec.containers[name=web].env[name=A]`: the API
/// server refuses to apply them, though it may take them from a POST (B-08).
pub fn duplicates(object: &Value, shape: Shape<'_>) -> Vec<String> {
    let mut found = Vec::new();
    find_duplicates(object, shape, &mut Vec::new(), &mut found);
    found
}

/// Stops: an answer that is one long list of the same, each of which would be told.
const MAX_DUPLICATES: usize = 8;

/// One step of the path to a value. Paths are put together only where there is something to tell.
enum Step<'a> {
    Field(&'a str),
    Entry(String),
}

fn find_duplicates<'a>(value: &'a Value, shape: Shape<'_>, path: &mut Vec<Step<'a>>, found: &mut Vec<String>) {
    if found.len() >= MAX_DUPLICATES {
        return;
    }
    match value {
        Value::Object(fields) if shape.map() != MapShape::Atomic => {
            for (name, value) in fields {
                path.push(Step::Field(name));
                find_duplicates(value, shape.field(name), path, found);
                path.pop();
            }
        }
        Value::Array(entries) => {
            let mut counts = BTreeMap::new();
            for entry in entries {
                let Some(name) = shape.entry_name(entry) else { continue };
                let count = counts.entry(name.clone()).or_insert(0_usize);
                *count += 1;
                path.push(Step::Entry(name));
                if *count == 2 && found.len() < MAX_DUPLICATES {
                    found.push(spelt(path));
                }
                find_duplicates(entry, shape.item(), path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

fn spelt(path: &[Step<'_>]) -> String {
    path.iter().fold(String::new(), |path, step| match step {
        Step::Field(name) if path.is_empty() => (*name).to_owned(),
        Step::Field(name) => format!("{path}.{name}"),
        Step::Entry(name) => format!("{path}[{name}]"),
    })
}

fn below(schema: Option<&Value>) -> Option<Known<'_>> {
    schema.filter(|schema| schema.is_object()).map(Known::Schema)
}

fn texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    value
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

#[cfg(test)]
mod tests;
