//! Remembers which primaries of one Reconciler wait for which objects.

use super::Change;
use super::index::KindIndex;
use super::matching::Matcher;
use crate::decision::Query;
use crate::key::PrimaryName;
use std::collections::{BTreeMap, BTreeSet};

/// The reverse index of one Reconciler, from what was asked to the primaries that asked.
///
/// # Guarantees
/// A primary is woken exactly by the changes before or after which one of its queries asks about the object. What a
/// change costs grows with the primaries that may be concerned, with the object's labels and with
/// [`Dependencies::scanned`], not with how many primaries there are.
#[derive(Clone, Debug, Default)]
pub struct Dependencies {
    /// One entry per group and kind ever asked about; a guest can only ask about what it declared, so it stays short.
    kinds: BTreeMap<GroupKind, KindIndex>,
    numbers: BTreeMap<PrimaryName, u64>,
    primaries: BTreeMap<u64, Primary>,
    next: u64,
}

/// Objects are served under several versions, but are the same objects.
type GroupKind = (String, String);

#[derive(Clone, Debug)]
struct Primary {
    name: PrimaryName,
    queries: Vec<(GroupKind, Matcher)>,
}

impl Dependencies {
    /// Makes these queries all that the primary waits for.
    pub fn replace(&mut self, primary: PrimaryName, queries: Vec<Query>) {
        let mut read: Vec<(GroupKind, Matcher)> = Vec::with_capacity(queries.len());
        for query in queries {
            let matcher = Matcher::new(&query);
            let entry = ((query.of.group, query.of.kind), matcher);
            if !read.contains(&entry) {
                read.push(entry);
            }
        }
        let number = self.numbers.get(&primary).copied();
        if number
            .and_then(|number| self.primaries.get(&number))
            .is_some_and(|known| known.queries == read)
        {
            return;
        }
        self.forget(&primary);
        if read.is_empty() {
            return;
        }
        let number = self.next;
        self.next += 1;
        for (place, (kind, matcher)) in (0..).zip(&read) {
            self.kinds
                .entry(kind.clone())
                .or_default()
                .insert((number, place), matcher);
        }
        self.numbers.insert(primary.clone(), number);
        self.primaries.insert(
            number,
            Primary {
                name: primary,
                queries: read,
            },
        );
    }

    /// Forgets a primary that is gone.
    pub fn forget(&mut self, primary: &PrimaryName) {
        let Some(known) = self
            .numbers
            .remove(primary)
            .and_then(|number| Some((number, self.primaries.remove(&number)?)))
        else {
            return;
        };
        let (number, Primary { queries, .. }) = known;
        for (place, (kind, matcher)) in (0..).zip(&queries) {
            if let Some(index) = self.kinds.get_mut(kind) {
                index.remove((number, place), matcher);
            }
        }
    }

    /// The primaries that asked about the object as it was or as it is.
    pub fn woken_by(&self, change: &Change) -> BTreeSet<PrimaryName> {
        let mut woken = BTreeSet::new();
        let Some(index) = self.kinds.get(&(change.of.group.clone(), change.of.kind.clone())) else {
            return woken;
        };
        for object in change.old.iter().chain(&change.new) {
            index.candidates(object, &mut |(number, place)| {
                let Some(primary) = self.primaries.get(&number) else {
                    return;
                };
                let query = usize::try_from(place).ok().and_then(|place| primary.queries.get(place));
                if query.is_some_and(|(_, matcher)| matcher.matches(object)) && !woken.contains(&primary.name) {
                    woken.insert(primary.name.clone());
                }
            });
        }
        woken
    }

    /// How many queries can only be found by trying them, at every event of their kind.
    pub fn scanned(&self) -> usize {
        self.kinds.values().map(KindIndex::scanned).sum()
    }

    /// The primaries that wait for anything, in order.
    pub fn primaries(&self) -> impl Iterator<Item = &PrimaryName> {
        self.numbers.keys()
    }
}
