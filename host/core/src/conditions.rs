//! Merges conditions so that times change only with the status.

use crate::decision::{Condition, ConditionStatus};
use crate::text::cut;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The wanted conditions as they are written: `lastTransitionTime` is kept until the status changes,
/// `observedGeneration` is on each.
pub fn stamp(existing: &[Value], wanted: &[Condition], generation: Option<i64>, now: &str) -> Vec<Value> {
    wanted
        .iter()
        .map(|condition| stamp_one(find(existing, &condition.type_), condition, generation, now))
        .collect()
}

/// The whole list: what is there, with the wanted conditions put in their places or at the end.
///
/// For a list that is one value. Entries of other types are kept, as other writers may have put them there; in such a
/// list nothing tells whose they are.
pub fn merge(existing: &[Value], wanted: &[Condition], generation: Option<i64>, now: &str) -> Vec<Value> {
    let stamped = stamp(existing, wanted, generation, now);
    let place = |condition: &Value| find(&stamped, type_of(condition)).unwrap_or(condition).clone();
    let mut merged: Vec<Value> = existing.iter().map(place).collect();
    merged.extend(
        stamped
            .iter()
            .filter(|condition| find(existing, type_of(condition)).is_none())
            .cloned(),
    );
    merged
}

/// Whether the list says all this already. A missing `observedGeneration` is none that the schema has.
pub fn says(existing: &[Value], wanted: &[Value]) -> bool {
    existing.len() == wanted.len()
        && wanted.iter().all(|condition| {
            find(existing, type_of(condition))
                .and_then(Value::as_object)
                .is_some_and(|there| {
                    condition
                        .as_object()
                        .into_iter()
                        .flatten()
                        .all(|(field, value)| match there.get(field) {
                            Some(given) => given == value,
                            None => field == "observedGeneration",
                        })
                })
        })
}

/// The entry of a type.
pub fn find<'a>(conditions: &'a [Value], type_: &str) -> Option<&'a Value> {
    conditions.iter().find(|condition| type_of(condition) == type_)
}

/// The types of all entries.
pub fn types(conditions: &[Value]) -> BTreeSet<&str> {
    conditions.iter().map(type_of).collect()
}

fn stamp_one(there: Option<&Value>, condition: &Condition, generation: Option<i64>, now: &str) -> Value {
    let status = status_text(condition.status);
    let since = there
        .filter(|there| there.get("status").and_then(Value::as_str) == Some(status))
        .and_then(|there| there.get("lastTransitionTime")?.as_str())
        .unwrap_or(now);
    let mut stamped = Map::from_iter([
        ("type".to_owned(), json!(condition.type_)),
        ("status".to_owned(), json!(status)),
        ("reason".to_owned(), json!(cut(&condition.reason))),
        ("message".to_owned(), json!(cut(&condition.message))),
        ("lastTransitionTime".to_owned(), json!(since)),
    ]);
    if let Some(generation) = generation {
        stamped.insert("observedGeneration".into(), json!(generation));
    }
    Value::Object(stamped)
}

fn status_text(status: ConditionStatus) -> &'static str {
    match status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
    }
}

fn type_of(condition: &Value) -> &str {
    condition.get("type").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(type_: &str, status: ConditionStatus) -> Condition {
        Condition {
            type_: type_.into(),
            status,
            reason: "Why".into(),
            message: "So it is.".into(),
        }
    }

    fn ready(status: ConditionStatus) -> Vec<Condition> {
        vec![condition("Ready", status)]
    }

    #[test]
    fn the_time_moves_only_with_the_status() {
        let first = stamp(&[], &ready(ConditionStatus::True), Some(1), "t1");
        let second = stamp(&first, &ready(ConditionStatus::True), Some(2), "t2");
        assert_eq!(
            (&second[0]["lastTransitionTime"], &second[0]["observedGeneration"]),
            (&json!("t1"), &json!(2))
        );
        let third = stamp(&second, &ready(ConditionStatus::False), Some(2), "t3");
        assert_eq!(third[0]["lastTransitionTime"], "t3");
    }

    #[test]
    fn entries_of_other_writers_keep_their_place() {
        let there = [
            json!({"type": "Audited", "x": 1}),
            json!({"type": "Ready", "status": "True"}),
        ];
        let merged = merge(&there, &ready(ConditionStatus::False), None, "t");
        assert_eq!(merged[0], there[0]);
        assert_eq!((&merged[1]["status"], merged.len()), (&json!("False"), 2));
    }

    #[test]
    fn a_schema_without_observed_generation_is_no_difference_for_ever() {
        let wanted = stamp(&[], &ready(ConditionStatus::True), Some(1), "t");
        let mut stored = wanted.clone();
        stored[0].as_object_mut().unwrap().remove("observedGeneration");
        assert!(says(&stored, &wanted));
        stored[0]["reason"] = json!("Other");
        assert!(!says(&stored, &wanted));
    }
}
