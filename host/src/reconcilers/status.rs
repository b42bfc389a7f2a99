//! Writes down on a Reconciler how it goes, when that changed.

use super::steps::{Gate, Halt};
use crate::api::{Active, LastFailure, ReconcilerStatus, Refused, StatusCondition, reconciler_kind};
use crate::control;
use crate::events;
use crate::host::Host;
use crate::queue::Ended;
use crate::running::Activation;
use crate::store::Sync;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use windlass_core::change::is_echo;
use windlass_core::decision::Severity;
use windlass_core::key::ReconcilerId;
use windlass_core::names::HOST_FIELD_MANAGER;
use windlass_core::object::Object;
use windlass_core::reason::Reason;
use windlass_core::report::EventNote;
use windlass_core::rights;
use windlass_core::write::{Identity, Request, Subresource, Target, Write};

/// A condition without its times.
struct Say<'a> {
    type_: &'static str,
    status: &'static str,
    reason: String,
    message: &'a str,
}

/// How long the first counts are waited for after a module was taken up: a restart of the host must not show as counts
/// that go to zero and come back.
const COUNTING: Duration = Duration::from_secs(10);
/// How soon counts that are not complete are looked at again.
const COUNTING_AGAIN: Duration = Duration::from_millis(200);

/// Writes the status of a Reconciler whose steps ended like this; nothing if it says all that already.
///
/// `candidate` is the digest of the module of the source, where that is known.
pub(super) async fn write(
    host: &Host,
    id: &ReconcilerId,
    reconciler: &Object,
    halt: Option<&Halt>,
    candidate: Option<&str>,
) -> Ended {
    let active = host.running.active(id);
    let trouble = active.as_ref().and_then(|active| watch_trouble(host, active));
    let total: Option<usize> = active
        .as_ref()
        .map(|active| active.watched.primaries.iter().map(|key| host.store.len(key)).sum());
    let counted = host.running.tally(id, |tally| tally.decided());
    if let (Some(active), Some(total), None) = (&active, total, halt)
        && counted < total
        && active.since.elapsed() < COUNTING
    {
        return Ended::After(COUNTING_AGAIN);
    }
    let (failing, primaries, last_failure) = host.running.tally(id, |tally| {
        let primaries = total.map(|total| tally.primaries(total));
        (
            primaries.as_ref().map_or(0, |primaries| primaries.failing),
            primaries,
            tally.last_failure(),
        )
    });
    let refused = refused(active.as_deref(), halt, candidate);
    let says = conditions(active.as_deref(), halt, trouble.as_deref(), failing);
    let before = status_of(reconciler);
    let conditions = with_times(&before, &says, &format!("{:.0}", host.now()), reconciler.generation());
    let status = ReconcilerStatus {
        observed_generation: reconciler.generation(),
        active: active.as_deref().map(describe),
        claim: None,
        earlier: Vec::new(),
        approved: None,
        refused,
        primaries,
        last_failure: last_failure.map(|failure| same_failure(&before, failure)),
        conditions,
    };
    tell_trouble(host, reconciler, &before, &status).await;
    send(host, reconciler, &before, &status).await
}

/// What of the source does not run: a module that was refused, or one that waits for rights or kinds.
fn refused(active: Option<&Activation>, halt: Option<&Halt>, candidate: Option<&str>) -> Option<Refused> {
    match halt? {
        Halt::Refused(refused) => Some(refused.clone()),
        Halt::NotYet => None,
        Halt::Waiting {
            gate, reason, message, ..
        } => {
            let waiting = candidate.filter(|digest| active.is_none_or(|active| active.digest != *digest))?;
            Some(Refused {
                digest: waiting.into(),
                step: gate.condition().into(),
                reason: reason.to_string(),
                message: message.clone(),
                rights_hash: None,
            })
        }
    }
}

/// The failure with the time at which it was written first: a restart of the host is no news.
fn same_failure(before: &ReconcilerStatus, failure: LastFailure) -> LastFailure {
    match &before.last_failure {
        Some(old)
            if (&old.primary, &old.reason, &old.message) == (&failure.primary, &failure.reason, &failure.message) =>
        {
            old.clone()
        }
        _ => failure,
    }
}

/// Writes that a Reconciler is suspended.
pub(super) async fn write_suspended(host: &Host, id: &ReconcilerId, reconciler: &Object) -> Ended {
    let before = status_of(reconciler);
    let message = "spec.suspend is true: no decisions are taken and nothing is written";
    let says = [Say {
        type_: "Ready",
        status: "False",
        reason: "Suspended".into(),
        message,
    }];
    let status = ReconcilerStatus {
        observed_generation: reconciler.generation(),
        active: None,
        conditions: with_times(&before, &says, &format!("{:.0}", host.now()), reconciler.generation()),
        ..before.clone()
    };
    tracing::debug!(reconciler = %id, "suspended");
    send(host, reconciler, &before, &status).await
}

fn status_of(reconciler: &Object) -> ReconcilerStatus {
    reconciler
        .at(&["status"])
        .and_then(|status| ReconcilerStatus::deserialize(status).ok())
        .unwrap_or_default()
}

fn describe(active: &Activation) -> Active {
    Active {
        digest: active.digest.clone(),
        short_digest: active.digest.chars().take(12).collect(),
        name: active.manifest.name.clone(),
        version: active.manifest.version.clone(),
        kind: active.manifest.primary.kind.of.kind.clone(),
        strict: active.strict,
        rights_hash: rights::rights_hash(&active.manifest),
        ..Active::default()
    }
}

/// The trouble that a watch of the running guest has now.
fn watch_trouble(host: &Host, active: &Activation) -> Option<String> {
    active.watched.keys().iter().find_map(|key| match host.store.sync(key) {
        Sync::Synced(None) => None,
        Sync::Synced(Some(trouble)) | Sync::Waiting(Some(trouble)) => {
            Some(format!("{}: {trouble}; what was known before is used", key.kind.of))
        }
        Sync::Waiting(None) | Sync::Closed => Some(format!("{}: it is being listed", key.kind.of)),
    })
}

/// `Loaded`, `Permitted`, `Synced` and `Ready`, from where the steps halted.
fn conditions<'a>(
    active: Option<&Activation>,
    halt: Option<&'a Halt>,
    trouble: Option<&'a str>,
    failing: u32,
) -> Vec<Say<'a>> {
    let (gate, reason, message) = match halt {
        None if trouble.is_some() => (
            Some(Gate::Synced),
            Reason::DependencyMissing,
            trouble.unwrap_or_default(),
        ),
        None | Some(Halt::NotYet) => (None, Reason::Reconciled, ""),
        Some(Halt::Refused(refused)) => (Some(Gate::Loaded), Reason::GuestLoadFailed, refused.message.as_str()),
        Some(Halt::Waiting {
            gate, reason, message, ..
        }) => (Some(*gate), *reason, message.as_str()),
    };
    let mut says = Vec::new();
    for (of, done) in [
        (Gate::Loaded, "the module of the source is loaded"),
        (
            Gate::Permitted,
            "the ServiceAccount consents and has the rights that the module needs",
        ),
        (Gate::Synced, "all kinds are served and watched"),
    ] {
        let type_ = of.condition();
        says.push(match gate {
            Some(gate) if gate == of => Say {
                type_,
                status: "False",
                reason: reason.to_string(),
                message,
            },
            Some(gate) if gate < of => Say {
                type_,
                status: "Unknown",
                reason: "NotReached".into(),
                message: "an earlier step is not done",
            },
            _ => Say {
                type_,
                status: "True",
                reason: of.done().into(),
                message: done,
            },
        });
    }
    says.push(match (gate, active) {
        (Some(_), _) => Say {
            type_: "Ready",
            status: "False",
            reason: reason.to_string(),
            message,
        },
        (None, Some(_)) if failing > 0 => Say {
            type_: "Ready",
            status: "False",
            reason: "DecisionsFailing".into(),
            message: "decisions of some primaries fail; status.lastFailure says which and why",
        },
        _ => Say {
            type_: "Ready",
            status: "True",
            reason: "Running".into(),
            message: "decisions are taken",
        },
    });
    says
}

impl Gate {
    fn condition(self) -> &'static str {
        match self {
            Self::Loaded => "Loaded",
            Self::Permitted => "Permitted",
            Self::Synced => "Synced",
        }
    }

    fn done(self) -> &'static str {
        match self {
            Self::Loaded => "Compiled",
            Self::Permitted => "Granted",
            Self::Synced => "Listed",
        }
    }
}

/// Adds times: lastTransitionTime changes only with the status.
fn with_times(before: &ReconcilerStatus, says: &[Say<'_>], now: &str, generation: Option<i64>) -> Vec<StatusCondition> {
    says.iter()
        .map(|say| {
            let old = before
                .conditions
                .iter()
                .find(|old| old.type_ == say.type_ && old.status == say.status);
            StatusCondition {
                type_: say.type_.into(),
                status: say.status.into(),
                reason: say.reason.clone(),
                message: say.message.chars().take(1024).collect(),
                last_transition_time: old.map_or_else(|| now.to_owned(), |old| old.last_transition_time.clone()),
                observed_generation: generation,
            }
        })
        .collect()
}

/// An Event and a log line when `Ready` is false for a reason that was not told before.
async fn tell_trouble(host: &Host, reconciler: &Object, before: &ReconcilerStatus, status: &ReconcilerStatus) {
    let is_ready = |condition: &&StatusCondition| condition.type_ == "Ready";
    let Some(now) = status
        .conditions
        .iter()
        .find(is_ready)
        .filter(|ready| ready.status == "False")
    else {
        return;
    };
    let told = before.conditions.iter().find(is_ready);
    if told.is_some_and(|told| (&told.reason, &told.message) == (&now.reason, &now.message)) {
        return;
    }
    tracing::warn!(reconciler = %reconciler.reference(), reason = now.reason, "not ready: {}", now.message);
    let note = match &status.refused {
        Some(refused) => format!(
            "module refused at {}: {}: {}",
            refused.step, refused.reason, refused.message
        ),
        None => now.message.clone(),
    };
    let event = EventNote {
        severity: Severity::Warning,
        reason: now.reason.clone(),
        note,
        from_guest: false,
    };
    events::write(host, &Identity::Host, reconciler, &event).await;
}

async fn send(host: &Host, reconciler: &Object, before: &ReconcilerStatus, status: &ReconcilerStatus) -> Ended {
    if before == status {
        return Ended::Done;
    }
    let object = Object::from_value(json!({
        "apiVersion": reconciler_kind().of.api_version(),
        "kind": "Reconciler",
        "metadata": {
            "namespace": reconciler.namespace(),
            "name": reconciler.name(),
            "uid": reconciler.uid(),
        },
        "status": serde_json::to_value(status).unwrap_or(Value::Null),
    }))
    .unwrap_or_default();
    let write = Write {
        identity: Identity::Host,
        target: Target::of(&reconciler_kind(), &object),
        subresource: Subresource::Status,
        manager: HOST_FIELD_MANAGER.into(),
        request: Request::Apply { object, force: true },
    };
    match host.cluster.apply(&write).await {
        Ok(written) => {
            if let Some(written) = written {
                let id = ReconcilerId::new(written.namespace().unwrap_or_default(), written.name());
                let changes = host.store.overlay(&control::reconcilers(), written);
                if !changes.iter().all(|change| is_echo(&write, change)) {
                    // Somebody changed it in the meantime, which the watch will not say again.
                    host.settling.add(id);
                }
            }
            Ended::Done
        }
        Err(windlass_core::write::WriteError::NotFound(_)) => Ended::Done,
        Err(error) => {
            tracing::warn!(reconciler = %reconciler.reference(), "status could not be written: {error}");
            Ended::Failed
        }
    }
}
