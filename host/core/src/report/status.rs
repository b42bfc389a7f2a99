//! Derives the writes to a primary's status: the host's conditions and the guest's fields, apart from each other.

use super::Ended;
use super::verdict::{Verdict, is_released};
use crate::conditions::{find, merge, says, stamp, types};
use crate::decision::{Condition, ConditionStatus, Decided};
use crate::managed_fields::{has_applied, owned_condition_types};
use crate::names::{conditions_manager, status_manager};
use crate::object::Object;
use crate::plan::identify;
use crate::schema::ConditionsSchema;
use crate::write::{Request, Subresource, Target, Write};
use serde_json::{Map, Value, json};

/// Type of the host's own condition.
pub(super) const RECONCILED: &str = "Reconciled";
/// Type of the condition that everybody waits for.
pub(super) const READY: &str = "Ready";

/// The conditions that the primary has now.
pub(super) fn conditions(primary: &Object) -> &[Value] {
    primary
        .at(&["status", "conditions"])
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Whether the primary is ready: reconciled, and the guest does not say otherwise.
pub(super) fn is_ready(ended: &Ended<'_>, verdict: &Verdict) -> bool {
    verdict.is_reconciled() && ready(given(ended).unwrap_or_default(), verdict).status == ConditionStatus::True
}

/// What has to be written for the status to say how the decision ended: the guest's fields, and the conditions.
pub(super) fn writes(ended: &Ended<'_>, verdict: &Verdict) -> (Option<Write>, Option<Write>) {
    if !ended.manifest.writes_status || !ended.served.status_subresource || is_released(ended) {
        return (None, None);
    }
    let conditions = match ended.served.conditions {
        ConditionsSchema::Plain => replaced_conditions(ended, verdict),
        ConditionsSchema::Keyed | ConditionsSchema::Absent => applied_conditions(ended, verdict),
    };
    (guest_fields(ended), conditions)
}

/// All our conditions as one apply, which takes off those that are given no more.
fn applied_conditions(ended: &Ended<'_>, verdict: &Verdict) -> Option<Write> {
    let mut status = observed_generation(ended);
    if ended.served.conditions == ConditionsSchema::Keyed {
        status.insert("conditions".into(), Value::Array(keyed_conditions(ended, verdict)));
    }
    let manager = conditions_manager(&ended.actor.reconciler);
    // The host's own types are the host's, whoever wrote them before.
    applied(ended, manager, Value::Object(status), true)
}

fn keyed_conditions(ended: &Ended<'_>, verdict: &Verdict) -> Vec<Value> {
    let there = conditions(ended.primary);
    let owned = owned_condition_types(ended.primary, &conditions_manager(&ended.actor.reconciler));
    let is_host_made = |type_: &str| type_ == RECONCILED || type_ == READY;
    let is_strange = |type_: &str| !is_host_made(type_) && types(there).contains(type_) && !owned.contains(type_);
    let mut wanted = wanted(ended, verdict);
    // An entry that another writer made is not taken over (B-10).
    wanted.retain(|condition| !is_strange(&condition.type_));
    let mut all = stamp(there, &wanted, ended.primary.generation(), ended.now);
    if given(ended).is_none() {
        // The guest did not speak: what it said last stays, under the generation it was said for.
        let earlier = owned
            .iter()
            .filter(|type_| !is_host_made(type_))
            .filter_map(|type_| find(there, type_));
        all.extend(earlier.cloned());
    }
    all
}

/// The whole list as one value, so that it can be lost to nobody who wrote in between.
fn replaced_conditions(ended: &Ended<'_>, verdict: &Verdict) -> Option<Write> {
    let there = conditions(ended.primary);
    let merged = merge(there, &wanted(ended, verdict), ended.primary.generation(), ended.now);
    let mut status = observed_generation(ended);
    let is_observed = status
        .iter()
        .all(|(field, value)| ended.primary.at(&["status", field]) == Some(value));
    if is_observed && says(there, &merged) {
        return None;
    }
    status.insert("conditions".into(), Value::Array(merged));
    let metadata = json!({"resourceVersion": ended.primary.resource_version(), "uid": ended.primary.uid()});
    let patch = json!({"metadata": metadata, "status": status});
    Some(write(
        ended,
        conditions_manager(&ended.actor.reconciler),
        Request::MergePatch(patch),
    ))
}

/// The guest's own fields, never against another manager.
fn guest_fields(ended: &Ended<'_>) -> Option<Write> {
    let status = match spoken(ended)? {
        Decided::Outcome(outcome) | Decided::Proceed(outcome) => outcome.status.as_ref(),
        Decided::Failed(failure) => failure.status.as_ref(),
        _ => None,
    };
    let mut status = status?.as_object()?.clone();
    status.remove("conditions");
    if ended.served.observed_generation {
        status.remove("observedGeneration");
    }
    without_empty_maps(&mut status);
    applied(
        ended,
        status_manager(&ended.actor.reconciler),
        Value::Object(status),
        false,
    )
}

/// Leaves out maps with nothing in them. Where an apply empties a map, the API server stores null in its place, which no
/// schema of a map allows (seen on 1.37.2); a map that is left out goes as a whole.
fn without_empty_maps(map: &mut Map<String, Value>) {
    map.retain(|_, value| match value {
        Value::Object(inner) => {
            without_empty_maps(inner);
            !inner.is_empty()
        }
        _ => true,
    });
}

/// `Reconciled`, `Ready`, and what else the guest gives.
fn wanted(ended: &Ended<'_>, verdict: &Verdict) -> Vec<Condition> {
    let given = given(ended).unwrap_or_default();
    let mut wanted = vec![host_condition(RECONCILED, verdict), ready(given, verdict)];
    wanted.extend(
        given
            .iter()
            .filter(|condition| condition.type_ != RECONCILED && condition.type_ != READY)
            .cloned(),
    );
    wanted
}

/// The guest's `Ready`, or True; what `Reconciled` says while that is not True, so that nobody who waits for `Ready` takes
/// an old one for new (I-01).
fn ready(given: &[Condition], verdict: &Verdict) -> Condition {
    let guests = given
        .iter()
        .find(|condition| condition.type_ == READY && verdict.is_reconciled());
    guests.cloned().unwrap_or_else(|| host_condition(READY, verdict))
}

fn host_condition(type_: &str, verdict: &Verdict) -> Condition {
    let status = if verdict.is_reconciled() {
        ConditionStatus::True
    } else {
        ConditionStatus::False
    };
    Condition {
        type_: type_.into(),
        status,
        reason: verdict.reason.to_string(),
        message: verdict.message.clone(),
    }
}

/// The guest's conditions, none if it did not speak.
fn given<'a>(ended: &Ended<'a>) -> Option<&'a [Condition]> {
    match spoken(ended)? {
        Decided::Outcome(outcome) | Decided::Proceed(outcome) => Some(&outcome.conditions),
        Decided::Failed(failure) => Some(&failure.conditions),
        _ => None,
    }
}

/// The decision if the guest's words count: not from `reconcile` once the primary is being deleted.
fn spoken<'a>(ended: &Ended<'a>) -> Option<&'a Decided> {
    let is_late = matches!(ended.decided, Decided::Outcome(_)) && ended.primary.is_being_deleted();
    (!is_late).then_some(ended.decided)
}

fn observed_generation(ended: &Ended<'_>) -> Map<String, Value> {
    let generation = ended.primary.generation().filter(|_| ended.served.observed_generation);
    generation
        .into_iter()
        .map(|generation| ("observedGeneration".into(), json!(generation)))
        .collect()
}

fn applied(ended: &Ended<'_>, manager: String, status: Value, force: bool) -> Option<Write> {
    let is_empty = status.as_object().is_some_and(Map::is_empty);
    let mut object = Object(if is_empty {
        Map::new()
    } else {
        Map::from_iter([("status".to_owned(), status)])
    });
    identify(&mut object, &ended.served.kind, ended.primary);
    if has_applied(&object, ended.primary, &manager, Subresource::Status) {
        return None;
    }
    Some(write(ended, manager, Request::Apply { object, force }))
}

fn write(ended: &Ended<'_>, manager: String, request: Request) -> Write {
    Write {
        identity: ended.actor.identity.clone(),
        target: Target::of(&ended.served.kind, ended.primary),
        subresource: Subresource::Status,
        manager,
        request,
    }
}
