//! Brings one Reconciler to what its spec and its source say, and writes down how it goes.

use super::steps::{self, Gate, Halt};
use super::{drop_in, release, status};
use crate::api::ReconcilerSpec;
use crate::control;
use crate::host::Host;
use crate::queue::Ended;
use crate::store::watches::User;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::Arc;
use windlass_core::key::ReconcilerId;
use windlass_core::object::Object;
use windlass_core::reason::Reason;

/// Looks at one Reconciler once. Level-triggered: what woke it does not matter, only what is there now.
pub async fn settle(host: &Arc<Host>, id: &ReconcilerId) -> Ended {
    if let Err(error) = drop_in::ensure(host, id).await {
        tracing::warn!(reconciler = %id, "the Reconciler of a drop-in could not be made: {error}");
        return Ended::Failed;
    }
    let Some(reconciler) = host.store.get(&control::reconcilers(), Some(&id.namespace), &id.name) else {
        leave(host, id);
        host.running.forget(id);
        return Ended::Done;
    };
    if reconciler.is_being_deleted() && !release::is_held(&reconciler) {
        leave(host, id);
        return Ended::Done;
    }
    let spec = match spec(&reconciler) {
        Ok(spec) => spec,
        Err(message) => {
            let halt = Halt::watched(Gate::Loaded, Reason::Invalid, message);
            return status::write(host, id, &reconciler, Some(&halt), None).await;
        }
    };
    if spec.suspend && !reconciler.is_being_deleted() {
        leave(host, id);
        return status::write_suspended(host, id, &reconciler).await;
    }
    let mut slot = host.running.take_slot(id);
    let taken = steps::take(host, &reconciler, &spec, &mut slot).await;
    let candidate = slot.fetched.as_ref().map(|fetched| fetched.digest.clone());
    host.running.put_slot(id, slot);
    if reconciler.is_being_deleted() {
        return release::release(host, &reconciler, taken).await;
    }
    let halt = taken.err();
    if halt == Some(Halt::NotYet) {
        return Ended::Done;
    }
    let written = status::write(host, id, &reconciler, halt.as_ref(), candidate.as_deref()).await;
    match halt {
        Some(Halt::Waiting { retry: true, .. }) => Ended::Failed,
        _ => written,
    }
}

/// Takes no more decisions for a Reconciler. Its watches stay, so that it can go on at once.
pub(super) fn stop_deciding(host: &Host, id: &ReconcilerId) {
    if host.running.deactivate(id).is_some() {
        tracing::info!(reconciler = %id, "no decisions are taken any more");
    }
    host.decisions.forget_lane(id);
}

/// Takes no more decisions for a Reconciler and closes what only it watched. Children stay.
pub(super) fn leave(host: &Host, id: &ReconcilerId) {
    stop_deciding(host, id);
    host.watches.require(&User::Reconciler(id.clone()), &BTreeSet::new());
}

fn spec(reconciler: &Object) -> Result<ReconcilerSpec, String> {
    let spec = reconciler.at(&["spec"]).ok_or("the Reconciler has no spec")?;
    ReconcilerSpec::deserialize(spec).map_err(|error| format!("spec cannot be read: {error}"))
}
