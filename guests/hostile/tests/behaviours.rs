//! Checks natively that each behaviour that returns at all does what it is there for.

use serde_json::{Value, json};
use windlass_hostile::Hostile;
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
        ("bad-name", 1),
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
    assert_eq!(run("log-flood").log.len(), 10_000);
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
