//! Makes sure that the values of Secrets can be hidden before any watch brings one.

use super::halt::{Gate, Halt};
use crate::host::Host;
use crate::running::Watched;
use crate::store::ValueKey;
use windlass_core::reason::Reason;
use windlass_core::secrets::{is_secret, shows_values};

/// Gives the store what it hides values with, if any of these watches shows some.
///
/// # Errors
/// If the host's key cannot be had: nothing is watched then.
pub(super) async fn hide(host: &Host, watched: &Watched) -> Result<(), Halt> {
    let shows = |key: &crate::cluster::WatchKey| is_secret(&key.kind) && shows_values(&key.projection);
    if !watched.keys().iter().any(shows) {
        return Ok(());
    }
    let key = host.seed_key().await;
    let key = key.map_err(|message| Halt::waiting(Gate::Synced, Reason::ClusterUnavailable, message))?;
    host.store.hide_values_with(ValueKey::derive(&key));
    Ok(())
}
