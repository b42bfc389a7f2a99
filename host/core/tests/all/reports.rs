//! Carries reports out and makes them again: what the status says already is never written a second time.

use crate::golden::Case;
use crate::world::World;
use serde_json::{Value, json};
use windlass_core::decision::{
    ChildrenPlan, Condition, ConditionStatus, Decided, Failure, FailureKind, Fault, FaultKind, Outcome,
};
use windlass_core::object::Object;
use windlass_core::report::{Next, Report};

fn outcome(status: Value, conditions: &[(&str, ConditionStatus)]) -> Decided {
    let conditions = conditions.iter().map(|(type_, status)| Condition {
        type_: (*type_).into(),
        status: *status,
        reason: "Given".into(),
        message: "As the guest says.".into(),
    });
    Decided::Outcome(Box::new(Outcome {
        children: ChildrenPlan::Unchanged,
        primary: None,
        status: Some(status),
        conditions: conditions.collect(),
        events: Vec::new(),
        requeue_after: None,
    }))
}

fn fault() -> Decided {
    Decided::Faulted(Fault {
        kind: FaultKind::GuestTimedOut,
        message: "nginx 1.0.0 ran for more than 1 s".into(),
    })
}

/// Reports and carries the writes out on the primary; returns how many there were.
fn settle(case: &mut Case, decided: &Decided) -> (Report, usize) {
    let plan = case.plan(decided);
    let report = case.report(decided, &plan);
    let mut world = World::with(vec![case.primary.clone()]);
    let writes: Vec<_> = report.fields.iter().chain(&report.conditions).collect();
    writes
        .iter()
        .for_each(|write| assert!(world.carry_out(write), "{write:?}"));
    case.primary = world.objects.remove(0);
    let writes = writes.len();
    (report, writes)
}

fn condition<'a>(primary: &'a Object, type_: &str) -> Option<&'a Value> {
    primary
        .at(&["status", "conditions"])?
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == type_)
}

#[test]
fn a_03_a_04_the_same_end_is_written_once_whatever_the_time() {
    for conditions in ["keyed", "plain", "absent"] {
        for observed in [true, false] {
            let served = json!({"conditions": conditions, "observedGeneration": observed});
            let mut case = Case::new(&json!({"served": served}));
            let decided = outcome(
                json!({"healthy": true, "urls": ["b", "a"], "empty": {}, "none": []}),
                &[("Healthy", ConditionStatus::True)],
            );
            assert!(settle(&mut case, &decided).1 > 0);
            let before = case.primary.clone();
            case.now = "2027-01-01T00:00:00Z".into();
            assert_eq!(settle(&mut case, &decided).1, 0, "{conditions} {observed}: {before:?}");
        }
    }
}

#[test]
fn i_01_i_02_each_generation_is_observed_on_every_condition_with_its_time_kept() {
    let mut case = Case::new(&json!({}));
    let decided = outcome(json!({"healthy": true}), &[("Healthy", ConditionStatus::True)]);
    settle(&mut case, &decided);
    case.primary.metadata_mut().insert("generation".into(), json!(3));
    case.now = "2027-01-01T00:00:00Z".into();
    assert_eq!(settle(&mut case, &decided).1, 1);
    assert_eq!(case.primary.at(&["status", "observedGeneration"]), Some(&json!(3)));
    for type_ in ["Reconciled", "Ready", "Healthy"] {
        let condition = condition(&case.primary, type_).unwrap();
        assert_eq!(condition["observedGeneration"], 3);
        assert_eq!(condition["lastTransitionTime"], "2026-01-01T00:00:00Z");
    }
}

#[test]
fn a_condition_that_is_given_no_more_is_taken_off_but_not_while_the_guest_cannot_speak() {
    let mut case = Case::new(&json!({}));
    settle(&mut case, &outcome(json!({}), &[("Healthy", ConditionStatus::True)]));
    settle(&mut case, &fault());
    assert_eq!(condition(&case.primary, "Healthy").unwrap()["status"], "True");
    assert_eq!(condition(&case.primary, "Ready").unwrap()["reason"], "GuestTimedOut");
    settle(&mut case, &outcome(json!({}), &[]));
    assert!(condition(&case.primary, "Healthy").is_none());
    assert_eq!(condition(&case.primary, "Ready").unwrap()["status"], "True");
}

#[test]
fn a_fault_leaves_the_guests_fields_as_they_are() {
    let mut case = Case::new(&json!({}));
    settle(&mut case, &outcome(json!({"healthy": true}), &[]));
    settle(&mut case, &fault());
    assert_eq!(case.primary.at(&["status", "healthy"]), Some(&json!(true)));
    settle(&mut case, &outcome(json!({}), &[]));
    assert_eq!(case.primary.at(&["status", "healthy"]), None);
}

#[test]
fn the_guests_ready_counts_only_while_all_is_carried_out() {
    let mut case = Case::new(&json!({}));
    let not_yet = outcome(json!({}), &[("Ready", ConditionStatus::False)]);
    let (report, _) = settle(&mut case, &not_yet);
    assert!(!report.ready && report.events.is_empty());
    assert_eq!(condition(&case.primary, "Ready").unwrap()["reason"], "Given");
    assert_eq!(condition(&case.primary, "Reconciled").unwrap()["status"], "True");
    let waiting = Decided::Failed(Failure {
        kind: FailureKind::Waiting,
        message: "no pod yet".into(),
        status: None,
        conditions: vec![],
    });
    let (report, _) = settle(&mut case, &waiting);
    assert_eq!((report.next, report.ready), (Next::OnChange, false));
    assert_eq!(condition(&case.primary, "Ready").unwrap()["reason"], "Waiting");
}

#[test]
fn i_05_one_failure_is_news_once() {
    let mut case = Case::new(&json!({}));
    let mut news = |decided: &Decided| {
        let (report, _) = settle(&mut case, decided);
        report.events.iter().map(|event| event.is_news).collect::<Vec<_>>()
    };
    assert_eq!(news(&fault()), [true]);
    assert_eq!(news(&fault()), [false], "it goes on");
    assert!(
        news(&outcome(json!({}), &[])).is_empty(),
        "a healthy pass has nothing to say"
    );
    assert_eq!(news(&fault()), [true]);
}

#[test]
fn i_04_long_texts_are_cut_wherever_they_go() {
    let mut case = Case::new(&json!({}));
    let long = Decided::Faulted(Fault {
        kind: FaultKind::GuestTrapped,
        message: "x".repeat(2 << 20),
    });
    let (report, _) = settle(&mut case, &long);
    assert!(report.message.len() <= 1024 && report.events[0].note.len() <= 1024);
    assert!(
        condition(&case.primary, "Ready").unwrap()["message"]
            .as_str()
            .unwrap()
            .len()
            <= 1024
    );
}

#[test]
fn i_04_a_long_text_is_still_the_same_text_the_second_time() {
    let mut case = Case::new(&json!({}));
    let long = Decided::Faulted(Fault {
        kind: FaultKind::GuestTrapped,
        message: "x".repeat(5000),
    });
    settle(&mut case, &long);
    assert_eq!(settle(&mut case, &long).1, 0);
}
