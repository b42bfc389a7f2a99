//! Turns what a watch brought into keys: the arrow from change to queue.

use crate::cluster::WatchKey;
use crate::control;
use crate::host::Host;
use crate::store::Sync;
use crate::store::watches::{Observe, User};
use std::sync::Weak;
use windlass_core::change::{Change, is_echo};
use windlass_core::key::Key;
use windlass_core::object::Object;
use windlass_core::write::Write;

/// Routes changes to the queues of a host.
pub struct Router {
    host: Weak<Host>,
}

impl Router {
    /// Makes a router; it routes nothing once its host is gone.
    pub fn new(host: Weak<Host>) -> Self {
        Self { host }
    }
}

impl Observe for Router {
    fn changed(&self, key: &WatchKey, changes: Vec<Change>) {
        if let Some(host) = self.host.upgrade() {
            route(&host, key, &changes, None);
        }
    }

    fn synced(&self, key: &WatchKey) {
        let Some(host) = self.host.upgrade() else { return };
        tell(key, &host.store.sync(key));
        for user in host.watches.users(key) {
            match user {
                User::Host => control::synced(&host, key),
                User::Reconciler(id) => host.settling.add(id),
            }
        }
    }
}

/// Read your writes: what came back is what the store says until the watch has caught up. The writer is woken only by what
/// others did in the meantime.
pub fn lay_over(host: &Host, watch: &WatchKey, write: &Write, object: Object, writer: &Key) {
    let changes = host.store.overlay(watch, object);
    let is_echo = changes.iter().all(|change| is_echo(write, change));
    route(host, watch, &changes, is_echo.then_some(writer));
}

/// Says once when a watch breaks, and once when it stands.
fn tell(key: &WatchKey, sync: &Sync) {
    let namespace = key.namespace.as_deref().unwrap_or("all");
    match sync {
        Sync::Waiting(Some(trouble)) | Sync::Synced(Some(trouble)) => {
            tracing::warn!(kind = %key.kind, namespace, "cannot be watched, and is tried again: {trouble}");
        }
        Sync::Synced(None) => tracing::info!(kind = %key.kind, namespace, "watched"),
        Sync::Waiting(None) | Sync::Closed => {}
    }
}

/// Queues whatever these changes of a watch concern. `writer` made them itself and is not woken by their echo; every
/// other primary is, also one of the same Reconciler.
///
/// A change that leaves the projection as it was wakes no Reconciler; the host looks at it, since the bytes of a module
/// change without a change of what is watched of their ConfigMap.
pub fn route(host: &Host, key: &WatchKey, changes: &[Change], writer: Option<&Key>) {
    let visible: Vec<&Change> = changes.iter().filter(|change| change.is_visible()).collect();
    for user in host.watches.users(key) {
        match user {
            User::Host => control::changed(host, key, changes),
            User::Reconciler(id) => {
                let Some(activation) = host.running.active(&id) else {
                    continue;
                };
                for change in &visible {
                    let woken = activation.woken_by(&host.store, key, change);
                    for key in woken.into_iter().filter(|key| writer != Some(key)) {
                        // An answer laid over the store was looked at as a whole by its writer.
                        if writer.is_some() || !activation.is_own_write(&key.primary(), change) {
                            host.decisions.add(key);
                        }
                    }
                }
                if activation.watched.primaries.contains(key) {
                    host.note_primaries(&activation, &visible);
                }
            }
        }
    }
}
