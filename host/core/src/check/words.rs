//! Checks what a guest says to people: status, conditions, Events and failures.

use super::{Context, Findings, Rule, shown};
use crate::decision::{Condition, Failure, GuestEvent};
use crate::syntax;
use serde_json::Value;
use std::collections::BTreeSet;

/// The condition type that is the host's own.
const RECONCILED: &str = "Reconciled";
/// Longest reason of an Event, as the API server has it.
const EVENT_REASON_LENGTH: usize = 128;

/// Status is declared, a map, and without what the host writes.
pub(super) fn status(context: &Context<'_>, status: Option<&Value>, findings: &mut Findings) {
    let Some(status) = status else { return };
    if !context.manifest.writes_status {
        findings.add(Rule::StatusUndeclared, || {
            "The guest gives a status, but its manifest says writes-status: false.".into()
        });
    }
    let (size, limit) = (status.to_string().len(), context.limits.status);
    if size > limit {
        findings.add(Rule::StatusSize, || {
            format!(
                "The status holds {} KiB; at most {} are allowed: put what is large into a child.",
                size.div_ceil(1024),
                limit >> 10
            )
        });
    }
    let Some(status) = status.as_object() else {
        return findings.add(Rule::StatusShape, || "The status is not a map.".into());
    };
    if status.contains_key("conditions") {
        findings.add(Rule::StatusShape, || {
            "The status has conditions; they are given apart, so that other writers' conditions stay.".into()
        });
    }
    if status.contains_key("observedGeneration") {
        findings.add(Rule::StatusShape, || {
            "The status has observedGeneration, which the host writes where the schema has it.".into()
        });
    }
}

/// Conditions are declared and follow the API conventions, each type once.
pub(super) fn conditions(context: &Context<'_>, conditions: &[Condition], findings: &mut Findings) {
    if !conditions.is_empty() && !context.manifest.writes_status {
        findings.add(Rule::StatusUndeclared, || {
            "The guest gives conditions, but its manifest says writes-status: false.".into()
        });
    }
    let limit = context.limits.conditions;
    if conditions.len() > limit {
        findings.add(Rule::ConditionsCount, || {
            format!(
                "There are {} conditions; at most {limit} are allowed.",
                conditions.len()
            )
        });
    }
    let mut types = BTreeSet::new();
    for condition in conditions {
        let type_ = shown(&condition.type_);
        if condition.type_ == RECONCILED {
            findings.add(Rule::Condition, || {
                "The condition type Reconciled is the host's own.".into()
            });
        }
        if !types.insert(condition.type_.as_str()) {
            findings.add(Rule::Condition, || {
                format!("The condition type '{type_}' is given twice.")
            });
        }
        if let Err(rule) = syntax::condition_type(&condition.type_) {
            findings.add(Rule::Condition, || format!("The condition type '{type_}' {rule}."));
        }
        if let Err(rule) = syntax::reason(&condition.reason) {
            let reason = shown(&condition.reason);
            findings.add(Rule::Condition, || {
                format!("The condition '{type_}' has the reason '{reason}', which {rule}.")
            });
        }
        if let Some(length) = too_long(&condition.message, context.limits.message) {
            let limit = context.limits.message;
            findings.add(Rule::Condition, || {
                format!("The condition '{type_}' has a message of {length} characters; at most {limit} are allowed.")
            });
        }
    }
}

/// Events are few and such that the API server takes them.
pub(super) fn events(context: &Context<'_>, events: &[GuestEvent], findings: &mut Findings) {
    let limit = context.limits.events;
    if events.len() > limit {
        findings.add(Rule::EventsCount, || {
            format!(
                "There are {} Events; at most {limit} are allowed in one decision.",
                events.len()
            )
        });
    }
    for event in events {
        let reason = shown(&event.reason);
        if let Err(rule) = syntax::reason(&event.reason) {
            findings.add(Rule::Event, || {
                format!("An Event has the reason '{reason}', which {rule}.")
            });
        } else if let Some(length) = too_long(&event.reason, EVENT_REASON_LENGTH) {
            findings.add(Rule::Event, || {
                format!("An Event has a reason of {length} characters; at most {EVENT_REASON_LENGTH} are allowed.")
            });
        }
        if let Some(length) = too_long(&event.note, context.limits.note) {
            let limit = context.limits.note;
            findings.add(Rule::Event, || {
                format!("The Event '{reason}' has a note of {length} characters; at most {limit} are allowed.")
            });
        }
    }
}

/// A failure's message becomes a condition's and has the same limit.
pub(super) fn failure(context: &Context<'_>, failure: &Failure, findings: &mut Findings) {
    if let Some(length) = too_long(&failure.message, context.limits.message) {
        let limit = context.limits.message;
        findings.add(Rule::Failure, || {
            format!("The failure has a message of {length} characters; at most {limit} are allowed.")
        });
    }
}

/// The length in characters, if it is over the limit.
fn too_long(text: &str, limit: usize) -> Option<usize> {
    // A text has at least as many bytes as characters.
    (text.len() > limit)
        .then(|| text.chars().count())
        .filter(|length| *length > limit)
}
