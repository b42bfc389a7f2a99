//! Holds the objects of one watch with their reverse indexes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use windlass_core::change::{Matcher, primary_uid_of};
use windlass_core::decision::Query;
use windlass_core::object::Object;

/// Namespace and name; the order in which objects are given out.
type Place = (Option<String>, String);

/// What is told about each change: the state before and the state after.
type Note<'a> = dyn FnMut(Option<Object>, Option<Object>) + 'a;

/// The objects of one watch.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// Whether a complete list has come.
    pub(super) listed: bool,
    /// The trouble the watch has now.
    pub(super) trouble: Option<String>,
    objects: BTreeMap<Place, Stored>,
    by_name: HashMap<String, BTreeSet<Place>>,
    by_uid: HashMap<String, Place>,
    by_primary: HashMap<String, BTreeSet<Place>>,
}

/// One object as compact JSON: parsed when used, since most are never.
#[derive(Debug)]
struct Stored {
    bytes: Box<[u8]>,
    uid: String,
    primary_uid: Option<String>,
    /// Comparable as a number within one kind (KEP-5504); 0 where it is none.
    resource_version: u64,
}

impl Stored {
    fn new(object: &Object) -> Self {
        Self {
            bytes: serde_json::to_vec(object).unwrap_or_default().into_boxed_slice(),
            uid: object.uid().into(),
            primary_uid: primary_uid_of(object).map(Into::into),
            resource_version: version(object),
        }
    }

    /// Whether this is the same state of the same object, or a later one.
    fn knows(&self, other: &Self) -> bool {
        self.uid == other.uid
            && (self.resource_version > other.resource_version
                || (self.resource_version == other.resource_version && other.resource_version > 0))
    }

    fn object(&self) -> Object {
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }
}

fn version(object: &Object) -> u64 {
    object.resource_version().parse().unwrap_or_default()
}

fn place(object: &Object) -> Place {
    (object.namespace().map(Into::into), object.name().into())
}

impl Cache {
    pub(super) fn put(&mut self, object: Object, note: &mut Note<'_>) {
        let place = place(&object);
        let stored = Stored::new(&object);
        let before = self.objects.get(&place);
        if before.is_some_and(|before| before.knows(&stored)) {
            return;
        }
        let old = before.map(Stored::object);
        self.unindex(&place);
        self.by_name.entry(place.1.clone()).or_default().insert(place.clone());
        self.by_uid.insert(stored.uid.clone(), place.clone());
        if let Some(uid) = &stored.primary_uid {
            self.by_primary.entry(uid.clone()).or_default().insert(place.clone());
        }
        self.objects.insert(place, stored);
        note(old, Some(object));
    }

    pub(super) fn remove(&mut self, object: &Object, note: &mut Note<'_>) {
        let place = place(object);
        let stale = self
            .objects
            .get(&place)
            .is_none_or(|stored| stored.uid != object.uid() || stored.resource_version > version(object));
        if !stale {
            self.drop_at(&place, note);
        }
    }

    pub(super) fn replace(&mut self, objects: Vec<Object>, note: &mut Note<'_>) {
        let listed: BTreeSet<Place> = objects.iter().map(place).collect();
        let gone: Vec<Place> = self
            .objects
            .keys()
            .filter(|place| !listed.contains(place))
            .cloned()
            .collect();
        for place in gone {
            self.drop_at(&place, note);
        }
        for object in objects {
            self.put(object, note);
        }
        self.listed = true;
        self.trouble = None;
    }

    pub(super) fn get(&self, namespace: Option<&str>, name: &str) -> Option<Object> {
        self.objects
            .get(&(namespace.map(Into::into), name.into()))
            .map(Stored::object)
    }

    pub(super) fn by_uid(&self, uid: &str) -> Option<Object> {
        self.objects.get(self.by_uid.get(uid)?).map(Stored::object)
    }

    pub(super) fn by_primary_uid(&self, uid: &str) -> Vec<Object> {
        let places = self.by_primary.get(uid).into_iter().flatten();
        places
            .filter_map(|place| self.objects.get(place))
            .map(Stored::object)
            .collect()
    }

    pub(super) fn all(&self) -> Vec<Object> {
        self.objects.values().map(Stored::object).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn select(&self, query: &Query) -> (Vec<Object>, bool) {
        let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
        let mut found: Vec<Object> = match &query.selection.name {
            Some(name) => {
                let places = self.by_name.get(name).into_iter().flatten();
                let stored = places.filter_map(|place| self.objects.get(place));
                matching(stored, query, limit)
            }
            None => matching(self.objects.values(), query, limit),
        };
        let more = found.len() > limit;
        found.truncate(limit);
        (found, more)
    }

    fn drop_at(&mut self, place: &Place, note: &mut Note<'_>) {
        self.unindex(place);
        if let Some(stored) = self.objects.remove(place) {
            note(Some(stored.object()), None);
        }
    }

    fn unindex(&mut self, place: &Place) {
        let Some(stored) = self.objects.get(place) else { return };
        self.by_uid.remove(&stored.uid);
        take_out(&mut self.by_name, &place.1, place);
        if let Some(uid) = &stored.primary_uid {
            take_out(&mut self.by_primary, uid, place);
        }
    }
}

/// The matching objects, one more than the limit at most, so that the caller can tell whether there are more.
fn matching<'a>(stored: impl Iterator<Item = &'a Stored>, query: &Query, limit: usize) -> Vec<Object> {
    let matcher = Matcher::new(query);
    stored
        .map(Stored::object)
        .filter(|object| matcher.matches(object))
        .take(limit.saturating_add(1))
        .collect()
}

fn take_out(index: &mut HashMap<String, BTreeSet<Place>>, key: &str, place: &Place) {
    if let Some(places) = index.get_mut(key) {
        places.remove(place);
        if places.is_empty() {
            index.remove(key);
        }
    }
}
