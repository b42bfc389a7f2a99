//! Keeps what the watches brought, as compact bytes, and finds it again by name, uid and primary.

use crate::cluster::{WatchEvent, WatchKey};
use cache::Cache;
use std::collections::HashMap;
use std::sync::{OnceLock, PoisonError, RwLock};
use windlass_core::change::Change;
use windlass_core::decision::Query;
use windlass_core::object::Object;
use windlass_core::project;

mod cache;
mod secrets;
pub mod watches;

pub use secrets::ValueKey;

/// Everything that is known of the cluster, by watch.
///
/// Guarantees: an event that is older than what is stored is dropped, so that what an own write returned stays until
/// the watch has caught up (read your writes). No value of a Secret is in it. Every method is short and none waits.
#[derive(Default)]
pub struct Store {
    caches: RwLock<HashMap<WatchKey, Cache>>,
    values: OnceLock<ValueKey>,
}

/// How a watch stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sync {
    /// Nobody has opened it.
    Closed,
    /// Opened, and not listed yet; the last trouble, if any.
    Waiting(Option<String>),
    /// Listed once at least; the trouble it has now, if any.
    Synced(Option<String>),
}

impl Store {
    /// Begins to keep what a watch brings.
    pub fn open(&self, key: &WatchKey) {
        self.write(|caches| {
            caches.entry(key.clone()).or_default();
        });
    }

    /// Forgets a watch and all that it brought.
    pub fn close(&self, key: &WatchKey) {
        self.write(|caches| {
            caches.remove(key);
        });
    }

    /// Takes in one event of a watch; gives what changed by it.
    ///
    /// An event of a closed watch is dropped, and so is one that is older than what is stored.
    pub fn take(&self, key: &WatchKey, event: WatchEvent) -> Vec<Change> {
        let event = self.without_values(key, event);
        self.write(|caches| {
            let Some(cache) = caches.get_mut(key) else {
                return Vec::new();
            };
            let mut changes = Vec::new();
            let of = &key.kind.of;
            let mut note = |old: Option<Object>, new: Option<Object>| {
                changes.push(Change {
                    of: of.clone(),
                    old,
                    new,
                });
            };
            match event {
                WatchEvent::Failed(message) => cache.trouble = Some(message),
                WatchEvent::Applied(object) => cache.put(object, &mut note),
                WatchEvent::Deleted(object) => cache.remove(&object, &mut note),
                WatchEvent::Listed(objects) => cache.replace(objects, &mut note),
            }
            changes
        })
    }

    /// Lays what an own write returned over what is stored; gives the change for whoever else uses this watch.
    pub fn overlay(&self, key: &WatchKey, object: Object) -> Vec<Change> {
        self.take(key, WatchEvent::Applied(project::for_store(object, &key.projection)))
    }

    /// How a watch stands.
    pub fn sync(&self, key: &WatchKey) -> Sync {
        self.read(|caches| match caches.get(key) {
            None => Sync::Closed,
            Some(cache) if cache.listed => Sync::Synced(cache.trouble.clone()),
            Some(cache) => Sync::Waiting(cache.trouble.clone()),
        })
    }

    /// One object by namespace and name.
    pub fn get(&self, key: &WatchKey, namespace: Option<&str>, name: &str) -> Option<Object> {
        self.read(|caches| caches.get(key)?.get(namespace, name))
    }

    /// One object by uid.
    pub fn by_uid(&self, key: &WatchKey, uid: &str) -> Option<Object> {
        self.read(|caches| caches.get(key)?.by_uid(uid))
    }

    /// The children that carry a primary's uid, ordered by namespace and name.
    pub fn by_primary_uid(&self, key: &WatchKey, uid: &str) -> Vec<Object> {
        self.read(|caches| {
            caches
                .get(key)
                .map(|cache| cache.by_primary_uid(uid))
                .unwrap_or_default()
        })
    }

    /// Everything of a watch, ordered by namespace and name.
    pub fn all(&self, key: &WatchKey) -> Vec<Object> {
        self.read(|caches| caches.get(key).map(Cache::all).unwrap_or_default())
    }

    /// The objects that a query asks for, ordered by namespace and name, and whether there are more than its limit.
    pub fn select(&self, key: &WatchKey, query: &Query) -> (Vec<Object>, bool) {
        self.read(|caches| caches.get(key).map(|cache| cache.select(query)).unwrap_or_default())
    }

    /// How many objects a watch holds.
    pub fn len(&self, key: &WatchKey) -> usize {
        self.read(|caches| caches.get(key).map(Cache::len).unwrap_or_default())
    }

    fn read<T>(&self, read: impl FnOnce(&HashMap<WatchKey, Cache>) -> T) -> T {
        read(&self.caches.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, write: impl FnOnce(&mut HashMap<WatchKey, Cache>) -> T) -> T {
        write(&mut self.caches.write().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests;
