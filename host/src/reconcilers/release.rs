//! Lets primaries go when their Reconciler goes or no longer claims them, so that none is left with a finalizer that nobody
//! takes off (D-05). No module is needed for it, so that a broken one cannot keep them (D-06).

use super::halt::{Gate, Halt};
use super::{settle, status};
use crate::api::{Claim, reconciler_kind};
use crate::cluster::WatchKey;
use crate::host::Host;
use crate::queue::Ended;
use crate::running::Activation;
use crate::store::Sync;
use crate::store::watches::User;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use windlass_core::decision::Severity;
use windlass_core::key::{Key, PrimaryName, ReconcilerId};
use windlass_core::manifest::{Manifest, Projection};
use windlass_core::names::{FINALIZER_RELEASE, HOST_FIELD_MANAGER, finalizer};
use windlass_core::object::Object;
use windlass_core::plan;
use windlass_core::reason::Reason;
use windlass_core::report::EventNote;
use windlass_core::write::{Actor, Identity, Request, Subresource, Target, Write, WriteError};

/// How soon a release that is not finished is looked at again.
const AGAIN: Duration = Duration::from_secs(1);
/// How soon it is looked again whether the last decisions have ended.
const RUNNING_AGAIN: Duration = Duration::from_millis(50);

/// Keeps our finalizer on a Reconciler while its module keeps finalizers on primaries; stored before the first of those.
pub(super) async fn hold(host: &Host, reconciler: &Object, manifest: &Manifest) -> Result<(), WriteError> {
    if !manifest.finalizes || is_held(reconciler) {
        return Ok(());
    }
    let mut finalizers: Vec<Value> = reconciler.finalizers().map(Value::from).collect();
    finalizers.push(FINALIZER_RELEASE.into());
    set_finalizers(host, reconciler, finalizers).await
}

/// Whether a Reconciler carries our finalizer.
pub(super) fn is_held(reconciler: &Object) -> bool {
    reconciler.finalizers().any(|finalizer| finalizer == FINALIZER_RELEASE)
}

/// Takes our finalizer off every primary of a Reconciler that is being deleted, then off the Reconciler itself. Children
/// stay. What the API server does not allow is said in the status, with the command by which a person can do it.
pub(super) async fn release(host: &Arc<Host>, reconciler: &Object) -> Ended {
    let id = ReconcilerId::new(reconciler.namespace().unwrap_or_default(), reconciler.name());
    if let Some(activation) = host.running.active(&id) {
        activation.leave();
    }
    host.decisions.forget_lane(&id);
    if host.decisions.is_running(&id) {
        // A decision that has begun may be about to store its finalizer.
        return Ended::After(RUNNING_AGAIN);
    }
    settle::stop_deciding(host, &id);
    if let Some(claim) = status::of(reconciler).claim {
        let account = reconciler.text_at(&["spec", "serviceAccountName"]).unwrap_or_default();
        let actor = Actor {
            identity: Identity::ServiceAccount {
                namespace: id.namespace.clone(),
                name: account.into(),
            },
            reconciler: id.clone(),
        };
        let keys = watches(&claim.kind(), claim.scopes());
        host.watches.require(&User::Reconciler(id.clone()), &keys);
        match let_go(host, &actor, &claim, &keys, |_| true).await {
            Ok(()) => {}
            Err(Halt::NotYet) => return Ended::Done,
            Err(halt) => {
                status::write_releasing(host, &id, reconciler, &halt).await;
                return Ended::Failed;
            }
        }
    }
    let rest = reconciler
        .finalizers()
        .filter(|other| *other != FINALIZER_RELEASE)
        .map(Value::from)
        .collect();
    match set_finalizers(host, reconciler, rest).await {
        Ok(()) => {
            settle::leave(host, &id);
            Ended::Done
        }
        Err(error) => {
            tracing::debug!(reconciler = %id, "not released yet: {error}");
            Ended::After(AGAIN)
        }
    }
}

/// The watches that show the primaries which were claimed before and are no longer: of another kind, or in fewer
/// namespaces.
pub(super) fn leaving(reconciler: &Object, before: Option<&Claim>, now: &Claim) -> BTreeSet<WatchKey> {
    let Some(before) = before.filter(|before| is_held(reconciler) && *before != now) else {
        return BTreeSet::new();
    };
    let same_kind = before.is_of_same_kind(now);
    let mut scopes = before.scopes();
    scopes.retain(|scope| !same_kind || !now.covers(scope.as_deref().or(Some("*"))));
    watches(&before.kind(), scopes)
}

/// Takes our finalizer off the primaries that have left the claim. To be called when the module that runs does not claim
/// them any more: the one before it would put the finalizer back.
pub(super) async fn leavers(
    host: &Host,
    reconciler: &Object,
    activation: &Activation,
    before: Option<&Claim>,
) -> Result<(), Halt> {
    let now = &activation.claim;
    let keys = leaving(reconciler, before, now);
    let Some(before) = before.filter(|_| !keys.is_empty()) else {
        return Ok(());
    };
    let same_kind = before.is_of_same_kind(now);
    let leaves = |primary: &Object| !same_kind || !now.covers(primary.namespace());
    let left = let_go(host, &activation.actor, before, &keys, leaves).await;
    let Err(Halt::Waiting {
        reason: Reason::ApplyForbidden,
        message,
        ..
    }) = left
    else {
        return left;
    };
    left_behind(host, reconciler, message).await;
    Ok(())
}

/// Says that primaries keep our finalizer because nobody may take it off any more; the new claim does not wait for it.
async fn left_behind(host: &Host, reconciler: &Object, why: String) {
    let event = EventNote {
        severity: Severity::Warning,
        reason: "NotReleased".into(),
        note: why,
        from_guest: false,
        is_news: true,
    };
    let id = ReconcilerId::new(reconciler.namespace().unwrap_or_default(), reconciler.name());
    super::status::say(host, &id, reconciler, event).await;
}

/// Watches that show finalizers and nothing more.
fn watches(kind: &windlass_core::kind::KindInfo, scopes: Vec<Option<String>>) -> BTreeSet<WatchKey> {
    let key = |namespace| WatchKey {
        kind: kind.clone(),
        namespace,
        selector: String::new(),
        projection: Projection::Metadata,
    };
    scopes.into_iter().map(key).collect()
}

/// Takes our finalizer off what these watches show, once they were listed.
async fn let_go(
    host: &Host,
    actor: &Actor,
    claim: &Claim,
    keys: &BTreeSet<WatchKey>,
    leaves: impl Fn(&Object) -> bool,
) -> Result<(), Halt> {
    let kind = claim.kind();
    match host.kinds.served(&*host.cluster, &kind.of).await {
        // Its objects went with its CRD.
        Ok(None) => return Ok(()),
        Ok(Some(_)) => {}
        Err(error) => return Err(Halt::unreadable(Gate::Synced, "which kinds are served", &error)),
    }
    let id = &actor.reconciler;
    let by_hand = format!(
        "`windlass release {} -n {}` does it with your rights",
        id.name, id.namespace
    );
    let mine = finalizer(id);
    for key in keys {
        match host.store.sync(key) {
            Sync::Synced(_) => {}
            Sync::Waiting(None) | Sync::Closed => return Err(Halt::NotYet),
            Sync::Waiting(Some(trouble)) => {
                let message = format!(
                    "{} cannot be released, as the host cannot list them: {trouble}; {by_hand}",
                    kind.plural
                );
                return Err(Halt::watched(Gate::Synced, Reason::ApplyForbidden, message));
            }
        }
        for primary in host.store.all(key).into_iter().filter(&leaves) {
            if !primary.finalizers().any(|finalizer| finalizer == mine) {
                continue;
            }
            let Some(write) = plan::release(actor, &kind, &primary) else {
                continue;
            };
            if host
                .decisions
                .is_running_now(&Key::new(id.clone(), PrimaryName::of(&primary)))
            {
                // A decision that began before may be about to store the finalizer.
                host.settling.add_after(id.clone(), RUNNING_AGAIN);
                return Err(Halt::NotYet);
            }
            match host.cluster.apply(&write).await {
                Ok(Some(released)) => {
                    host.store.overlay(key, released);
                }
                Ok(None) | Err(WriteError::NotFound(_)) => {}
                Err(WriteError::Stale(_) | WriteError::Conflict(_)) => {
                    // Somebody changed it just now, which its watch brings.
                    return Err(Halt::waiting(
                        Gate::Synced,
                        Reason::Waiting,
                        "primaries change while they are released",
                    ));
                }
                Err(error) => {
                    let reason = match error {
                        WriteError::Forbidden(_) => Reason::ApplyForbidden,
                        WriteError::Unavailable(_) | WriteError::Busy { .. } | WriteError::Unanswered(_) => {
                            Reason::ClusterUnavailable
                        }
                        _ => Reason::ApplyRejected,
                    };
                    let message = format!("{} could not be released: {error}; {by_hand}", primary.reference());
                    return Err(Halt::waiting(Gate::Synced, reason, message));
                }
            }
        }
    }
    Ok(())
}

/// Replaces the list of finalizers of a Reconciler, if it is still the one that was seen.
async fn set_finalizers(host: &Host, reconciler: &Object, finalizers: Vec<Value>) -> Result<(), WriteError> {
    let write = Write {
        identity: Identity::Host,
        target: Target::of(&reconciler_kind(), reconciler),
        subresource: Subresource::None,
        manager: HOST_FIELD_MANAGER.into(),
        request: Request::MergePatch(json!({
            "metadata": {
                "uid": reconciler.uid(),
                "resourceVersion": reconciler.resource_version(),
                "finalizers": finalizers,
            }
        })),
    };
    match host.cluster.apply(&write).await {
        Ok(Some(written)) => {
            status::overlay(host, &write, written);
            Ok(())
        }
        Ok(None) | Err(WriteError::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
