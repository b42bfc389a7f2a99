//! Waits until a host has taken a module up, and says what it waits for meanwhile.

use super::Output;
use super::person::Person;
use super::progress::Progress;
use crate::api::{Active, ReconcilerStatus, Refused, StatusCondition, reconciler_kind};
use crate::cluster::WatchEvent;
use anyhow::{anyhow, bail};
use clap::Args;
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::process::ExitCode;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use windlass_core::key::ReconcilerId;
use windlass_core::object::Object;

/// Steps of what may still come. Every other one is about the module itself, which will not get better.
const MAY_STILL_COME: [&str; 5] = ["Loaded", "Rights", "Permitted", "Synced", "Ready"];

/// Reason while the status is about an older spec.
const NO_ANSWER: &str = "NoAnswer";
/// Reason while the status is about an older module.
const NOT_TAKEN_UP: &str = "NotTakenUp";

/// How long to wait.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Patience {
    /// How long to wait until the module runs, such as 90s or 5m
    #[arg(long, default_value = "120s", value_parser = duration)]
    timeout: Duration,
}

/// A duration as people write it.
fn duration(text: &str) -> Result<Duration, String> {
    let parsed: Result<jiff::SignedDuration, _> = text.parse();
    let unsigned = parsed.ok().and_then(|parsed| Duration::try_from(parsed).ok());
    unsigned.ok_or_else(|| "give a number with a unit, such as 90s or 5m".into())
}

/// What is waited for.
#[derive(Clone, Debug)]
pub(super) struct Awaited {
    /// The module that is to run.
    pub(super) digest: String,
    /// The spec that is to run it.
    pub(super) generation: i64,
    /// How it was before: while it stays so, no host has answered.
    pub(super) before: ReconcilerStatus,
}

/// How a Reconciler stands to what is waited for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Standing {
    /// It runs, and all is well.
    Runs,
    /// It was refused and will be again.
    Refused(Refused),
    /// It may still come.
    Waits(Waiting),
}

/// What it still waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Waiting {
    /// The condition that is not true.
    pub(super) step: String,
    /// Why, in one word.
    pub(super) reason: String,
    /// Why, in a sentence.
    pub(super) message: String,
}

/// How the waiting ended.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ended {
    /// Namespace and name.
    reconciler: ReconcilerId,
    /// The module that was to run.
    digest: String,
    /// Whether it does.
    runs: bool,
    /// Whether it does not because the module itself was refused.
    refused: bool,
    /// What it ended at, where it does not run.
    #[serde(flatten)]
    waiting: Option<Waiting>,
    /// What runs now.
    active: Option<Active>,
    /// Its primaries that are ready, of all.
    primaries: Option<String>,
    /// The last primary that fails, and why.
    failing: Option<String>,
}

impl Ended {
    /// Whether the module runs.
    pub(super) fn runs(&self) -> bool {
        self.runs
    }

    /// Prints the result; for programs with these fields besides. An exit code says whether the module runs.
    ///
    /// # Errors
    /// As [`Ended::text`], for people.
    pub(super) fn report(&self, output: Output, besides: Map<String, Value>) -> anyhow::Result<ExitCode> {
        if output == Output::Text {
            super::print(&self.text()?)?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut said = serde_json::to_value(self)?;
        if let Some(said) = said.as_object_mut() {
            said.extend(besides);
        }
        super::print(&format!("{}\n", serde_json::to_string_pretty(&said)?))?;
        Ok(if self.runs {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }

    /// The result in a sentence, where the module runs.
    ///
    /// # Errors
    /// The step, the reason and the message, where it does not.
    pub(super) fn text(&self) -> anyhow::Result<String> {
        if let Some(Waiting { step, reason, message }) = &self.waiting {
            let what = if self.refused { "is refused at" } else { "waits at" };
            let still = match &self.active {
                Some(active) if active.digest == self.digest => "It runs".into(),
                Some(active) => format!("{} {} ({}) runs on", active.name, active.version, active.short_digest),
                None => "Nothing runs".into(),
            };
            let end = if message.ends_with(['.', '?']) { "" } else { "." };
            return Err(anyhow!(
                "Reconciler {}: module {} {what} {step}: {reason}: {message}{end} {still}.",
                self.reconciler,
                short(&self.digest)
            ));
        }
        let active = self.active.clone().unwrap_or_default();
        let primaries = self.primaries.clone().unwrap_or_else(|| "0/0".into());
        Ok(format!(
            "{} {} ({}) runs for Reconciler {}: {primaries} {} ready{}\n",
            active.name,
            active.version,
            active.short_digest,
            self.reconciler,
            active.kind,
            self.failing.as_ref().map(|why| format!("; {why}")).unwrap_or_default()
        ))
    }
}

/// The first characters of a digest, as the status shows it.
pub(super) fn short(digest: &str) -> &str {
    &digest[..digest.floor_char_boundary(12)]
}

/// The status of a Reconciler; empty where there is none yet.
pub(super) fn status(reconciler: &Object) -> ReconcilerStatus {
    let status = reconciler.at(&["status"]);
    status.map_or_else(ReconcilerStatus::default, |status| {
        ReconcilerStatus::deserialize(status).unwrap_or_default()
    })
}

/// Where a Reconciler stands.
pub(super) fn standing(status: &ReconcilerStatus, awaited: &Awaited) -> Standing {
    if status.observed_generation.unwrap_or(0) < awaited.generation {
        return waits("Loaded", NO_ANSWER, "no host has looked at it yet");
    }
    let runs = status
        .active
        .as_ref()
        .is_some_and(|active| active.digest == awaited.digest);
    let first = status.conditions.iter().find(|condition| condition.status == "False");
    let ready = status
        .conditions
        .iter()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True");
    // That some primaries fail, or have deletions held, is said at the end, and nothing that waiting for this module would cure.
    let is_up = first.is_some_and(|first| matches!(first.reason.as_str(), "DecisionsFailing" | "PruneHeld"));
    if runs && (ready && first.is_none() || is_up) {
        return Standing::Runs;
    }
    match (&status.refused, first) {
        (Some(refused), _) if refused.digest == awaited.digest => {
            if MAY_STILL_COME.contains(&refused.step.as_str()) {
                waits(&refused.step, &refused.reason, &refused.message)
            } else {
                Standing::Refused(refused.clone())
            }
        }
        // There is nothing yet that could have a digest.
        (Some(refused), _) if refused.digest.is_empty() => waits(&refused.step, &refused.reason, &refused.message),
        // What is said while another module is refused is about that one.
        (
            _,
            Some(StatusCondition {
                type_, reason, message, ..
            }),
        ) if status.refused.is_none() || runs => waits(type_, reason, message),
        _ => waits("Loaded", NOT_TAKEN_UP, "the host has not come to it yet"),
    }
}

fn waits(step: &str, reason: &str, message: &str) -> Standing {
    Standing::Waits(Waiting {
        step: step.into(),
        reason: reason.into(),
        message: message.into(),
    })
}

/// Waits until the module runs, is refused, or the time is over.
///
/// # Errors
/// If the Reconciler goes, or cannot be watched.
pub(super) async fn follow(
    person: &Person,
    id: &ReconcilerId,
    awaited: &Awaited,
    patience: Patience,
) -> anyhow::Result<Ended> {
    let end = Instant::now() + patience.timeout;
    let mut events = person.watch(&reconciler_kind(), &id.namespace);
    let mut progress = Progress::new();
    let mut seen = (awaited.before.clone(), standing(&awaited.before, awaited));
    while let Ok(Some(event)) = timeout_at(end, events.next()).await {
        let is_it = |object: &Object| object.name() == id.name;
        let object = match event {
            WatchEvent::Listed(objects) => objects.into_iter().find(is_it),
            WatchEvent::Applied(object) if is_it(&object) => Some(object),
            WatchEvent::Deleted(object) if is_it(&object) => None,
            WatchEvent::Failed(words) => {
                progress.show(&format!("the watch was interrupted and is tried again: {words}"));
                continue;
            }
            _ => continue,
        };
        let Some(object) = object else {
            bail!("Reconciler {id} was deleted meanwhile");
        };
        let status = status(&object);
        let standing = standing(&status, awaited);
        if let Standing::Waits(waiting) = &standing {
            progress.show(&format!("{}: {}: {}", waiting.step, waiting.reason, waiting.message));
        }
        let is_over = !matches!(standing, Standing::Waits(_));
        seen = (status, standing);
        if is_over {
            break;
        }
    }
    Ok(ended(id, awaited, seen, patience.timeout))
}

fn ended(id: &ReconcilerId, awaited: &Awaited, seen: (ReconcilerStatus, Standing), timeout: Duration) -> Ended {
    let (status, standing) = seen;
    let mut waiting = match &standing {
        Standing::Runs => None,
        Standing::Refused(refused) => Some(Waiting {
            step: refused.step.clone(),
            reason: refused.reason.clone(),
            message: refused.message.clone(),
        }),
        Standing::Waits(waiting) => Some(waiting.clone()),
    };
    if let (Some(waiting), Standing::Waits(_)) = (&mut waiting, &standing) {
        let seconds = timeout.as_secs_f64();
        let is_silent = status == awaited.before;
        let check = format!(
            "does one run (`kubectl get pods -A -l app.kubernetes.io/name=windlass`), and does it read sources in \
             namespace {}?",
            id.namespace
        );
        if is_silent && [NO_ANSWER, NOT_TAKEN_UP].contains(&waiting.reason.as_str()) {
            waiting.reason = "NoHost".into();
            waiting.message = format!("no host has answered within {seconds} s: the status did not change; {check}");
        } else {
            let message = waiting.message.trim_end_matches('.');
            let silent = if is_silent {
                format!(" No host has said anything since: {check}")
            } else {
                String::new()
            };
            waiting.message = format!("{message} (waited {seconds} s; it is taken up when that comes).{silent}");
        }
    }
    Ended {
        reconciler: id.clone(),
        digest: awaited.digest.clone(),
        runs: standing == Standing::Runs,
        refused: matches!(standing, Standing::Refused(_)),
        waiting,
        failing: status
            .last_failure
            .map(|failure| format!("{} fails: {}: {}", failure.primary, failure.reason, failure.message)),
        primaries: status.primaries.map(|primaries| primaries.summary),
        active: status.active,
    }
}

#[cfg(test)]
mod tests;
