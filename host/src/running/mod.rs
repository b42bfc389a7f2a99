//! Keeps what runs for each Reconciler, and how its primaries stand.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use windlass_core::key::{PrimaryName, ReconcilerId};

mod activation;
mod watched;
mod tally;
mod slot;

pub use activation::Activation;
pub(crate) use slot::{Described, Fetched, Slot};
pub use tally::{Standing, Tally};
pub use watched::Watched;

/// What runs for each Reconciler.
#[derive(Default)]
pub struct Running {
    /// What decisions use. Replaced whole by a swap; a decision that has begun keeps its own.
    active: RwLock<HashMap<ReconcilerId, Arc<Activation>>>,
    /// What settling remembers between its runs. Taken out while it runs, of which there is one at a time per id.
    slots: Mutex<HashMap<ReconcilerId, Slot>>,
    tallies: Mutex<HashMap<ReconcilerId, Tally>>,
}

impl Running {
    /// What runs for a Reconciler.
    pub fn active(&self, id: &ReconcilerId) -> Option<Arc<Activation>> {
        self.active
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(id)
            .cloned()
    }

    /// How many Reconcilers have a module that runs.
    pub fn active_count(&self) -> usize {
        self.active.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Notes how a primary stands after a decision; gives what was noted before.
    pub fn note(&self, id: &ReconcilerId, primary: PrimaryName, standing: Standing) -> Option<Standing> {
        self.tally(id, |tally| tally.note(primary, standing))
    }

    /// Remembers which primary failed last, and when.
    pub fn note_failure(&self, id: &ReconcilerId, primary: PrimaryName, time: String) {
        self.tally(id, |tally| tally.failed(primary, time));
    }

    /// Forgets a primary that went.
    pub fn forget_primary(&self, id: &ReconcilerId, primary: &PrimaryName) {
        self.tally(id, |tally| tally.forget(primary));
    }

    /// How each primary stands that was decided about, by name.
    pub fn standings(&self, id: &ReconcilerId) -> Vec<(String, Standing)> {
        self.tally(id, |tally| tally.standings())
    }

    pub(crate) fn tally<T>(&self, id: &ReconcilerId, with: impl FnOnce(&mut Tally) -> T) -> T {
        with(
            self.tallies
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .entry(id.clone())
                .or_default(),
        )
    }

    pub(crate) fn activate(&self, activation: Arc<Activation>) {
        let mut active = self.active.write().unwrap_or_else(PoisonError::into_inner);
        active.insert(activation.id.clone(), activation);
    }

    pub(crate) fn deactivate(&self, id: &ReconcilerId) -> Option<Arc<Activation>> {
        self.active.write().unwrap_or_else(PoisonError::into_inner).remove(id)
    }

    pub(crate) fn take_slot(&self, id: &ReconcilerId) -> Slot {
        self.slots
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(id)
            .unwrap_or_default()
    }

    pub(crate) fn put_slot(&self, id: &ReconcilerId, slot: Slot) {
        self.slots
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id.clone(), slot);
    }

    pub(crate) fn forget(&self, id: &ReconcilerId) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}
