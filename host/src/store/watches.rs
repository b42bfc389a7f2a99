//! Opens each watch once however many need it, and closes it when nobody does.

use super::Store;
use crate::cluster::{Cluster, WatchKey};
use futures::StreamExt;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::task::JoinHandle;
use windlass_core::change::Change;
use windlass_core::key::ReconcilerId;

/// Whoever is told what a watch brought.
pub trait Observe: Send + Sync + 'static {
    /// Some objects changed.
    fn changed(&self, key: &WatchKey, changes: Vec<Change>);

    /// A watch was listed, broke or mended; its state is in the store.
    fn synced(&self, key: &WatchKey);
}

/// The watches that are open.
pub struct Watches {
    cluster: Arc<dyn Cluster>,
    store: Arc<Store>,
    observer: OnceLock<Arc<dyn Observe>>,
    open: Mutex<HashMap<WatchKey, Open>>,
}

/// Somebody who needs watches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum User {
    /// The host itself: Reconcilers, sources, accounts and CRDs.
    Host,
    /// A Reconciler: its primaries, children and reads.
    Reconciler(ReconcilerId),
}

struct Open {
    users: BTreeSet<User>,
    task: JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watches {
    /// Makes an empty set of watches on a cluster, which fill a store.
    pub fn new(cluster: Arc<dyn Cluster>, store: Arc<Store>) -> Self {
        Self {
            cluster,
            store,
            observer: OnceLock::new(),
            open: Mutex::new(HashMap::new()),
        }
    }

    /// Says who is told from now on what watches bring; only the first one who asks is.
    pub fn observed_by(&self, observer: Arc<dyn Observe>) {
        self.observer.get_or_init(|| observer);
    }

    /// Says which watches a user needs from now on: opens what is missing, closes what nobody needs any more.
    pub fn require(&self, user: &User, keys: &BTreeSet<WatchKey>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for key in keys {
            let entry = open.entry(key.clone()).or_insert_with(|| {
                self.store.open(key);
                Open {
                    users: BTreeSet::new(),
                    task: self.follow(key.clone()),
                }
            });
            entry.users.insert(user.clone());
        }
        open.retain(|key, entry| {
            if !keys.contains(key) {
                entry.users.remove(user);
            }
            let needed = !entry.users.is_empty();
            if !needed {
                self.store.close(key);
            }
            needed
        });
    }

    /// Who uses a watch.
    pub fn users(&self, key: &WatchKey) -> Vec<User> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.get(key)
            .map(|entry| entry.users.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// Every open watch.
    pub fn keys(&self) -> Vec<WatchKey> {
        self.open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .keys()
            .cloned()
            .collect()
    }

    /// Closes everything.
    pub fn close(&self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn follow(&self, key: WatchKey) -> JoinHandle<()> {
        let store = Arc::clone(&self.store);
        let observer = self.observer.get().cloned();
        let mut events = self.cluster.watch(key.clone());
        tokio::spawn(async move {
            while let Some(event) = events.next().await {
                let before = store.sync(&key);
                let changes = store.take(&key, event);
                let Some(observer) = &observer else { continue };
                if !changes.is_empty() {
                    observer.changed(&key, changes);
                }
                if store.sync(&key) != before {
                    observer.synced(&key);
                }
            }
        })
    }
}
