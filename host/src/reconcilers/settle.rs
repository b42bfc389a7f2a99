//! Brings one Reconciler to what its spec and its source say, and writes down how it goes.

use super::choose::Candidate;
use super::halt::{Gate, Halt};
use super::slot::Slot;
use super::{approval, choose, claim, drop_in, kept, release, status, steps};
use crate::api::ReconcilerSpec;
use crate::control;
use crate::host::Host;
use crate::queue::Ended;
use crate::running::Activation;
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
        forget(host, id).await;
        return Ended::Done;
    };
    if reconciler.is_being_deleted() {
        return if release::is_held(&reconciler) {
            release::release(host, &reconciler).await
        } else {
            leave(host, id);
            Ended::Done
        };
    }
    let mut spec = match spec(&reconciler) {
        Ok(spec) => spec,
        Err(message) => {
            let halt = Halt::watched(Gate::Loaded, Reason::Invalid, message);
            let outcome = status::Outcome::halted(halt);
            return status::write(host, id, &reconciler, &ReconcilerSpec::default(), &outcome).await;
        }
    };
    if spec.suspend {
        leave(host, id);
        return status::write_suspended(host, id, &reconciler).await;
    }
    if host.running.active(id).is_none() && status::of(&reconciler).prune_held.is_some() {
        host.running.tally(id, |tally| tally.prunes.resume());
    }
    let mut slot = host.slots.take(id);
    let outcome = bring_about(host, &reconciler, &mut spec, &mut slot).await;
    host.slots.put(id, slot);
    if outcome.halt == Some(Halt::NotYet) {
        return Ended::Done;
    }
    if host.running.active(id).is_none() {
        // One that cannot run keeps nobody else from it.
        host.running.unclaim(id);
    }
    let reconciler = approval::fresh(host, &reconciler);
    let written = status::write(host, id, &reconciler, &spec, &outcome).await;
    host.slots.note_settled(id);
    // What no watch tells, such as a right that was taken away, is found at the latest then (DESIGN section 6).
    host.settling.add_after(id.clone(), host.settings.sweep);
    if outcome.swapped {
        kept::collect(host).await;
    }
    let again = outcome.unfinished || outcome.halt.as_ref().is_some_and(Halt::is_passing);
    if again { Ended::Failed } else { written }
}

/// Runs the module that is wanted; while that does not get in, the last good one.
async fn bring_about(
    host: &Arc<Host>,
    reconciler: &Object,
    spec: &mut ReconcilerSpec,
    slot: &mut Slot,
) -> status::Outcome {
    let id = ReconcilerId::new(reconciler.namespace().unwrap_or_default(), reconciler.name());
    let status = status::of(reconciler);
    let before = host.running.active(&id);
    let (taken, candidate) = match choose::wanted(host, &id, spec, &status, slot).await {
        Ok(mut candidate) => {
            let taken = steps::take(host, reconciler, spec, &status, slot, &mut candidate).await;
            (taken, Some(candidate))
        }
        Err(halt) => (Err(halt), None),
    };
    let wanted = candidate
        .as_ref()
        .map(|candidate| (candidate.digest.clone(), candidate.settings.clone()));
    let mut outcome = status::Outcome {
        candidate: candidate.as_ref().map(|candidate| candidate.digest.clone()),
        mismatch: candidate.as_ref().and_then(|candidate| candidate.mismatch.clone()),
        ..status::Outcome::default()
    };
    match (taken, candidate) {
        (Ok(activation), Some(candidate)) => {
            outcome.unfinished = !settled(host, reconciler, spec, slot, &activation, candidate).await;
        }
        (Ok(_), None) | (Err(Halt::NotYet), _) => outcome.halt = Some(Halt::NotYet),
        (Err(halt), _) => {
            outcome.halt = Some(halt);
            let good = choose::last_good(host, &id, &status);
            if let Some(mut good) =
                good.filter(|good| wanted.as_ref() != Some(&(good.digest.clone(), good.settings.clone())))
            {
                // What is to be told is why the wanted one does not run, whatever becomes of this one.
                match steps::take(host, reconciler, spec, &status, slot, &mut good).await {
                    Ok(_) => {}
                    Err(Halt::NotYet) if before.is_none() => outcome.halt = Some(Halt::NotYet),
                    Err(halt) => outcome.last_good = Some(halt),
                }
            }
        }
    }
    let after = host.running.active(&id);
    if let Some(active) = &after {
        match release::leavers(host, reconciler, active, status.claim.as_ref()).await {
            Ok(()) => {}
            Err(Halt::NotYet) => outcome.leaving = true,
            Err(halt) => {
                tracing::warn!(reconciler = %id, "primaries that are not claimed any more wait: {}", halt.message());
                (outcome.leaving, outcome.unfinished) = (true, true);
            }
        }
    }
    outcome.swapped = before.map(|before| before.digest.clone()) != after.map(|after| after.digest.clone());
    outcome
}

/// What is still to be done when a module runs: its rights are written down, and its bytes kept. False if that has to be
/// tried again.
async fn settled(
    host: &Arc<Host>,
    reconciler: &Object,
    spec: &mut ReconcilerSpec,
    slot: &mut Slot,
    activation: &Activation,
    mut candidate: Candidate,
) -> bool {
    let id = &activation.id;
    let reconciler = approval::fresh(host, reconciler);
    let filled = approval::fill(host, &reconciler, spec, &activation.manifest).await;
    if let Err(error) = &filled {
        tracing::warn!(reconciler = %id, "the rights could not be written down: {error}");
    }
    if kept::is_kept(host, &activation.digest) {
        return filled.is_ok();
    }
    let kept = match candidate.bytes(host, id, spec, slot).await {
        Ok(bytes) => kept::keep(host, activation, bytes)
            .await
            .map_err(|error| error.to_string()),
        Err(halt) => Err(halt.message().to_owned()),
    };
    if let Err(why) = &kept {
        tracing::warn!(reconciler = %id, digest = activation.digest, "the module could not be kept: {why}");
    }
    filled.is_ok() && kept.is_ok()
}

/// Takes no more decisions for a Reconciler, and gives back what it claimed. Its watches stay, so that it can go on at once.
pub(super) fn stop_deciding(host: &Host, id: &ReconcilerId) {
    let ran = host.running.deactivate(id).is_some();
    if ran {
        tracing::info!(reconciler = %id, "no decisions are taken any more");
    }
    host.decisions.forget_lane(id);
    if host.running.unclaim(id) || ran {
        claim::freed(host);
    }
}

/// Takes no more decisions for a Reconciler and closes what only it watched. Children stay.
pub(super) fn leave(host: &Host, id: &ReconcilerId) {
    stop_deciding(host, id);
    host.watches.require(&User::Reconciler(id.clone()), &BTreeSet::new());
}

/// Forgets a Reconciler that is gone.
async fn forget(host: &Host, id: &ReconcilerId) {
    leave(host, id);
    host.running.forget(id);
    host.metrics.forget(id);
    host.slots.forget(id);
    claim::freed(host);
    kept::collect(host).await;
}

fn spec(reconciler: &Object) -> Result<ReconcilerSpec, String> {
    let spec = reconciler.at(&["spec"]).ok_or("the Reconciler has no spec")?;
    ReconcilerSpec::deserialize(spec).map_err(|error| format!("spec cannot be read: {error}"))
}
