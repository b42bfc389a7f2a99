//! Is what one Reconciler runs: a guest with everything that its decisions depend on, never changed, only replaced.

use super::Watched;
use crate::api::Claim;
use crate::cluster::WatchKey;
use crate::decide::Decide;
use crate::guest::Limits;
use crate::store::Store;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use windlass_core::breaker::Breaker;
use windlass_core::canonical::IntentKey;
use windlass_core::change::{Change, Dependencies, is_echo, primary_uid_of};
use windlass_core::check::OutcomeLimits;
use windlass_core::contest::Contests;
use windlass_core::decision::Query;
use windlass_core::key::PrimaryName;
use windlass_core::key::{Key, ReconcilerId};
use windlass_core::kind::KindRef;
use windlass_core::manifest::Manifest;
use windlass_core::object::Object;
use windlass_core::policy::{FinalizeFailures, Policy};
use windlass_core::schema::Served;
use windlass_core::write::{Actor, Target, Write};

/// A guest in use.
///
/// Guarantees: a decision holds one activation from its start to its end, so that a swap mixes no versions.
pub struct Activation {
    /// Whose it is.
    pub id: ReconcilerId,
    /// As whom it reads and writes.
    pub actor: Actor,
    /// sha256 of the module.
    pub digest: String,
    /// Whether the module imports nothing but the contract.
    pub strict: bool,
    /// What the module said about itself.
    pub manifest: Manifest,
    /// Takes the decisions.
    pub guest: Arc<dyn Decide>,
    /// What every decision is told.
    pub settings: Value,
    /// Which primaries are its own.
    pub claim: Claim,
    /// How the kind of the primaries is served.
    pub served: Served,
    /// Declared optional kinds that are not served.
    pub not_served: Vec<KindRef>,
    /// Where everything is found.
    pub watched: Watched,
    /// Namespaces of its primaries; one none for all of them.
    pub namespaces: Vec<Option<String>>,
    /// The host's key for seeds, if the guest needs seeds.
    pub seed_key: Option<Vec<u8>>,
    /// Hashes what was applied; of no use for a guest that makes no Secrets.
    pub intent_key: IntentKey,
    /// Which primaries wait for what. Fresh with every activation, since each primary is decided again then.
    pub dependencies: Mutex<Dependencies>,
    /// What one decision may use.
    pub limits: Limits,
    /// What one decision may come to.
    pub outcome_limits: OutcomeLimits,
    /// What the spec says about primaries and children.
    pub policy: Policy,
    /// How often `finalize` failed, by primary and its uid. Fresh with every activation: another module, or other settings,
    /// may do better.
    pub(crate) unfinalized: Mutex<HashMap<PrimaryName, (String, FinalizeFailures)>>,
    /// What the guest's faults have come to. Fresh with every activation, for the same reason.
    pub(crate) breaker: Mutex<Breaker>,
    /// Which children are put right again and again. Fresh with every activation, since another module may leave alone what this
    /// one fights over.
    pub(crate) contests: Mutex<Contests>,
    /// Namespaces that take nothing new, and when they said so since the host's start.
    pub(crate) ending: Mutex<HashMap<String, Duration>>,
    /// Writes that are under way, by the primary they are for.
    pub(crate) writes: Mutex<HashMap<PrimaryName, Write>>,
    /// When it was taken up.
    pub since: Instant,
    /// Set when its Reconciler is being deleted: no decision begins any more.
    pub leaving: AtomicBool,
}

impl Activation {
    /// Lets no decision begin any more.
    pub fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// Whether no decision begins any more.
    pub fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    /// The keys that a change of one of its watches concerns.
    pub fn woken_by(&self, store: &Store, watch: &WatchKey, change: &Change) -> Vec<Key> {
        let mut keys = Vec::new();
        if self.watched.primaries.contains(watch) {
            let object = change.new.as_ref().or(change.old.as_ref());
            keys.extend(object.map(|object| self.key(PrimaryName::of(object))));
        }
        if self.watched.children.contains(watch) {
            keys.extend(
                self.primaries_of(store, change)
                    .map(|primary| self.key(PrimaryName::of(&primary))),
            );
        }
        if self.watched.reads.contains(watch) {
            keys.extend(
                self.dependencies(|all| all.woken_by(change))
                    .into_iter()
                    .map(|name| self.key(name)),
            );
        }
        keys
    }

    /// Takes down what a decision asked: from now on a change of any answer wakes the primary.
    pub fn depend(&self, primary: PrimaryName, queries: Vec<Query>) {
        self.dependencies(|all| all.replace(primary, queries));
    }

    /// Forgets a primary that is gone.
    pub fn forget(&self, primary: &PrimaryName) {
        self.dependencies(|all| all.forget(primary));
        self.failures().remove(primary);
    }

    /// How often `finalize` failed in a row for a primary.
    pub(crate) fn finalize_failures(&self, primary: &PrimaryName, uid: &str) -> FinalizeFailures {
        match self.failures().get(primary) {
            Some((of, failures)) if of == uid => failures.clone(),
            _ => FinalizeFailures::default(),
        }
    }

    /// Remembers how often it has by now.
    pub(crate) fn note_finalize_failures(&self, primary: &PrimaryName, uid: &str, failures: FinalizeFailures) {
        self.failures().insert(primary.clone(), (uid.into(), failures));
    }

    /// Says that a write of a primary's decision is under way. There is one at a time, since a key runs once at a time.
    pub(crate) fn begin_write(&self, primary: PrimaryName, write: Write) {
        self.under_way().insert(primary, write);
    }

    /// Says that it has ended, whichever way.
    pub(crate) fn end_write(&self, primary: &PrimaryName) {
        self.under_way().remove(primary);
    }

    /// Whether a change shows nothing but the write that is under way for a primary.
    pub(crate) fn is_own_write(&self, primary: &PrimaryName, change: &Change) -> bool {
        let under_way = self.under_way();
        let (Some(write), Some(new)) = (under_way.get(primary), &change.new) else {
            return false;
        };
        new.reference() == write.target.reference() && is_echo(write, change)
    }

    /// The watch that holds a target of this guest's writes.
    pub fn watch_of(&self, target: &Target) -> Option<&WatchKey> {
        if target.kind == self.manifest.primary.kind {
            return self.watched.primary(target.namespace.as_deref());
        }
        self.watched.child(&target.kind.of, target.namespace.as_deref())
    }

    /// What the guest's faults have come to.
    pub(crate) fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which children are put right again and again.
    pub(crate) fn contests(&self) -> MutexGuard<'_, Contests> {
        self.contests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Namespaces that take nothing new.
    pub(crate) fn ending(&self) -> MutexGuard<'_, HashMap<String, Duration>> {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failures(&self) -> MutexGuard<'_, HashMap<PrimaryName, (String, FinalizeFailures)>> {
        self.unfinalized.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<PrimaryName, Write>> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every primary there is.
    pub fn primaries(&self, store: &Store) -> Vec<Object> {
        self.watched.primaries.iter().flat_map(|key| store.all(key)).collect()
    }

    /// The key of a primary.
    pub fn key(&self, primary: PrimaryName) -> Key {
        Key {
            reconciler: self.id.clone(),
            namespace: primary.namespace,
            name: primary.name,
        }
    }

    fn primaries_of<'a>(&'a self, store: &'a Store, change: &'a Change) -> impl Iterator<Item = Object> + 'a {
        let children = change.old.iter().chain(change.new.iter());
        let mut uids: Vec<&str> = children.filter_map(primary_uid_of).collect();
        uids.dedup();
        uids.into_iter()
            .filter_map(|uid| self.watched.primaries.iter().find_map(|key| store.by_uid(key, uid)))
    }

    fn dependencies<T>(&self, with: impl FnOnce(&mut Dependencies) -> T) -> T {
        with(&mut self.dependencies.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
