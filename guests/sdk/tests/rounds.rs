//! Shows how questions and answers make rounds, on a guest that counts ConfigMaps.

use serde::Deserialize;
use serde_json::{Value, json};
use windlass_sdk::testing::{Decided, Harness};
use windlass_sdk::{
    Condition, ConditionStatus, Context, Failure, Finalized, Kind, KindRef, Manifest, NoSettings, Object, Outcome,
    PartialObject, Projection, Query, Read, Reconciler, Stop, log,
};

const COUNTERS: Kind = Kind::namespaced("example.com", "v1", "Counter", "counters");
const CONFIG_MAPS: Kind = Kind::namespaced("", "v1", "ConfigMap", "configmaps");

#[derive(Deserialize)]
struct Spec {
    labels: Vec<String>,
}

struct Counter;

impl Reconciler for Counter {
    type Primary = Object<Spec>;
    type Settings = NoSettings;

    fn describe(_: &NoSettings) -> Result<Manifest, String> {
        let read = Read::new(CONFIG_MAPS, Projection::Metadata);
        Ok(Manifest::new("counter", "1", COUNTERS)
            .read(read)
            .writes_status()
            .finalizes())
    }

    fn reconcile(context: &Context<NoSettings>, counter: &Object<Spec>) -> Result<Outcome, Stop> {
        log::debug("called");
        let query = |labels: &String| {
            Query::labels(&CONFIG_MAPS, labels)
                .namespace(&counter.metadata.namespace)
                .limit(2)
        };
        let mut counts = Vec::new();
        for answer in context.ask_each(&counter.spec.labels.iter().map(query).collect::<Vec<_>>())? {
            counts.push(answer.all::<PartialObject>()?.len());
        }
        Ok(Outcome::unchanged().status(&json!({"counts": counts})))
    }

    fn finalize(context: &Context<NoSettings>, counter: &Object<Spec>) -> Result<Finalized, Stop> {
        let mut before = Query::name(&CONFIG_MAPS, "end").namespace(&counter.metadata.namespace);
        // Each question is known only after the answer to the one before.
        for number in 0..counter.spec.labels.len() {
            context.ask(before)?;
            before = Query::name(&CONFIG_MAPS, format!("end-{number}")).namespace(&counter.metadata.namespace);
        }
        let condition = Condition::new("Ready", ConditionStatus::False, "Ending", "It is ending.");
        match counter.metadata.name.as_str() {
            "stuck" => Err(Failure::waiting("stuck").condition(condition).into()),
            _ => Ok(Finalized::Done),
        }
    }
}

fn counter(labels: &[&str]) -> Value {
    json!({"metadata": {"name": "c", "namespace": "default"}, "spec": {"labels": labels}})
}

fn config_map(name: &str, app: &str) -> Value {
    let metadata = json!({"name": name, "namespace": "default", "labels": {"app": app}});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}})
}

fn config_maps() -> KindRef {
    CONFIG_MAPS.of
}

#[test]
fn questions_that_are_known_together_take_one_round() {
    let world = [config_map("one", "a"), config_map("two", "a"), config_map("three", "b")];
    let report = Harness::<Counter>::new()
        .world(world)
        .run(&counter(&["app=a", "app=b", "app=c", "app=a"]));
    assert_eq!(report.status(), Some(json!({"counts": [2, 1, 0, 2]})));
    assert_eq!((report.rounds, report.asked.len(), report.log.len()), (2, 3, 2));
}

#[test]
fn not_knowing_is_never_nothing() {
    let many = ["one", "two", "three"].map(|name| config_map(name, "a"));
    let cases = [
        (
            Harness::new().not_served(config_maps()),
            "the cluster does not serve a kind that it reads",
        ),
        (
            Harness::new().forbidden(config_maps(), "may not list configmaps"),
            "may not list configmaps",
        ),
        (Harness::new().world(many), "there are more than 2 objects"),
    ];
    for (harness, message) in cases {
        let harness: Harness<Counter> = harness;
        let report = harness.run(&counter(&["app=a"]));
        assert_eq!((report.message(), report.status()), (Some(message), None));
    }
}

#[test]
fn a_guest_that_goes_on_asking_is_stopped() {
    let mut ending = counter(&["1", "2", "3", "4"]);
    ending["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let report = Harness::<Counter>::new().run(&ending);
    assert!(matches!(report.decided, Decided::StillAsking(_)));
    assert_eq!((report.rounds, report.asked.len()), (4, 4));
}

#[test]
fn a_deleted_primary_is_finalized() {
    let mut ending = counter(&[]);
    ending["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(Harness::<Counter>::new().run(&ending).decided, Decided::Done);
    ending["metadata"]["name"] = json!("stuck");
    assert_eq!(Harness::<Counter>::new().run(&ending).message(), Some("stuck"));
}

#[test]
fn a_wrong_primary_or_setting_is_refused_by_name() {
    let report = Harness::<Counter>::new().run(&json!({"metadata": {}, "spec": {"labels": [1]}}));
    assert_eq!(
        report.message(),
        Some("spec.labels[0]: invalid type: integer `1`, expected a string")
    );
    let report = Harness::<Counter>::new().settings(json!({"a": 1})).run(&counter(&[]));
    assert_eq!(
        report.message(),
        Some("settings: a: unknown field `a`, there are no fields")
    );
}

#[test]
#[should_panic(expected = "outside the primary's namespace")]
fn asking_more_than_the_manifest_says_is_caught() {
    let mut elsewhere = counter(&["app=a"]);
    elsewhere["metadata"] = json!({"name": "c", "namespace": "default"});
    struct Nosy;
    impl Reconciler for Nosy {
        type Primary = Object<Spec>;
        type Settings = NoSettings;
        fn describe(settings: &NoSettings) -> Result<Manifest, String> {
            Counter::describe(settings)
        }
        fn reconcile(context: &Context<NoSettings>, _: &Object<Spec>) -> Result<Outcome, Stop> {
            context.ask(Query::name(&CONFIG_MAPS, "x"))?;
            Ok(Outcome::unchanged())
        }
    }
    Harness::<Nosy>::new().run(&elsewhere);
}
