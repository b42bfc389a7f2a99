//! Remembers of one Reconciler what its steps came to, so that a step whose inputs are the same is not repeated.

use super::halt::Halt;
use crate::api::{ConfigMapSource, Refused};
use crate::guest::{Limits, Module};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;
use windlass_core::key::ReconcilerId;
use windlass_core::manifest::Manifest;
use windlass_core::report::EventNote;
use windlass_core::rights::Access;
use windlass_core::write::Identity;

/// What settling remembers of every Reconciler.
#[derive(Default)]
pub struct Slots {
    /// Taken out while a Reconciler is settled, which happens once at a time.
    slots: Mutex<HashMap<ReconcilerId, Slot>>,
    /// The ConfigMaps that a source was read from.
    sources: Mutex<HashMap<ReconcilerId, BTreeSet<String>>>,
    /// Those whose status says what this host knows of them.
    settled: Mutex<BTreeSet<ReconcilerId>>,
    /// Those of whose rights a decision has met the end.
    refused_rights: Mutex<BTreeSet<ReconcilerId>>,
    /// What was said on a ConfigMap, by its uid, so that it is not said at each look.
    told: Mutex<HashMap<ReconcilerId, (String, String)>>,
    /// What is still to be said of a Reconciler in an Event that was written too lately, by its reason.
    owed: Mutex<HashMap<ReconcilerId, BTreeMap<String, EventNote>>>,
}

impl Slots {
    /// Whether the source of a Reconciler was read from this ConfigMap of its namespace.
    pub fn reads(&self, id: &ReconcilerId, config_map: &str) -> bool {
        lock(&self.sources)
            .get(id)
            .is_some_and(|names| names.contains(config_map))
    }

    /// Whether the status of a Reconciler says what this host knows, not what the one before it knew.
    pub(super) fn is_settled(&self, id: &ReconcilerId) -> bool {
        lock(&self.settled).contains(id)
    }

    pub(super) fn note_settled(&self, id: &ReconcilerId) {
        lock(&self.settled).insert(id.clone());
    }

    /// Whether this was not said about the object yet; it counts as said from now on.
    pub(super) fn is_news(&self, id: &ReconcilerId, uid: &str, note: &str) -> bool {
        let now = (uid.to_owned(), note.to_owned());
        lock(&self.told).insert(id.clone(), now.clone()) != Some(now)
    }

    /// Takes down that something is still to be said of a Reconciler.
    pub(super) fn owe(&self, id: &ReconcilerId, event: EventNote) {
        let mut owed = lock(&self.owed);
        owed.entry(id.clone()).or_default().insert(event.reason.clone(), event);
    }

    /// What is still to be said of a Reconciler; it counts as said from now on.
    pub(super) fn take_owed(&self, id: &ReconcilerId) -> Vec<EventNote> {
        let owed = lock(&self.owed).remove(id).unwrap_or_default();
        owed.into_values().collect()
    }

    /// Forgets what was said about an object that is gone.
    pub(super) fn untold(&self, id: &ReconcilerId) {
        lock(&self.told).remove(id);
    }

    /// Takes down that a decision of a Reconciler was not allowed something, so that its rights are asked for again.
    pub fn note_a_no(&self, id: &ReconcilerId) {
        lock(&self.refused_rights).insert(id.clone());
    }

    /// Whether there was such a decision since this was asked last.
    pub(super) fn met_a_no(&self, id: &ReconcilerId) -> bool {
        lock(&self.refused_rights).remove(id)
    }

    pub(super) fn note_source(&self, id: &ReconcilerId, names: BTreeSet<String>) {
        lock(&self.sources).insert(id.clone(), names);
    }

    pub(super) fn take(&self, id: &ReconcilerId) -> Slot {
        lock(&self.slots).remove(id).unwrap_or_default()
    }

    pub(super) fn put(&self, id: &ReconcilerId, slot: Slot) {
        lock(&self.slots).insert(id.clone(), slot);
    }

    pub(super) fn forget(&self, id: &ReconcilerId) {
        lock(&self.slots).remove(id);
        lock(&self.sources).remove(id);
        lock(&self.settled).remove(id);
        lock(&self.refused_rights).remove(id);
        lock(&self.owed).remove(id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What settling remembers of one Reconciler between its runs.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) fetched: Option<Fetched>,
    /// By digest: the module of the source, and the one that runs.
    pub(super) loaded: BTreeMap<String, Loaded>,
    /// What was refused, with the settings and limits it was refused with: equal ones are refused again without a try.
    pub(super) refused: Option<(String, Value, Limits, Refused)>,
}

/// A module, and what the steps after loading came to.
pub(super) struct Loaded {
    pub(super) module: Arc<Module>,
    /// What it said about itself under which settings.
    pub(super) described: Option<(Value, Manifest)>,
    /// The rights that an account was found to have, and until when that is believed.
    pub(super) granted: Option<(Identity, Vec<Access>, Instant)>,
}

/// What was fetched last, without its bytes.
pub(super) struct Fetched {
    /// What was asked for.
    pub(super) source: ConfigMapSource,
    /// Uid and resourceVersion of every ConfigMap that was looked at, none for one that was not there.
    pub(super) versions: BTreeMap<String, Option<(String, String)>>,
    /// What it came to.
    pub(super) outcome: Result<Held, Halt>,
}

/// What a source holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Held {
    /// sha256 of the module.
    pub(super) digest: String,
    /// The settings that lie beside it, or what is wrong with them.
    pub(super) beside: Result<Option<Map<String, Value>>, Refused>,
}
