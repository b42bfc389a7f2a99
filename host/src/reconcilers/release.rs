//! Lets primaries go when their Reconciler goes, so that none is left with a finalizer that nobody takes off (D-05).

use super::steps::Halt;
use super::{settle, status};
use crate::api::reconciler_kind;
use crate::host::Host;
use crate::queue::Ended;
use crate::running::Activation;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use windlass_core::key::ReconcilerId;
use windlass_core::manifest::Manifest;
use windlass_core::names::{FINALIZER_RELEASE, HOST_FIELD_MANAGER};
use windlass_core::object::Object;
use windlass_core::plan;
use windlass_core::write::{Identity, Request, Subresource, Target, Write, WriteError};

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

/// Takes our finalizer off every primary, then off the Reconciler itself. Children stay.
///
/// What runs is what knows the primaries; without it the Reconciler waits and its status says for what.
pub(super) async fn release(host: &Arc<Host>, reconciler: &Object, taken: Result<Arc<Activation>, Halt>) -> Ended {
    let id = ReconcilerId::new(reconciler.namespace().unwrap_or_default(), reconciler.name());
    let activation = match host.running.active(&id).map_or(taken, Ok) {
        Ok(activation) => activation,
        Err(halt) => {
            status::write(host, &id, reconciler, Some(&halt), None).await;
            return Ended::Failed;
        }
    };
    activation.leave();
    host.decisions.forget_lane(&id);
    if host.decisions.is_running(&id) {
        // A decision that has begun may be about to store its finalizer.
        return Ended::After(RUNNING_AGAIN);
    }
    for primary in activation.primaries(&host.store) {
        let Some(write) = plan::release(&activation.actor, &activation.manifest.primary.kind, &primary) else {
            continue;
        };
        match host.cluster.apply(&write).await {
            Ok(_) | Err(WriteError::NotFound(_)) => {}
            Err(error) => {
                tracing::warn!(reconciler = %id, primary = %primary.reference(), "could not be released: {error}");
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
        Ok(_) | Err(WriteError::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
