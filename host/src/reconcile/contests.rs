//! Takes down which children are put right again and again, and finds out who changes them.

use crate::host::Host;
use crate::running::Activation;
use windlass_core::contest::blamed;
use windlass_core::managed_fields::{first_lost, owned_by_others};
use windlass_core::object::Object;
use windlass_core::write::{Request, Write};

/// Takes down that a child is about to be put right. The last time for a while, whoever changed it is looked for: by then the
/// store has forgotten what others own.
pub(super) async fn correct(host: &Host, activation: &Activation, write: &Write) {
    let Request::Apply { object, .. } = &write.request else {
        return;
    };
    let now = host.started.elapsed();
    if !activation.contests().correct(object.uid(), now) {
        return;
    }
    let live = host.cluster.get(&write.target).await.ok().flatten();
    let others = live.map(|live| owned_by_others(object, &live, &[&write.manager]));
    let why = blamed(&others.unwrap_or_default());
    tracing::warn!(reconciler = %activation.id, child = %write.target.reference(), "{why}");
    activation.contests().blame(object.uid(), why, now);
}

/// Whether a child came back without a field that was applied; that is taken down.
///
/// Told from managedFields: what the schema or a webhook took out is in nobody's entry.
pub(super) fn is_dropped(host: &Host, activation: &Activation, write: &Write, returned: &Object) -> bool {
    let Request::Apply { object, .. } = &write.request else {
        return false;
    };
    if write.target.kind == activation.manifest.primary.kind {
        return false;
    }
    let mut intent = object.clone();
    // It says which object is meant, and is nobody's.
    intent.metadata_mut().remove("uid");
    let Some(path) = first_lost(&intent, returned, &write.manager) else {
        return false;
    };
    activation
        .contests()
        .dropped(returned.uid(), &path, host.started.elapsed());
    true
}
