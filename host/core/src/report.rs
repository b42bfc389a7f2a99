//! Derives from what was decided and done what the primary's status, Events and counts must say.
//!
//! `verdict` puts it in one reason and one sentence, `status` derives the writes to the primary's status.

mod status;
mod verdict;
mod again;

pub use again::again;

use crate::conditions::find;
use crate::decision::{Decided, GuestEvent, Severity};
use crate::manifest::Manifest;
use crate::object::Object;
use crate::plan::Blocked;
use crate::policy::Policy;
use crate::reason::Reason;
use crate::schema::Served;
use crate::text::cut;
use crate::write::{Actor, Applied, Write};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;
use verdict::{Verdict, verdict};

/// Stops: a guest that has itself called without a pause.
const SHORTEST_REQUEUE: Duration = Duration::from_secs(1);
/// Stops: a time so far away that no clock of the host's holds it (E-10).
const LONGEST_REQUEUE: Duration = Duration::from_secs(24 * 60 * 60);

/// When a primary is decided again whose guest asked for this delay: not before a second, and within a day.
pub fn requeue(asked: Duration) -> Duration {
    asked.clamp(SHORTEST_REQUEUE, LONGEST_REQUEUE)
}

/// Everything a report depends on.
#[derive(Clone, Debug)]
pub struct Ended<'a> {
    /// For whom.
    pub actor: &'a Actor,
    /// What the guest declared.
    pub manifest: &'a Manifest,
    /// What the spec of the Reconciler says.
    pub policy: &'a Policy,
    /// How the primary's kind is served.
    pub served: &'a Served,
    /// The primary as the decision saw it, with our own managedFields entries and its whole status. Where a write of the
    /// plan returned a newer one of the same generation, that one.
    pub primary: &'a Object,
    /// What was decided.
    pub decided: &'a Decided,
    /// What could not be planned.
    pub blocked: &'a [Blocked],
    /// What became of each write.
    pub applied: &'a [Applied],
    /// The time of the report, RFC 3339 in seconds, for lastTransitionTime.
    pub now: &'a str,
}

/// An Event to be written about the primary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventNote {
    /// How bad it is.
    pub severity: Severity,
    /// CamelCase reason.
    pub reason: String,
    /// A sentence for people.
    pub note: String,
    /// True for the guest's own words, which are written as its ServiceAccount.
    pub from_guest: bool,
    /// False where the object's status says so already: it goes on, which is worth no more than a count.
    pub is_news: bool,
}

/// When the primary is decided again without any change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Next {
    /// Not at all: a change will wake it.
    OnChange,
    /// After this long; counts as success.
    After(Duration),
    /// After the growing delay of its key.
    Backoff,
    /// It failed, and is not tried before this long: the API server asked for that, or refuses it for good.
    NotBefore(Duration),
}

impl Next {
    /// When two things are to be done, the sooner of both.
    #[must_use]
    pub fn sooner(self, other: Self) -> Self {
        match (self, other) {
            (Self::OnChange, next) | (next, Self::OnChange) => next,
            (Self::Backoff, _) | (_, Self::Backoff) => Self::Backoff,
            (Self::After(one), Self::After(other)) => Self::After(one.min(other)),
            (Self::After(one) | Self::NotBefore(one), Self::After(other) | Self::NotBefore(other)) => {
                Self::NotBefore(one.min(other))
            }
        }
    }
}

/// The last stage's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The guest's own fields of the primary's status; none if they are as wanted. Written before the conditions, which speak of
    /// it too: where it fails, another report says so.
    pub fields: Option<Write>,
    /// The conditions, and `observedGeneration`; none if the status says all this already.
    pub conditions: Option<Write>,
    /// Events to write.
    pub events: Vec<EventNote>,
    /// `Reconciled` or why not.
    pub reason: Reason,
    /// The same in a sentence.
    pub message: String,
    /// Whether the primary is ready, for the Reconciler's counts.
    pub ready: bool,
    /// When to decide again.
    pub next: Next,
}

/// Derives the report of a decision that has ended, one way or the other.
///
/// # Guarantees
/// - Nothing is written that the status says already.
/// - With `writes_status` off, or without a status subresource, nothing is written at all: through the main resource each
///   status write would be a change of the object itself.
pub fn report(ended: &Ended<'_>) -> Report {
    let verdict = verdict(ended);
    let mut message = verdict.message.clone();
    if ended.manifest.writes_status && !ended.served.status_subresource {
        message.push_str(&format!(
            " (status is not written: {} has no status subresource)",
            ended.served.kind.of.kind
        ));
    }
    let (fields, conditions) = match verdict.is_news {
        true => status::writes(ended, &verdict),
        false => (None, None),
    };
    Report {
        fields,
        conditions,
        events: events(ended, &verdict),
        reason: verdict.reason,
        message: cut(&message),
        ready: if verdict.is_news {
            status::is_ready(ended, &verdict)
        } else {
            says_ready(ended.primary)
        },
        next: verdict.next,
    }
}

/// The host's Event if something is wrong, or the guest's own if all was carried out.
fn events(ended: &Ended<'_>, verdict: &Verdict) -> Vec<EventNote> {
    if verdict.is_reconciled() {
        return carried_out(ended.decided).iter().map(note).collect();
    }
    if !verdict.is_news || !verdict.is_trouble {
        return Vec::new();
    }
    let reason = verdict.reason.to_string();
    vec![EventNote {
        severity: Severity::Warning,
        reason,
        note: cut(&verdict.message),
        from_guest: false,
        is_news: !is_said_already(ended.primary, verdict),
    }]
}

fn note(event: &GuestEvent) -> EventNote {
    EventNote {
        severity: event.severity,
        reason: event.reason.clone(),
        note: cut(&event.note),
        from_guest: true,
        is_news: true,
    }
}

fn carried_out(decided: &Decided) -> &[GuestEvent] {
    match decided {
        Decided::Outcome(outcome) | Decided::Proceed(outcome) => &outcome.events,
        _ => &[],
    }
}

/// Whether `Reconciled` gives the same reason for this generation.
fn is_said_already(primary: &Object, verdict: &Verdict) -> bool {
    find(status::conditions(primary), status::RECONCILED).is_some_and(|condition| {
        let observed = condition.get("observedGeneration").and_then(Value::as_i64);
        condition.get("reason").and_then(Value::as_str) == Some(verdict.reason.to_string().as_str())
            && (observed.is_none() || observed == primary.generation())
    })
}

fn says_ready(primary: &Object) -> bool {
    find(status::conditions(primary), status::READY).and_then(|ready| ready.get("status")?.as_str()) == Some("True")
}
