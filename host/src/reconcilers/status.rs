//! Writes down on a Reconciler how it goes, when that changed.

use super::conditions::{Say, conditions, with_times};
use super::halt::Halt;
use super::{approval, claim, kept};
use crate::api::{
    Active, Earlier, LastFailure, ReconcilerSpec, ReconcilerStatus, Refused, StatusCondition, reconciler_kind,
};
use crate::control;
use crate::events;
use crate::host::Host;
use crate::queue::Ended;
use crate::running::Activation;
use crate::store::Sync;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use windlass_core::change::is_echo;
use windlass_core::decision::Severity;
use windlass_core::key::ReconcilerId;
use windlass_core::names::HOST_FIELD_MANAGER;
use windlass_core::object::Object;
use windlass_core::reason::Reason;
use windlass_core::report::EventNote;
use windlass_core::rights;
use windlass_core::write::{Identity, Request, Subresource, Target, Write, WriteError};

/// How long the first counts are waited for after a module was taken up: a restart of the host must not show as counts
/// that go to zero and come back.
const COUNTING: Duration = Duration::from_secs(10);
/// How soon counts that are not complete are looked at again.
const COUNTING_AGAIN: Duration = Duration::from_millis(200);

/// What settling a Reconciler came to.
#[derive(Default)]
pub(super) struct Outcome {
    /// Why the wanted module does not run; none if it does.
    pub(super) halt: Option<Halt>,
    /// Why the last good one could not be brought up to the spec either.
    pub(super) last_good: Option<Halt>,
    /// The digest of the wanted module, where it is known.
    pub(super) candidate: Option<String>,
    /// What of the source is not taken up because another module is pinned.
    pub(super) mismatch: Option<String>,
    /// Primaries that are not claimed any more still have to be released.
    pub(super) leaving: bool,
    /// Another module runs than before, or none.
    pub(super) swapped: bool,
    /// Something besides has to be tried again.
    pub(super) unfinished: bool,
}

impl Outcome {
    /// Nothing runs, for this reason.
    pub(super) fn halted(halt: Halt) -> Self {
        Self {
            halt: Some(halt),
            ..Self::default()
        }
    }

    /// The halt as it is told: with the last good one's, if that does not run.
    fn told(&self, runs: bool) -> Option<Halt> {
        let halt = self.halt.clone()?;
        match &self.last_good {
            Some(good) if !runs => {
                Some(halt.and(&format!("the last good module does not run either: {}", good.message())))
            }
            _ => Some(halt),
        }
    }
}

/// Writes the status of a Reconciler that was settled; nothing if it says all that already.
pub(super) async fn write(
    host: &Host,
    id: &ReconcilerId,
    reconciler: &Object,
    spec: &ReconcilerSpec,
    outcome: &Outcome,
) -> Ended {
    let active = host.running.active(id);
    let trouble = active.as_ref().and_then(|active| watch_trouble(host, active));
    let total: Option<usize> = active
        .as_ref()
        .map(|active| active.watched.primaries.iter().map(|key| host.store.len(key)).sum());
    let counted = host.running.tally(id, |tally| tally.decided());
    if let (Some(active), Some(total), None) = (&active, total, &outcome.halt)
        && counted < total
        && active.since.elapsed() < COUNTING
    {
        return Ended::After(COUNTING_AGAIN);
    }
    let before = of(reconciler);
    let (failing, primaries, last_failure, prune_held) = host.running.tally(id, |tally| {
        if total.is_some_and(|total| tally.decided() >= total) {
            tally.prunes.looked_at_all();
        }
        let primaries = total.map(|total| tally.primaries(total));
        (
            primaries.as_ref().map_or(0, |primaries| primaries.failing),
            primaries,
            tally.last_failure(),
            tally
                .prune_held()
                .or_else(|| before.prune_held.clone().filter(|_| tally.prunes.is_resumed())),
        )
    });
    let halt = outcome.told(active.is_some());
    let says = conditions(
        active.as_deref(),
        halt.as_ref(),
        trouble.as_deref(),
        outcome.mismatch.as_deref(),
        failing,
        prune_held.as_ref(),
    );
    let conditions = with_times(&before, &says, &format!("{:.0}", host.now()), reconciler.generation());
    let runs = active.as_deref().map(describe);
    let status = ReconcilerStatus {
        observed_generation: reconciler.generation(),
        earlier: earlier(&before, runs.as_ref()),
        active: runs,
        // What is still to be released stays claimed, so that a restart does not forget it.
        claim: active
            .as_ref()
            .filter(|_| !outcome.leaving)
            .map(|active| active.claim.clone())
            .or_else(|| before.claim.clone()),
        approved: approval::noted(spec, &before, active.as_ref().map(|active| &active.manifest)),
        refused: refused(active.as_deref(), halt.as_ref(), outcome.candidate.as_deref()),
        primaries,
        last_failure: last_failure.map(|failure| same_failure(&before, failure)),
        prune_held,
        conditions,
    };
    for event in host.slots.take_owed(id) {
        let still = EventNote {
            is_news: false,
            ..event
        };
        say(host, id, reconciler, still).await;
    }
    tell_trouble(host, id, reconciler, &before, &status).await;
    let written = send(host, reconciler, &before, &status).await;
    if written == Ended::Done {
        tell_taken_up(host, id, reconciler, before.active.as_ref(), status.active.as_ref()).await;
    }
    written
}

/// The modules that ran before, the last one first; what ran when nothing does any more is one of them.
fn earlier(before: &ReconcilerStatus, runs: Option<&Active>) -> Vec<Earlier> {
    let last = before.active.as_ref().map(|active| Earlier {
        digest: active.digest.clone(),
        name: active.name.clone(),
        version: active.version.clone(),
        settings: active.settings.clone(),
    });
    let mut seen: BTreeSet<&str> = runs.iter().map(|runs| runs.digest.as_str()).collect();
    let all: Vec<&Earlier> = last.iter().chain(&before.earlier).collect();
    all.into_iter()
        .filter(|earlier| seen.insert(&earlier.digest))
        .take(kept::EARLIER)
        .cloned()
        .collect()
}

/// What of the source does not run: a module that was refused, or one that waits for rights or kinds.
fn refused(active: Option<&Activation>, halt: Option<&Halt>, candidate: Option<&str>) -> Option<Refused> {
    match halt? {
        Halt::Refused(refused) | Halt::Held(refused) => Some(refused.clone()),
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
    tracing::debug!(reconciler = %id, "suspended");
    let message = "spec.suspend is true: no decisions are taken and nothing is written";
    write_not_ready(host, reconciler, "Suspended".into(), message).await
}

/// Writes why a Reconciler that is being deleted cannot release its primaries.
pub(super) async fn write_releasing(host: &Host, id: &ReconcilerId, reconciler: &Object, halt: &Halt) -> Ended {
    tracing::warn!(reconciler = %id, "not released yet: {}", halt.message());
    let reason = match halt {
        Halt::Waiting { reason, .. } => *reason,
        _ => Reason::Deleting,
    };
    write_not_ready(host, reconciler, reason.to_string(), halt.message()).await
}

/// Writes that nothing runs, and nothing is to.
async fn write_not_ready(host: &Host, reconciler: &Object, reason: String, message: &str) -> Ended {
    let before = of(reconciler);
    let says = [Say {
        type_: "Ready",
        status: "False",
        reason,
        message,
    }];
    let status = ReconcilerStatus {
        observed_generation: reconciler.generation(),
        active: None,
        earlier: earlier(&before, None),
        conditions: with_times(&before, &says, &format!("{:.0}", host.now()), reconciler.generation()),
        ..before.clone()
    };
    send(host, reconciler, &before, &status).await
}

/// The status as it was written last.
pub(super) fn of(reconciler: &Object) -> ReconcilerStatus {
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
        settings: active
            .settings
            .as_object()
            .filter(|settings| !settings.is_empty())
            .cloned(),
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

/// An Event and a log line when `Ready` is false for a reason that was not told before.
async fn tell_trouble(
    host: &Host,
    id: &ReconcilerId,
    reconciler: &Object,
    before: &ReconcilerStatus,
    status: &ReconcilerStatus,
) {
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
        is_news: true,
    };
    say(host, id, reconciler, event).await;
}

/// Writes an Event about a Reconciler, later where the last one is too fresh: nothing else would bring it up to what is so.
pub(super) async fn say(host: &Host, id: &ReconcilerId, reconciler: &Object, event: EventNote) {
    if let Some(left) = events::tell(host, id, reconciler, &event).await {
        host.slots.owe(id, event);
        host.settling.add_after(id.clone(), left);
    }
}

/// An Event when another module runs than the status said before.
async fn tell_taken_up(
    host: &Host,
    id: &ReconcilerId,
    reconciler: &Object,
    before: Option<&Active>,
    runs: Option<&Active>,
) {
    let Some(runs) = runs.filter(|runs| before.is_none_or(|before| before.digest != runs.digest)) else {
        return;
    };
    let named = |active: &Active| format!("{} {} ({})", active.name, active.version, active.short_digest);
    let after = before.map_or_else(String::new, |before| format!(", in place of {}", named(before)));
    let event = EventNote {
        severity: Severity::Normal,
        reason: "TakenUp".into(),
        note: format!("{} takes the decisions{after}", named(runs)),
        from_guest: false,
        is_news: true,
    };
    say(host, id, reconciler, event).await;
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
                overlay(host, &write, written);
            }
            if before.active.is_some() && status.active.is_none() {
                claim::freed(host);
            }
            Ended::Done
        }
        Err(WriteError::NotFound(_)) => Ended::Done,
        Err(error) => {
            tracing::warn!(reconciler = %reconciler.reference(), "status could not be written: {error}");
            Ended::Failed
        }
    }
}

/// Lays what a write about a Reconciler gave over the store. What somebody else changed in the meantime is looked at, since
/// the watch will not say it again.
pub(super) fn overlay(host: &Host, write: &Write, written: Object) {
    let id = ReconcilerId::new(written.namespace().unwrap_or_default(), written.name());
    let changes = host.store.overlay(&control::reconcilers(), written);
    if !changes.iter().all(|change| is_echo(write, change)) {
        host.settling.add(id);
    }
}
