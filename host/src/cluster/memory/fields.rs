//! Holds sets of field paths, in the form in which `managedFields` spells them (FieldsV1).

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A set of paths into an object, kept as a tree.
///
/// Children are named as FieldsV1 names them: `f:<field>`, `k:<key of a list entry>`, `v:<value in a set>`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSet {
    /// Whether the path that ends here is in the set; the paths below are so by themselves.
    pub(super) member: bool,
    /// What is below. Holds no empty sets.
    pub(super) children: BTreeMap<String, FieldSet>,
}

impl FieldSet {
    /// Whether there is no path in it.
    pub(super) fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }

    /// Adds a child, unless it is empty.
    pub(super) fn put(&mut self, name: String, child: FieldSet) {
        if !child.is_empty() {
            self.children.insert(name, child);
        }
    }

    /// Takes out the paths below a path of field names, and the path itself.
    pub(super) fn take_out(&mut self, path: &[&str]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let name = format!("f:{first}");
        let Some(child) = self.children.get_mut(&name) else {
            return;
        };
        if !rest.is_empty() {
            child.take_out(rest);
        }
        if rest.is_empty() || child.is_empty() {
            self.children.remove(&name);
        }
    }

    /// Keeps only what is below one top-level field.
    pub(super) fn keep_only(&mut self, field: &str) {
        let name = format!("f:{field}");
        self.children.retain(|child, _| *child == name);
        self.member = false;
    }

    /// The paths that are in either.
    pub(super) fn union(&self, other: &Self) -> Self {
        let mut children = self.children.clone();
        for (name, theirs) in &other.children {
            let both = children
                .get(name)
                .map_or_else(|| theirs.clone(), |ours| ours.union(theirs));
            children.insert(name.clone(), both);
        }
        Self {
            member: self.member || other.member,
            children,
        }
    }

    /// The paths that are here and not there.
    pub(super) fn difference(&self, other: &Self) -> Self {
        let mut result = Self {
            member: self.member && !other.member,
            children: BTreeMap::new(),
        };
        for (name, ours) in &self.children {
            let rest = other
                .children
                .get(name)
                .map_or_else(|| ours.clone(), |theirs| ours.difference(theirs));
            result.put(name.clone(), rest);
        }
        result
    }

    /// The paths that are in both.
    pub(super) fn intersection(&self, other: &Self) -> Self {
        let mut result = Self {
            member: self.member && other.member,
            children: BTreeMap::new(),
        };
        for (name, ours) in &self.children {
            if let Some(theirs) = other.children.get(name) {
                result.put(name.clone(), ours.intersection(theirs));
            }
        }
        result
    }

    /// Every path in the set as the server prints it, such as `.spec.containers[name="web"].image`.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.print(&mut String::new(), &mut paths);
        paths
    }

    fn print(&self, prefix: &mut String, paths: &mut Vec<String>) {
        if self.member {
            paths.push(prefix.clone());
        }
        for (name, child) in &self.children {
            let length = prefix.len();
            prefix.push_str(&printed(name));
            child.print(prefix, paths);
            prefix.truncate(length);
        }
    }

    /// Reads `fieldsV1`.
    pub(super) fn from_json(fields: &Value) -> Self {
        let mut set = Self::default();
        for (name, below) in fields.as_object().into_iter().flatten() {
            if name == "." {
                set.member = true;
                continue;
            }
            let mut child = Self::from_json(below);
            child.member |= child.children.is_empty();
            set.put(name.clone(), child);
        }
        set
    }

    /// Writes `fieldsV1`.
    pub(super) fn to_json(&self) -> Value {
        let mut fields = Map::new();
        if self.member && !self.children.is_empty() {
            fields.insert(".".into(), Value::Object(Map::new()));
        }
        for (name, child) in &self.children {
            fields.insert(name.clone(), child.to_json());
        }
        Value::Object(fields)
    }
}

/// The name of the entry of a keyed list, its keys in order of their names.
pub(super) fn key_name<'a>(keys: impl Iterator<Item = (&'a str, Value)>) -> String {
    let sorted: BTreeMap<&str, Value> = keys.collect();
    let text: Vec<String> = sorted
        .iter()
        .map(|(key, value)| format!("{}:{value}", Value::from(*key)))
        .collect();
    format!("k:{{{}}}", text.join(","))
}

/// One step of a path as the server prints it.
fn printed(name: &str) -> String {
    match name.split_once(':') {
        Some(("f", field)) => format!(".{field}"),
        Some(("v", value)) => format!("[={value}]"),
        Some(("k", keys)) => {
            let keys: BTreeMap<String, Value> = serde_json::from_str(keys).unwrap_or_default();
            let mut text = String::new();
            for (key, value) in keys {
                let comma = if text.is_empty() { "" } else { "," };
                let _ = write!(text, "{comma}{key}={value}");
            }
            format!("[{text}]")
        }
        _ => format!("[{name}]"),
    }
}
