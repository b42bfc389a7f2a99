//! Keeps, for one kind, under which name, label or field value each query waits.

use super::matching::Matcher;
use crate::object::Object;
use crate::path;
use std::collections::{BTreeMap, BTreeSet};

/// Different field paths that are looked up per kind. Every event is read at each of them, so without a limit a guest
/// that asks by another path for each primary would make every event as expensive as there are primaries. Queries by
/// further paths are scanned, and counted as that.
const INDEXED_PATHS: usize = 32;

/// One query of one primary: the primary's number and the place among its queries.
pub(super) type Waiting = (u64, u32);

/// Queries by the namespace they ask about; the empty one is all namespaces.
type Bucket = BTreeMap<String, BTreeSet<Waiting>>;
type ByValue = BTreeMap<String, Bucket>;

/// Where a query waits.
#[derive(Clone, Copy, Debug)]
enum Place<'a> {
    Name(&'a str),
    Label(&'a str, &'a [String]),
    Field(&'a str, &'a str),
    Scan,
}

/// All queries about one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct KindIndex {
    names: ByValue,
    labels: BTreeMap<String, ByValue>,
    fields: BTreeMap<String, ByValue>,
    scans: Bucket,
    scanned: usize,
    /// Everything under which a query was put, so that it is taken away from just there.
    places: BTreeMap<Waiting, Vec<(Slot, String)>>,
}

/// A value's owner within the index, so that it can be found again.
#[derive(Clone, Debug)]
enum Slot {
    Name,
    Label(String),
    Field(String),
    Scan,
}

impl KindIndex {
    /// Puts a query where what it asks about will be looked up: under the least crowded of the terms that must hold.
    pub(super) fn insert(&mut self, waiting: Waiting, matcher: &Matcher) {
        let slots: Vec<(Slot, String)> = match self.place(matcher) {
            Place::Name(name) => vec![(Slot::Name, name.into())],
            Place::Label(key, values) => values
                .iter()
                .map(|value| (Slot::Label(key.into()), value.clone()))
                .collect(),
            Place::Field(path, value) => vec![(Slot::Field(path.into()), value.into())],
            Place::Scan => vec![(Slot::Scan, String::new())],
        };
        let namespace = matcher.namespace.as_deref().unwrap_or_default();
        for (slot, value) in &slots {
            self.bucket(slot, value)
                .entry(namespace.into())
                .or_default()
                .insert(waiting);
            self.scanned += usize::from(matches!(slot, Slot::Scan));
        }
        self.places.insert(waiting, slots);
    }

    /// Takes a query out again.
    pub(super) fn remove(&mut self, waiting: Waiting, matcher: &Matcher) {
        let namespace = matcher.namespace.as_deref().unwrap_or_default();
        for (slot, value) in self.places.remove(&waiting).unwrap_or_default() {
            let bucket = self.bucket(&slot, &value);
            if let Some(set) = bucket.get_mut(namespace) {
                set.remove(&waiting);
                if set.is_empty() {
                    bucket.remove(namespace);
                }
            }
            let is_empty = bucket.is_empty();
            match &slot {
                Slot::Scan => self.scanned -= 1,
                Slot::Name if is_empty => drop(self.names.remove(&value)),
                Slot::Label(key) if is_empty => remove_value(&mut self.labels, key, &value),
                Slot::Field(path) if is_empty => remove_value(&mut self.fields, path, &value),
                _ => {}
            }
        }
    }

    /// Shows every query that may ask about the object to `visit`.
    pub(super) fn candidates(&self, object: &Object, visit: &mut dyn FnMut(Waiting)) {
        let namespace = object.namespace().unwrap_or_default();
        let mut visit_bucket = |bucket: &Bucket| {
            let everywhere = bucket.get("").filter(|_| !namespace.is_empty());
            bucket
                .get(namespace)
                .into_iter()
                .chain(everywhere)
                .flatten()
                .for_each(|waiting| visit(*waiting));
        };
        if let Some(bucket) = self.names.get(object.name()) {
            visit_bucket(bucket);
        }
        for (key, value) in object.labels() {
            if let Some(bucket) = self.labels.get(key).and_then(|values| values.get(value)) {
                visit_bucket(bucket);
            }
        }
        for (path, values) in &self.fields {
            path::any(object, path, &mut |found| {
                if let Some(bucket) = path::text(found).and_then(|value| values.get(value.as_ref())) {
                    visit_bucket(bucket);
                }
                false
            });
        }
        visit_bucket(&self.scans);
    }

    /// How many queries every event of this kind is held against.
    pub(super) fn scanned(&self) -> usize {
        self.scanned
    }

    /// The least crowded place at which everything that matches can be found.
    fn place<'a>(&self, matcher: &'a Matcher) -> Place<'a> {
        if let Some(name) = &matcher.name {
            return Place::Name(name);
        }
        let namespace = matcher.namespace.as_deref().unwrap_or_default();
        let crowd = |values: Option<&ByValue>, value: &str| {
            values
                .and_then(|values| values.get(value)?.get(namespace))
                .map_or(0, BTreeSet::len)
        };
        let fields = matcher
            .fields
            .iter()
            .filter(|field| self.may_index(&field.path))
            .map(|field| {
                let crowd = crowd(self.fields.get(&field.path), &field.value);
                (crowd, Place::Field(&field.path, &field.value))
            });
        let labels = matcher
            .labels
            .iter()
            .flat_map(|labels| labels.positive_sets())
            .map(|(key, values)| {
                let crowd = values.iter().map(|value| crowd(self.labels.get(key), value)).sum();
                (crowd, Place::Label(key, values))
            });
        labels
            .chain(fields)
            .min_by_key(|(crowd, _)| *crowd)
            .map_or(Place::Scan, |(_, place)| place)
    }

    fn may_index(&self, path: &str) -> bool {
        self.fields.len() < INDEXED_PATHS || self.fields.contains_key(path)
    }

    fn bucket(&mut self, slot: &Slot, value: &str) -> &mut Bucket {
        let by_value = match slot {
            Slot::Name => &mut self.names,
            Slot::Label(key) => self.labels.entry(key.clone()).or_default(),
            Slot::Field(path) => self.fields.entry(path.clone()).or_default(),
            Slot::Scan => return &mut self.scans,
        };
        by_value.entry(value.into()).or_default()
    }
}

fn remove_value(index: &mut BTreeMap<String, ByValue>, key: &str, value: &str) {
    if let Some(values) = index.get_mut(key) {
        values.remove(value);
        if values.is_empty() {
            index.remove(key);
        }
    }
}
