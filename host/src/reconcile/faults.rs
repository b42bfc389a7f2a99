//! Pauses a guest that faults on one primary after the other, and lets it go on once it succeeds.

use crate::host::Host;
use crate::running::Activation;
use std::time::Instant;
use windlass_core::breaker::{PAUSES, Turn};
use windlass_core::decision::Decided;
use windlass_core::key::PrimaryName;

/// Takes down how a decision ended that `began` then. A primary that did not fail before waits at most for the first delay,
/// however long the pause: nobody is to be kept waiting by what others made.
pub(super) fn account(host: &Host, activation: &Activation, primary: &PrimaryName, decided: &Decided, began: Instant) {
    let id = &activation.id;
    let now = host.started.elapsed();
    let began = now.saturating_sub(began.elapsed());
    let mut breaker = activation.breaker();
    let went_on = !breaker.is_paused();
    match breaker.note(primary, decided, began, now, host.jitter()) {
        Turn::Unchanged => return,
        Turn::Pause(delay) => {
            host.decisions.pause(id, PAUSES.first, delay);
            host.metrics.pauses.inc();
            if went_on {
                tracing::warn!(reconciler = %id, %primary, "the guest is paused: it faulted on one primary after the other");
            }
        }
        Turn::Resume => {
            host.decisions.resume(id);
            tracing::info!(reconciler = %id, %primary, "the guest is not paused any more: it succeeded");
        }
    }
    if went_on == breaker.is_paused() {
        host.settling.add(id.clone());
    }
}
