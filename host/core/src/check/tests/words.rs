//! Shows the rules for conditions, status and Events.

use super::*;
use crate::decision::{Condition, ConditionStatus, Failure, FailureKind, GuestEvent, Severity};

fn condition(type_: &str, reason: &str, message: &str) -> Condition {
    let status = ConditionStatus::True;
    Condition {
        type_: type_.into(),
        status,
        reason: reason.into(),
        message: message.into(),
    }
}

fn event(reason: &str, note: &str) -> GuestEvent {
    GuestEvent {
        severity: Severity::Normal,
        reason: reason.into(),
        note: note.into(),
    }
}

#[test]
fn status_is_a_map_without_what_is_the_hosts() {
    let cases = [
        (json!({}), None),
        (json!({"phase": "Up", "nested": {"conditions": []}}), None),
        (json!(null), Some((Rule::StatusShape, "not a map"))),
        (json!("up"), Some((Rule::StatusShape, "not a map"))),
        (json!({"a": "x".repeat((128 << 10) - 8)}), None),
        (
            json!({"a": "x".repeat((128 << 10) - 7)}),
            Some((Rule::StatusSize, "holds 129 KiB; at most 128")),
        ),
        (
            json!({"conditions": []}),
            Some((Rule::StatusShape, "they are given apart")),
        ),
        (
            json!({"observedGeneration": 1}),
            Some((Rule::StatusShape, "which the host writes")),
        ),
    ];
    for (status, expected) in cases {
        let outcome = Outcome {
            status: Some(status.clone()),
            ..outcome()
        };
        expect(
            &findings(&manifest(), &primary(), outcome),
            expected,
            &status.to_string(),
        );
    }
}

#[test]
fn nothing_is_said_in_a_status_that_was_not_declared() {
    let mut manifest = manifest();
    manifest.writes_status = false;
    let with_status = Outcome {
        status: Some(json!({})),
        ..outcome()
    };
    let with_conditions = Outcome {
        conditions: vec![condition("Ready", "Up", "")],
        ..outcome()
    };
    for outcome in [with_status, with_conditions] {
        let findings = findings(&manifest, &primary(), outcome);
        expect(
            &findings,
            Some((Rule::StatusUndeclared, "writes-status: false")),
            "undeclared",
        );
    }
}

#[test]
fn conditions_follow_the_api_conventions() {
    let longest = "ä".repeat(32_768);
    let too_long = format!("{longest}ä");
    let wrong = |text: &'static str| Some((Rule::Condition, text));
    let cases = [
        (
            vec![
                condition("Ready", "Up", &longest),
                condition("example.com/Extra", "A_1", ""),
            ],
            None,
        ),
        (
            vec![condition("Reconciled", "Up", "")],
            wrong("Reconciled is the host's own"),
        ),
        (
            vec![condition("Ready", "Up", ""), condition("Ready", "Down", "")],
            wrong("'Ready' is given twice"),
        ),
        (
            vec![condition("Not ready", "Up", "")],
            wrong("The condition type 'Not ready' must be a CamelCase word"),
        ),
        (
            vec![condition("Ready", "", "")],
            wrong("has the reason '', which must be one CamelCase word"),
        ),
        (vec![condition("Ready", "not-camel", "")], wrong("'not-camel'")),
        (
            vec![condition("Ready", "Up", &too_long)],
            wrong("a message of 32769 characters; at most 32768"),
        ),
    ];
    for (conditions, expected) in cases {
        let case = format!(
            "{:?}",
            conditions.last().map(|condition| (&condition.type_, &condition.reason))
        );
        expect(
            &findings(
                &manifest(),
                &primary(),
                Outcome {
                    conditions,
                    ..outcome()
                },
            ),
            expected,
            &case,
        );
    }
}

#[test]
fn conditions_are_counted() {
    let conditions = (0..17).map(|n| condition(&format!("C{n}"), "Up", "")).collect();
    let many = findings(
        &manifest(),
        &primary(),
        Outcome {
            conditions,
            ..outcome()
        },
    );
    expect(
        &many,
        Some((Rule::ConditionsCount, "There are 17 conditions; at most 16")),
        "many",
    );
}

#[test]
fn events_are_few_and_short() {
    let many = |count: usize| vec![event("Up", "note"); count];
    let long_note = "n".repeat(1025);
    let long_reason = "R".repeat(129);
    let cases = [
        (many(8), None),
        (many(9), Some((Rule::EventsCount, "There are 9 Events; at most 8"))),
        (
            vec![event("Up", &long_note)],
            Some((Rule::Event, "a note of 1025 characters; at most 1024")),
        ),
        (vec![event("", "note")], Some((Rule::Event, "has the reason ''"))),
        (
            vec![event(&long_reason, "note")],
            Some((Rule::Event, "a reason of 129 characters; at most 128")),
        ),
    ];
    for (events, expected) in cases {
        let case = format!("{} events", events.len());
        expect(
            &findings(&manifest(), &primary(), Outcome { events, ..outcome() }),
            expected,
            &case,
        );
    }
}

#[test]
fn what_a_failure_says_is_checked_too() {
    let failure = |message: &str, status, conditions| {
        let kind = FailureKind::Waiting;
        let decided = Decided::Failed(Failure {
            kind,
            message: message.into(),
            status,
            conditions,
        });
        check(&manifest(), &primary(), &decided, &OutcomeLimits::default())
    };
    expect(&failure("waits", None, Vec::new()), None, "good");
    expect(
        &failure(&"m".repeat(32_769), None, Vec::new()),
        Some((Rule::Failure, "32769")),
        "long",
    );
    expect(
        &failure("", Some(json!(5)), Vec::new()),
        Some((Rule::StatusShape, "not a map")),
        "status",
    );
    let own = vec![condition("Reconciled", "Up", "")];
    expect(
        &failure("", None, own),
        Some((Rule::Condition, "the host's own")),
        "conditions",
    );
}
