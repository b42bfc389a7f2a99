//! Finds out which Reconcilers took care of a primary before, and certainly do so no more.

use crate::control;
use crate::host::Host;
use crate::running::Activation;
use crate::store::Sync;
use windlass_core::key::ReconcilerId;
use windlass_core::names::{LABEL_RECONCILER, LABEL_RECONCILER_NAMESPACE};
use windlass_core::object::Object;

/// Those among the Reconcilers that the objects in the way are marked with.
pub(super) fn of(host: &Host, activation: &Activation, primary: &Object, in_the_way: &[Object]) -> Vec<ReconcilerId> {
    let mut found: Vec<ReconcilerId> = in_the_way.iter().filter_map(marked).collect();
    found.sort();
    found.dedup();
    found.retain(|other| *other != activation.id && cares_no_more(host, other, primary));
    found
}

fn marked(object: &Object) -> Option<ReconcilerId> {
    let namespace = object.label(LABEL_RECONCILER_NAMESPACE)?;
    Some(ReconcilerId::new(namespace, object.label(LABEL_RECONCILER)?))
}

/// It is gone, or what it runs is about other primaries. One that is there and runs nothing may go on at any time.
fn cares_no_more(host: &Host, other: &ReconcilerId, primary: &Object) -> bool {
    let reconcilers = control::reconcilers();
    if host
        .store
        .get(&reconcilers, Some(&other.namespace), &other.name)
        .is_none()
    {
        return host.store.sync(&reconcilers) == Sync::Synced(None);
    }
    host.running.active(other).is_some_and(|active| {
        let kind = &active.manifest.primary.kind.of;
        !kind.same_group_kind(&primary.kind()) || active.watched.primary(primary.namespace()).is_none()
    })
}
