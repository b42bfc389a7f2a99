//! Compares, merges and cuts values by their shape: the arithmetic of field ownership.

use super::fields::{FieldSet, key_name};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use windlass_core::shape::{ListShape, MapShape, Shape};

/// What differs between two values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    /// Only in the second.
    pub(super) added: FieldSet,
    /// In both, and different.
    pub(super) modified: FieldSet,
    /// Only in the first.
    pub(super) removed: FieldSet,
}

impl Comparison {
    fn put(&mut self, name: &str, below: Comparison) {
        self.added.put(name.into(), below.added);
        self.modified.put(name.into(), below.modified);
        self.removed.put(name.into(), below.removed);
    }
}

/// The paths that a manager owns who has applied this value.
pub(super) fn set_of(value: &Value, shape: Shape<'_>) -> FieldSet {
    let mut set = FieldSet::default();
    match value {
        Value::Object(fields) if shape.map() != MapShape::Atomic => {
            for (name, value) in fields {
                let mut below = set_of(value, shape.field(name));
                let is_nothing = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                below.member |= is_nothing || shape.map() == MapShape::Open;
                set.put(format!("f:{name}"), below);
            }
        }
        Value::Array(entries) if shape.list() != ListShape::Atomic => {
            for entry in entries {
                let mut below = set_of(entry, shape.item());
                below.member = true;
                set.put(entry_name(entry, shape), below);
            }
        }
        _ => set.member = true,
    }
    set
}

/// What changes from the first value to the second.
pub(super) fn compare(before: Option<&Value>, after: Option<&Value>, shape: Shape<'_>) -> Comparison {
    let mut result = Comparison::default();
    match granular(before, after, shape) {
        Some(Parts {
            names,
            before: old,
            after: new,
            shapes,
        }) => {
            for name in names {
                let shape = shapes.get(name.as_str()).copied().unwrap_or(shape);
                result.put(&name, compare(old.get(&name).copied(), new.get(&name).copied(), shape));
            }
        }
        None => result.modified.member = before.is_some() && after.is_some() && before != after,
    }
    result.added.member = before.is_none() && after.is_some();
    result.removed.member = before.is_some() && after.is_none();
    result
}

/// Two values, taken apart into named parts.
struct Parts<'a> {
    names: BTreeSet<String>,
    before: BTreeMap<String, &'a Value>,
    after: BTreeMap<String, &'a Value>,
    shapes: BTreeMap<String, Shape<'a>>,
}

/// Takes both apart, unless they are one value each.
fn granular<'a>(before: Option<&'a Value>, after: Option<&'a Value>, shape: Shape<'a>) -> Option<Parts<'a>> {
    let filled: Vec<&Value> = [before, after]
        .into_iter()
        .flatten()
        .filter(|value| !value.is_null())
        .collect();
    let maps = filled.iter().all(|value| value.is_object()) && shape.map() != MapShape::Atomic;
    let lists = filled.iter().all(|value| value.is_array()) && shape.list() != ListShape::Atomic;
    if !(maps || lists) || filled.iter().all(|value| is_empty(value)) {
        return None;
    }
    let before = before.map(|value| parts(value, shape)).unwrap_or_default();
    let after = after.map(|value| parts(value, shape)).unwrap_or_default();
    let mut shapes = BTreeMap::new();
    let mut names = BTreeSet::new();
    for (name, (value, below)) in before.iter().chain(&after) {
        let _: &&Value = value;
        shapes.insert(name.clone(), *below);
        names.insert(name.clone());
    }
    let values = |parts: BTreeMap<String, (&'a Value, Shape<'a>)>| {
        parts.into_iter().map(|(name, (value, _))| (name, value)).collect()
    };
    Some(Parts {
        names,
        before: values(before),
        after: values(after),
        shapes,
    })
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(entries) => entries.is_empty(),
        _ => false,
    }
}

fn parts<'a>(value: &'a Value, shape: Shape<'a>) -> BTreeMap<String, (&'a Value, Shape<'a>)> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (format!("f:{name}"), (value, shape.field(name))))
            .collect(),
        Value::Array(entries) => entries
            .iter()
            .map(|entry| (entry_name(entry, shape), (entry, shape.item())))
            .collect(),
        _ => BTreeMap::new(),
    }
}

/// The name of an entry of the list at `shape`.
fn entry_name(entry: &Value, shape: Shape<'_>) -> String {
    match shape.list() {
        ListShape::Keyed(keys) => key_name(keys.into_iter().map(|key| {
            let value = entry
                .get(key)
                .cloned()
                .or_else(|| shape.default_of_key(key))
                .unwrap_or(Value::Null);
            (key, value)
        })),
        _ => format!("v:{entry}"),
    }
}

/// Lays the second value over the first, as an apply does.
pub(super) fn merge(under: Option<&Value>, over: &Value, shape: Shape<'_>) -> Value {
    match (under, over) {
        (Some(Value::Object(under)), Value::Object(over)) if shape.map() != MapShape::Atomic => {
            let mut merged = under.clone();
            for (name, value) in over {
                merged.insert(name.clone(), merge(under.get(name), value, shape.field(name)));
            }
            Value::Object(merged)
        }
        (Some(Value::Array(under)), Value::Array(over)) if shape.list() != ListShape::Atomic => {
            Value::Array(merge_lists(under, over, shape))
        }
        _ => over.clone(),
    }
}

/// Merges two keyed lists in the server's order: entries that both have stand as in the second list, and those of the
/// first alone stay between the neighbours they had.
fn merge_lists(under: &[Value], over: &[Value], shape: Shape<'_>) -> Vec<Value> {
    let names = |entries: &[Value]| entries.iter().map(|entry| entry_name(entry, shape)).collect::<Vec<_>>();
    let (under_names, over_names) = (names(under), names(over));
    let mut shared = over_names.iter().filter(|name| under_names.contains(name)).peekable();
    let mut done = BTreeSet::new();
    let mut merged = Vec::new();
    let (mut left, mut right) = (0, 0);
    while left < under.len() || right < over.len() {
        if let Some(name) = under_names.get(left) {
            if !over_names.contains(name) {
                merged.push(under[left].clone());
                left += 1;
                continue;
            }
            let out_of_turn = right < over.len() && *name != over_names[right] && shared.peek() != Some(&name);
            if done.contains(name) || out_of_turn {
                left += 1;
                continue;
            }
        }
        let Some(name) = over_names.get(right) else { break };
        let old = under_names.iter().position(|under| under == name);
        merged.push(merge(old.map(|at| &under[at]), &over[right], shape.item()));
        shared.next_if(|next| *next == name);
        done.insert(name);
        right += 1;
    }
    merged
}

/// Takes the paths of a set out of a value; what is left empty by that becomes null.
pub(super) fn without(value: &Value, set: &FieldSet, shape: Shape<'_>) -> Value {
    if set.children.is_empty() {
        return value.clone();
    }
    let keep = |name: &str, value: &Value, shape: Shape<'_>| match set.children.get(name) {
        Some(below) if below.member => None,
        Some(below) => Some(without(value, below, shape)),
        None => Some(value.clone()),
    };
    match value {
        Value::Object(fields) => {
            let kept: Map<String, Value> = fields
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), keep(&format!("f:{name}"), value, shape.field(name))?)))
                .collect();
            if kept.is_empty() {
                Value::Null
            } else {
                Value::Object(kept)
            }
        }
        Value::Array(entries) => {
            let kept: Vec<Value> = entries
                .iter()
                .filter_map(|entry| keep(&entry_name(entry, shape), entry, shape.item()))
                .collect();
            if kept.is_empty() {
                Value::Null
            } else {
                Value::Array(kept)
            }
        }
        _ => value.clone(),
    }
}

/// The set with every field of a type on the way to its paths: what must go when all paths below go.
pub(super) fn with_named_fields(set: &FieldSet, shape: Shape<'_>) -> FieldSet {
    let mut result = FieldSet {
        member: set.member,
        children: BTreeMap::new(),
    };
    for (name, below) in &set.children {
        let mut child = match name.split_once(':') {
            Some(("f", field)) => with_named_fields(below, shape.field(field)),
            _ => with_named_fields(below, shape.item()),
        };
        child.member |= name.starts_with("f:") && shape.map() == MapShape::Struct;
        result.put(name.clone(), child);
    }
    result
}
