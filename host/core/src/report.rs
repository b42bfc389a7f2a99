//! Derives from what was decided and done what the primary's status, Events and counts must say.

use crate::decision::{Decided, Severity};
use crate::manifest::Manifest;
use crate::object::Object;
use crate::plan::Blocked;
use crate::reason::Reason;
use crate::schema::Served;
use crate::write::{Actor, Applied, Write};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Everything a report depends on.
#[derive(Clone, Debug)]
pub struct Ended<'a> {
    /// For whom.
    pub actor: &'a Actor,
    /// What the guest declared.
    pub manifest: &'a Manifest,
    /// How the primary's kind is served.
    pub served: &'a Served,
    /// The primary as the decision saw it, with our own managedFields entries.
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
}

/// The last stage's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Writes to the primary's status; empty if it says all this already.
    pub writes: Vec<Write>,
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
