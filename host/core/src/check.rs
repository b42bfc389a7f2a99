//! Checks a finished decision whole, with small rules that return findings, before anything of it is used.

use crate::decision::{Decided, Fault, FaultKind, Outcome};
use crate::manifest::Manifest;
use crate::object::Object;
use std::borrow::Cow;

mod children;
mod metadata;
mod primary;
mod queries;
mod words;

pub use metadata::HOST_METADATA;
pub use queries::{MAX_QUERIES, MAX_QUERY_BYTES, MAX_QUERY_FIELDS, MAX_QUERY_LIMIT, MAX_QUERY_SELECTOR, check_queries};

/// Findings that are kept of one answer. An answer of 4 MiB could break a rule with each of half a million labels, and
/// all their messages would fill the host's memory.
const MAX_FINDINGS: usize = 100;

/// Which rule was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// An object has `apiVersion`, `kind`, and metadata of the right types.
    ObjectShape,
    /// A child's kind is declared, in that version.
    ChildKind,
    /// A child has a name, given by the guest, that the API server takes.
    ChildName,
    /// A child lives where its primary allows it.
    ChildNamespace,
    /// A child is not its own primary.
    ChildIsPrimary,
    /// No child is named twice.
    ChildTwice,
    /// No children are wanted explicitly, not by an empty list.
    ChildrenEmpty,
    /// There are not more children than allowed.
    ChildrenCount,
    /// Nothing of the group `windlass.dev`, nor any mark under it.
    HostMark,
    /// No owner and no status: the host sets the one, and who runs the kind the other.
    HostField,
    /// No Secret is written with what stands in for a hidden value.
    HiddenValue,
    /// No list has an entry twice that is told from others by a key.
    ListTwice,
    /// Labels and annotations are such that the API server takes them.
    Label,
    /// Status is given only where declared.
    StatusUndeclared,
    /// Status is a map without what is the host's.
    StatusShape,
    /// The status is not too large.
    StatusSize,
    /// Conditions follow the API conventions.
    Condition,
    /// There are not more conditions than allowed.
    ConditionsCount,
    /// Fields of the primary are within what is declared.
    PrimaryField,
    /// There are not more Events than allowed.
    EventsCount,
    /// Events are such that the API server takes them.
    Event,
    /// A failure's message is not longer than allowed.
    Failure,
    /// A query's kind is declared.
    QueryKind,
    /// A query stays within the namespaces that are declared.
    QueryNamespace,
    /// A query names what it looks for, in a way that can be looked up.
    QueryTerm,
    /// A query's limit is sensible.
    QueryLimit,
    /// Queries have ids of their own.
    QueryId,
    /// There are not more queries than allowed.
    QueriesCount,
    /// Queries are not longer than allowed.
    QueriesSize,
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which rule.
    pub rule: Rule,
    /// What breaks it and what to do instead, in whole sentences.
    pub message: String,
}

/// How much a guest may answer in one decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutcomeLimits {
    /// Entries of the set of children. Stops a guest that floods the API server and etcd through one primary.
    pub children: usize,
    /// Bytes of the status fields, as JSON. Stops a guest that makes the primary too large to be stored, so that nobody could
    /// edit it any more (I-04).
    pub status: usize,
    /// Conditions. Stops a guest that makes the primary too large for the API server to store.
    pub conditions: usize,
    /// Characters of a condition's or failure's message; the API convention's own limit. Stops an answer that would be
    /// refused by the API server as a whole, and with it the host's own condition.
    pub message: usize,
    /// Events of a decision. Stops a guest that pushes other Events out of etcd.
    pub events: usize,
    /// Characters of an Event's note; the API server's own limit. Stops Events that can never be written.
    pub note: usize,
}

impl Default for OutcomeLimits {
    fn default() -> Self {
        Self {
            children: 256,
            status: 128 << 10,
            conditions: 16,
            message: 32_768,
            events: 8,
            note: 1024,
        }
    }
}

/// Checks everything that a guest decided about a primary; nothing of it may be used unless the list is empty.
pub fn check(manifest: &Manifest, primary: &Object, decided: &Decided, limits: &OutcomeLimits) -> Vec<Finding> {
    let context = Context {
        manifest,
        primary,
        limits,
    };
    let mut findings = Findings::default();
    match decided {
        Decided::Outcome(outcome) | Decided::Proceed(outcome) => check_outcome(&context, outcome, &mut findings),
        Decided::Failed(failure) => {
            words::status(&context, failure.status.as_ref(), &mut findings);
            words::conditions(&context, &failure.conditions, &mut findings);
            words::failure(&context, failure, &mut findings);
        }
        Decided::Done | Decided::Skipped(_) | Decided::Leaving | Decided::Faulted(_) => {}
    }
    findings.list
}

/// The fault that findings amount to: the first three in words and how many more there are; none if there are none.
pub fn rejected(findings: &[Finding]) -> Option<Fault> {
    if findings.is_empty() {
        return None;
    }
    let mut message = findings
        .iter()
        .take(3)
        .map(|finding| finding.message.as_str())
        .collect::<Vec<_>>()
        .join(" ");
    match findings.len().saturating_sub(3) {
        0 => {}
        1 => message.push_str(" One more rule is broken."),
        more => message.push_str(&format!(" {more} more rules are broken.")),
    }
    Some(Fault {
        kind: FaultKind::GuestOutputRejected,
        message,
    })
}

fn check_outcome(context: &Context<'_>, outcome: &Outcome, findings: &mut Findings) {
    children::check(context, &outcome.children, findings);
    if let Some(object) = &outcome.primary {
        primary::check(context, object, findings);
    }
    words::status(context, outcome.status.as_ref(), findings);
    words::conditions(context, &outcome.conditions, findings);
    words::events(context, &outcome.events, findings);
}

/// What every rule may look at.
struct Context<'a> {
    manifest: &'a Manifest,
    primary: &'a Object,
    limits: &'a OutcomeLimits,
}

/// The first [`MAX_FINDINGS`] broken rules.
#[derive(Default)]
struct Findings {
    list: Vec<Finding>,
}

impl Findings {
    /// Adds a finding. The message is made only if there is room for it.
    fn add(&mut self, rule: Rule, message: impl FnOnce() -> String) {
        if self.list.len() < MAX_FINDINGS {
            self.list.push(Finding {
                rule,
                message: message(),
            });
        }
    }
}

/// A guest's text as it may stand in a message: of one line, and cut where it is long.
fn shown(text: &str) -> Cow<'_, str> {
    const LENGTH: usize = 120;
    if text.len() <= LENGTH && !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let printable = |character: char| if character.is_control() { '?' } else { character };
    let cut = text.chars().nth(LENGTH).is_some();
    Cow::Owned(
        text.chars()
            .take(LENGTH)
            .map(printable)
            .chain(cut.then_some('…'))
            .collect(),
    )
}

#[cfg(test)]
mod tests;
