//! Keeps what runs for each Reconciler, and how its primaries stand.

use crate::api::Claim;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use windlass_core::key::{PrimaryName, ReconcilerId};

mod activation;
mod watched;
mod tally;

pub use activation::Activation;
pub use tally::{Standing, Tally};
pub use watched::Watched;

/// What runs for each Reconciler.
#[derive(Default)]
pub struct Running {
    /// What decisions use. Replaced whole by a swap; a decision that has begun keeps its own.
    active: RwLock<HashMap<ReconcilerId, Arc<Activation>>>,
    /// Which primaries are whose, also while the module that is to take care of them waits for its turn.
    claims: Mutex<HashMap<ReconcilerId, Claim>>,
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

    /// The digests of all modules that run.
    pub fn digests(&self) -> BTreeSet<String> {
        let active = self.active.read().unwrap_or_else(PoisonError::into_inner);
        active.values().map(|activation| activation.digest.clone()).collect()
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

    /// Lets an activation take the decisions from now on; gives the one that did before.
    pub(crate) fn activate(&self, activation: Arc<Activation>) -> Option<Arc<Activation>> {
        let mut active = self.active.write().unwrap_or_else(PoisonError::into_inner);
        active.insert(activation.id.clone(), activation)
    }

    /// Takes a claim down, and gives all that are held now. The decision which of two wins is the caller's: both are seen
    /// by whichever comes second.
    pub(crate) fn claim(&self, id: &ReconcilerId, claim: Claim) -> HashMap<ReconcilerId, Claim> {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims.insert(id.clone(), claim);
        claims.clone()
    }

    /// Gives a claim back; true if there was one.
    pub(crate) fn unclaim(&self, id: &ReconcilerId) -> bool {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims.remove(id).is_some()
    }

    pub(crate) fn deactivate(&self, id: &ReconcilerId) -> Option<Arc<Activation>> {
        self.active.write().unwrap_or_else(PoisonError::into_inner).remove(id)
    }

    pub(crate) fn forget(&self, id: &ReconcilerId) {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}
