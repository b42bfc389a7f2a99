//! Keeps for each Reconciler what runs, and brings it to what its spec and its source say.

use crate::host::Host;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use windlass_core::change::Change;
use windlass_core::key::PrimaryName;
use windlass_core::key::ReconcilerId;

mod settle;
mod steps;
mod source;
mod drop_in;
mod consent;
mod secrets;
mod watched;
mod activation;
mod tally;
mod status;
mod release;

pub use activation::Activation;
pub use settle::settle;
pub use tally::{Standing, Tally};
pub use watched::Watched;

/// How soon after a decision the counts on the Reconciler follow; many decisions make one write.
const COUNTS_DELAY: Duration = Duration::from_secs(1);

/// What runs for each Reconciler.
#[derive(Default)]
pub struct Reconcilers {
    /// What decisions use. Replaced whole by a swap; a decision that has begun keeps its own.
    active: RwLock<HashMap<ReconcilerId, Arc<Activation>>>,
    /// What settling remembers between its runs. Taken out while it runs, of which there is one at a time per id.
    slots: Mutex<HashMap<ReconcilerId, steps::Slot>>,
    tallies: Mutex<HashMap<ReconcilerId, Tally>>,
}

impl Reconcilers {
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
    pub fn note(&self, host: &Host, id: &ReconcilerId, primary: PrimaryName, standing: &Standing) -> Option<Standing> {
        let before = self.tally(id, |tally| tally.note(primary, standing.clone()));
        if before.as_ref() != Some(standing) {
            host.settling.add_after(id.clone(), COUNTS_DELAY);
        }
        before
    }

    /// Remembers which primary failed last, and when.
    pub fn note_failure(&self, id: &ReconcilerId, primary: PrimaryName, time: String) {
        self.tally(id, |tally| tally.failed(primary, time));
    }

    /// Forgets the primaries that went, and lets the counts follow.
    pub fn note_primaries(&self, host: &Host, activation: &Activation, changes: &[&Change]) {
        let mut moved = false;
        for change in changes {
            if let (Some(old), None) = (&change.old, &change.new) {
                self.tally(&activation.id, |tally| tally.forget(&PrimaryName::of(old)));
            }
            moved |= change.old.is_none() || change.new.is_none();
        }
        if !moved {
            return;
        }
        host.settling.add_after(activation.id.clone(), COUNTS_DELAY);
    }

    /// How each primary stands that was decided about, by name.
    pub fn standings(&self, id: &ReconcilerId) -> Vec<(String, Standing)> {
        self.tally(id, |tally| tally.standings())
    }

    fn tally<T>(&self, id: &ReconcilerId, with: impl FnOnce(&mut Tally) -> T) -> T {
        with(
            self.tallies
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .entry(id.clone())
                .or_default(),
        )
    }

    fn activate(&self, activation: Arc<Activation>) {
        let mut active = self.active.write().unwrap_or_else(PoisonError::into_inner);
        active.insert(activation.id.clone(), activation);
    }

    fn deactivate(&self, id: &ReconcilerId) -> Option<Arc<Activation>> {
        self.active.write().unwrap_or_else(PoisonError::into_inner).remove(id)
    }

    fn take_slot(&self, id: &ReconcilerId) -> steps::Slot {
        self.slots
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(id)
            .unwrap_or_default()
    }

    fn put_slot(&self, id: &ReconcilerId, slot: steps::Slot) {
        self.slots
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id.clone(), slot);
    }

    fn forget(&self, id: &ReconcilerId) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}
