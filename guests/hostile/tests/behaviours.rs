//! Checks natively that each behaviour that returns at all does what it is there for.

use serde_json::{Value, json};
use windlass_hostile::{Hostile, Raw};
use windlass_sdk::bindings::exports::windlass::reconciler::guest::{Guest, Reply, Request};
use windlass_sdk::bindings::windlass::reconciler::decision::{ChildrenPlan, DesiredChild, ReconcilerRef};
use windlass_sdk::testing::{Decided, Harness, Report};

fn hostile(behaviour: &str) -> Value {
    json!({
        "apiVersion": "hostile.windlass.test/v1",
        "kind": "Hostile",
        "metadata": {"name": "bad", "namespace": "default"},
        "spec": {"behaviour": behaviour},
    })
}

fn run(behaviour: &str) -> Report {
    Harness::<Hostile>::new().run(&hostile(behaviour))
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
}

#[test]
fn behaviours_with_children_have_them() {
    let cases = [
        ("", 1),
        ("good", 1),
        ("none", 0),
        ("forbidden-child", 2),
        ("foreign-namespace", 2),
        ("host-label", 1),
        ("own-owner", 1),
        ("drop-in-label", 1),
        ("host-annotation", 1),
        ("host-finalizer", 1),
        ("role", 1),
        ("cluster-role", 1),
        ("crd", 1),
        ("reconciler", 1),
        ("own-module", 1),
        ("bad-name", 1),
        ("long-name", 1),
        ("no-name", 1),
        ("no-kind", 1),
        ("floats", 1),
        ("tenth", 1),
        ("ask-most", 0),
        ("ask-zero", 0),
        ("refused-child", 1),
        ("twice", 2),
        ("empty-exactly", 0),
        ("shuffle", 1),
        ("many-children", 1_000),
        ("many-events", 0),
        ("ask-much", 0),
        ("count", 1),
        ("log-flood", 1),
        ("clock", 1),
        ("reconciled", 0),
    ];
    for (behaviour, children) in cases {
        let report = run(behaviour);
        assert!(report.outcome().is_some(), "{behaviour}: {:?}", report.decided);
        assert_eq!(report.children().len(), children, "{behaviour}");
    }
}

#[test]
fn the_primary_chooses_before_the_settings_do() {
    let harness = Harness::<Hostile>::new().settings(json!({"behaviour": "none"}));
    assert_eq!(harness.run(&hostile("")).children().len(), 0);
    assert_eq!(harness.run(&hostile("good")).children().len(), 1);
}

#[test]
fn output_is_big_where_it_should_be() {
    assert!(run("big-output").children()[0].to_string().len() > 8 << 20);
    assert_eq!(run("log-flood").log.len(), 2_000);
}

#[test]
fn questions_never_end() {
    assert!(matches!(run("ask-forever").decided, Decided::StillAsking(_)));
}

#[test]
fn failures_have_a_message() {
    assert_eq!(run("waiting").message(), Some("waits for something on purpose"));
    assert_eq!(run("invalid").message(), Some("spec.behaviour: is wrong on purpose"));
    assert_eq!(
        run("unheard-of").message(),
        Some("spec.behaviour: there is no \"unheard-of\"")
    );
    let refused = Harness::<Hostile>::new()
        .settings(json!({"describe": "error"}))
        .run(&hostile(""));
    assert_eq!(
        refused.message(),
        Some("settings: describe: these settings are refused on purpose")
    );
}

#[test]
fn finalizing_waits_for_the_release() {
    let mut ending = hostile("");
    ending["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let harness = |finalize| Harness::<Hostile>::new().settings(json!({"finalizes": true, "finalize": finalize}));
    let released = [config_map("bad-release")];
    for finalize in ["", "farewell"] {
        assert!(matches!(harness(finalize).run(&ending).decided, Decided::Proceed(_)));
        assert_eq!(
            harness(finalize).world(released.clone()).run(&ending).decided,
            Decided::Done
        );
    }
    assert_eq!(harness("farewell").run(&ending).children().len(), 1);
    assert_eq!(harness("done").run(&ending).decided, Decided::Done);
    assert!(matches!(
        harness("never").world(released).run(&ending).decided,
        Decided::Proceed(_)
    ));
}

#[test]
fn raw_answers_are_what_no_typed_one_can_be() {
    let raw = |behaviour: &str| {
        let request = Request {
            reconciler: ReconcilerRef {
                namespace: "windlass-system".into(),
                name: "hostile".into(),
            },
            primary: hostile(behaviour).to_string(),
            children: Vec::new(),
            not_served: Vec::new(),
            answers: Vec::new(),
            settings: "{}".into(),
            now: 0,
            seed: None,
        };
        let Ok(Reply::Decide(outcome)) = Raw::reconcile(request) else {
            panic!("{behaviour} decides")
        };
        outcome
    };
    for behaviour in ["invalid-json", "invalid-later", "not-an-object", "deep-child"] {
        let ChildrenPlan::Exactly(children) = raw(behaviour).children else {
            panic!("{behaviour} has a child")
        };
        let DesiredChild::Want(child) = &children[0] else {
            panic!("{behaviour} wants it")
        };
        let read = serde_json::from_str::<Value>(&child.object);
        assert!(
            read.is_err() || read.is_ok_and(|object| !object.is_object()),
            "{behaviour}"
        );
    }
    assert!(raw("deep-status").status.is_some_and(|status| status.len() > 20_000));
    assert_eq!(raw("requeue-most").requeue_after, Some(u64::MAX));
    assert_eq!(raw("requeue-zero").requeue_after, Some(0));
    assert!(matches!(raw("good").children, ChildrenPlan::Exactly(_)));
}
