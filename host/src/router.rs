//! Turns what a watch brought into keys: the arrow from change to queue.

use crate::cluster::WatchKey;
use crate::control;
use crate::host::Host;
use crate::store::watches::{Observe, User};
use std::sync::Weak;
use windlass_core::change::Change;
use windlass_core::key::ReconcilerId;

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
        for user in host.watches.users(key) {
            match user {
                User::Host => control::synced(&host, key),
                User::Reconciler(id) => host.settling.add(id),
            }
        }
    }
}

/// Queues whatever these changes of a watch concern. `writer` made them itself and is not woken by their echo.
///
/// A change that leaves the projection as it was wakes no Reconciler; the host looks at it, since the bytes of a module
/// change without a change of what is watched of their ConfigMap.
pub fn route(host: &Host, key: &WatchKey, changes: &[Change], writer: Option<&ReconcilerId>) {
    let visible: Vec<&Change> = changes.iter().filter(|change| change.is_visible()).collect();
    for user in host.watches.users(key) {
        match user {
            User::Host => control::changed(host, key, changes),
            User::Reconciler(id) if writer == Some(&id) => {}
            User::Reconciler(id) => {
                let Some(activation) = host.reconcilers.active(&id) else {
                    continue;
                };
                for change in &visible {
                    for key in activation.woken_by(&host.store, key, change) {
                        host.decisions.add(key);
                    }
                }
                if activation.watched.primaries.contains(key) {
                    host.reconcilers.note_primaries(host, &activation, &visible);
                }
            }
        }
    }
}
