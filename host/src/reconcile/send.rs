//! Sends one write of a decision, and keeps its echo from waking the primary again.

use crate::host::Host;
use crate::router::lay_over;
use crate::running::Activation;
use windlass_core::key::PrimaryName;
use windlass_core::object::Object;
use windlass_core::write::{Write, WriteError};

/// Sends a write and lays what came back over the store. After one without an answer none is sent to the same object until it
/// was looked at.
///
/// The watch may bring a write before its answer has come. While it is under way, what shows nothing but this write wakes
/// its primary as little as the answer does.
///
/// # Errors
/// As [`crate::cluster::Cluster::apply`].
pub(super) async fn send(
    host: &Host,
    activation: &Activation,
    primary: &PrimaryName,
    write: &Write,
) -> Result<Option<Object>, WriteError> {
    let doubts = host.running.tally(&activation.id, |tally| tally.doubts(primary));
    if doubts.contains(&write.target) {
        // In this very run: the next one looks first.
        return Err(WriteError::Unanswered("an earlier write had no answer".into()));
    }
    activation.begin_write(primary.clone(), write.clone());
    let outcome = host.cluster.apply(write).await;
    if let Err(WriteError::Unanswered(_)) = &outcome {
        host.running
            .tally(&activation.id, |tally| tally.doubt(primary, &write.target));
    }
    host.metrics.wrote(&write.request, outcome.as_ref().err());
    if let (Ok(Some(object)), Some(watch)) = (&outcome, activation.watch_of(&write.target)) {
        lay_over(host, watch, write, object.clone(), &activation.key(primary.clone()));
    }
    activation.end_write(primary);
    outcome
}
