//! Looks at what own writes went to that had no answer, before anything is decided again.

use crate::cluster::ReadError;
use crate::host::Host;
use crate::router::route;
use crate::running::Activation;
use windlass_core::key::Key;
use windlass_core::selector::Selector;

/// Lays over the store what is there by now of objects in doubt. A write whose answer never came may have been done, and its
/// watch may be as slow as the answer.
///
/// # Errors
/// Where one of them cannot be looked at; it stays in doubt.
pub(super) async fn look(host: &Host, activation: &Activation, key: &Key) -> Result<(), ReadError> {
    let primary = key.primary();
    for target in host.running.tally(&activation.id, |tally| tally.doubts(&primary)) {
        let live = host.cluster.get(&target).await?;
        if let (Some(live), Some(watch)) = (live, activation.watch_of(&target)) {
            // A stranger of that name is none of what this watch holds.
            let is_held = Selector::parse(&watch.selector).is_ok_and(|selector| selector.matches(&live));
            if is_held {
                let changes = host.store.overlay(watch, live);
                route(host, watch, &changes, Some(key));
            }
        }
        host.running
            .tally(&activation.id, |tally| tally.looked_at(&primary, &target));
    }
    Ok(())
}
