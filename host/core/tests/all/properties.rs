//! Tries plans on whatever the cluster may hold: they settle, touch nothing of strangers and do not depend on order.

use crate::golden::Case;
use crate::world::World;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use windlass_core::decision::{ChildrenPlan, Decided, DesiredChild, Outcome, Propagation, WantedChild, WriteMode};
use windlass_core::inventory::is_ours;
use windlass_core::object::Object;
use windlass_core::plan::Plan;
use windlass_core::write::Request;

const OURS: &str = "windlass:team-a:nginx";

/// What somebody does to an object between two decisions.
#[derive(Clone, Copy, Debug)]
enum Meddling {
    Scale,
    StripLabels,
    StripOwner,
    ForgetFields,
    MarkDeleted,
    MoveToAnotherController,
    EditAnnotation,
}

fn object(kind: &str, name: &str, number: u8) -> Object {
    let (api_version, body) = match kind {
        "Deployment" => {
            let ports = json!([{"containerPort": 80}, {"containerPort": number, "protocol": "UDP"}]);
            let containers =
                json!([{"name": "nginx", "image": format!("nginx:{number}"), "ports": ports, "args": ["-g"]}]);
            let labels = json!({"app": name});
            let template = json!({"metadata": {"labels": labels}, "spec": {"containers": containers, "volumes": []}});
            (
                "apps/v1",
                json!({"spec": {"replicas": number, "selector": {"matchLabels": labels}, "template": template}}),
            )
        }
        "Service" => (
            "v1",
            json!({"spec": {"selector": {"app": name}, "type": format!("T{number}")}}),
        ),
        _ => ("v1", json!({"data": {"number": number.to_string()}})),
    };
    let mut object = Object::from_value(body).unwrap();
    object.0.insert("apiVersion".into(), json!(api_version));
    object.0.insert("kind".into(), json!(kind));
    object.0.insert(
        "metadata".into(),
        json!({"name": name, "labels": {format!("n{number}"): "x"}}),
    );
    object
}

fn children() -> impl Strategy<Value = Vec<WantedChild>> {
    let all: Vec<(&str, &str)> = ["Deployment", "ConfigMap", "Service"]
        .iter()
        .flat_map(|kind| ["a", "b"].map(|name| (*kind, name)))
        .collect();
    let modes = select(vec![
        WriteMode::Apply,
        WriteMode::Apply,
        WriteMode::ApplyOrRecreate,
        WriteMode::CreateOnce,
    ]);
    let propagation = select(vec![
        Propagation::Background,
        Propagation::Foreground,
        Propagation::Orphan,
    ]);
    let terms = proptest::collection::vec((modes, propagation, any::<bool>(), 0u8..3), 6);
    (subsequence(all, 0..=6), terms).prop_map(|(names, terms)| {
        let each = names.into_iter().zip(terms);
        each.map(|((kind, name), (mode, propagation, retain, number))| WantedChild {
            object: object(kind, name, number),
            mode,
            propagation,
            retain,
        })
        .collect()
    })
}

/// The same children in two orders.
fn shuffled_children() -> impl Strategy<Value = (Vec<WantedChild>, Vec<WantedChild>)> {
    children().prop_flat_map(|children| (Just(children.clone()), Just(children).prop_shuffle()))
}

fn meddling() -> impl Strategy<Value = Vec<(usize, Meddling)>> {
    use Meddling::*;
    let all = vec![
        Scale,
        StripLabels,
        StripOwner,
        ForgetFields,
        MarkDeleted,
        MoveToAnotherController,
        EditAnnotation,
    ];
    proptest::collection::vec((0usize..6, select(all)), 0..4)
}

fn decided(wanted: &[WantedChild]) -> Decided {
    let children = match wanted {
        [] => ChildrenPlan::NoneWanted,
        wanted => ChildrenPlan::Exactly(
            wanted
                .iter()
                .cloned()
                .map(|child| DesiredChild::Want(Box::new(child)))
                .collect(),
        ),
    };
    let (conditions, events) = (Vec::new(), Vec::new());
    Decided::Outcome(Box::new(Outcome {
        children,
        primary: None,
        status: None,
        conditions,
        events,
        requeue_after: None,
    }))
}

/// What a guest may want of its primary, one after the other.
fn primary_fields() -> impl Strategy<Value = Vec<Option<Value>>> {
    let wanted = select(vec![
        None,
        Some(json!({"metadata": {"annotations": {"a": "1"}}})),
        Some(json!({"metadata": {"annotations": {"a": "2", "b": "1"}, "labels": {"c": "1"}}})),
        Some(json!({"spec": {"replicas": 5}})),
        Some(json!({"metadata": {"labels": {"c": "1"}}, "spec": {"replicas": 6}})),
    ]);
    proptest::collection::vec(wanted, 1..6)
}

fn meddle(object: &mut Object, meddling: Meddling) {
    let mut value = Value::Object(object.0.clone());
    let metadata = &mut value["metadata"];
    match meddling {
        Meddling::Scale => {
            for entry in metadata["managedFields"].as_array_mut().into_iter().flatten() {
                if let Some(spec) = entry.pointer_mut("/fieldsV1/f:spec").and_then(Value::as_object_mut) {
                    spec.remove("f:replicas");
                }
            }
        }
        Meddling::StripLabels => drop(metadata.as_object_mut().unwrap().remove("labels")),
        Meddling::StripOwner => drop(metadata.as_object_mut().unwrap().remove("ownerReferences")),
        Meddling::ForgetFields => metadata["managedFields"] = json!([{}]),
        Meddling::MarkDeleted => metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
        Meddling::MoveToAnotherController => {
            let other =
                json!({"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "uid-other", "controller": true});
            metadata["ownerReferences"] = json!([other]);
        }
        Meddling::EditAnnotation => metadata["annotations"]["windlass.dev/applied"] = json!("edited"),
    }
    *object = Object::from_value(value).unwrap();
}

/// Puts what a watch by our labels shows into `children`; the rest can only be met by a create.
fn look(case: &mut Case, world: &World) {
    let labelled = |object: &&Object| object.label("windlass.dev/primary-uid") == Some("uid-primary");
    case.children = world.objects.iter().filter(labelled).cloned().collect();
    case.in_the_way = world
        .objects
        .iter()
        .filter(|object| !labelled(object))
        .cloned()
        .collect();
}

/// Decides and carries out until nothing is left to write; returns the last plan.
fn settle(case: &mut Case, world: &mut World, decided: &Decided) -> Plan {
    for _ in 0..4 {
        look(case, world);
        let plan = case.plan(decided);
        if plan.is_empty() {
            return plan;
        }
        plan.writes()
            .for_each(|write| assert!(world.carry_out(write), "{write:#?}\n{world:#?}"));
    }
    panic!("still writing: {:#?}", case.plan(decided));
}

fn stranger(kind: &str, name: &str, number: usize) -> Object {
    let mut stranger = object(kind, name, 9);
    let metadata = stranger.metadata_mut();
    metadata.insert("namespace".into(), json!("team-a"));
    metadata.insert("uid".into(), json!(format!("uid-stranger-{number}")));
    metadata.insert(
        "managedFields".into(),
        json!([{"manager": "kubectl", "operation": "Update"}]),
    );
    stranger
}

#[test]
fn a_take_over_that_came_too_late_is_made_up_for() {
    let child = |number| WantedChild {
        object: object("Deployment", "a", number),
        mode: WriteMode::Apply,
        propagation: Propagation::Background,
        retain: false,
    };
    let mut case = Case::new(&json!({}));
    let mut world = World::with(Vec::new());
    settle(&mut case, &mut world, &decided(&[child(0)]));
    look(&mut case, &world);
    let plan = case.plan(&decided(&[child(1)]));
    let applies = plan
        .writes()
        .filter(|write| matches!(write.request, Request::Apply { .. }));
    applies.for_each(|write| assert!(world.carry_out(write)));
    assert_eq!(
        world.objects[0].label("n0"),
        Some("x"),
        "the entry of the POST still holds it"
    );
    settle(&mut case, &mut world, &decided(&[child(1)]));
    assert_eq!(world.objects[0].label("n0"), None);
}

proptest! {
    #[test]
    fn a_plan_that_was_carried_out_is_followed_by_an_empty_one(first in children(), second in children(), meddling in meddling()) {
        let mut case = Case::new(&json!({}));
        let mut world = World::with(Vec::new());
        prop_assert!(settle(&mut case, &mut world, &decided(&first)).blocked.is_empty());
        let count = world.objects.len();
        for (index, meddling) in meddling.into_iter().filter(|(index, _)| *index < count) {
            meddle(&mut world.objects[index], meddling);
        }
        settle(&mut case, &mut world, &decided(&second));
    }

    #[test]
    fn fresh_children_are_written_once_and_each_as_one_request(wanted in children()) {
        let mut case = Case::new(&json!({}));
        let mut world = World::with(Vec::new());
        let decided = decided(&wanted);
        let plan = case.plan(&decided);
        prop_assert_eq!(plan.writes().count(), wanted.len());
        plan.writes().for_each(|write| assert!(world.carry_out(write)));
        look(&mut case, &world);
        prop_assert_eq!(case.plan(&decided), Plan::default());
    }

    #[test]
    fn what_is_carried_out_is_what_was_wanted(first in children(), second in children()) {
        let mut case = Case::new(&json!({}));
        let mut world = World::with(Vec::new());
        settle(&mut case, &mut world, &decided(&first));
        settle(&mut case, &mut world, &decided(&second));
        prop_assert_eq!(world.objects.len(), second.len());
        for child in second.iter().filter(|child| child.mode == WriteMode::Apply) {
            let is_it = |object: &&Object| object.kind() == child.object.kind() && object.name() == child.object.name();
            let live = world.objects.iter().find(is_it).unwrap();
            prop_assert_eq!(live.0.get("spec"), child.object.0.get("spec"));
            let labels: BTreeSet<_> = live.labels().filter(|(key, _)| !key.contains('/')).map(|(key, _)| key.to_owned()).collect();
            let wanted: BTreeSet<_> = child.object.labels().map(|(key, _)| key.to_owned()).collect();
            prop_assert_eq!(labels, wanted, "a label that is no longer wanted goes");
        }
    }

    #[test]
    fn the_order_of_children_does_not_matter(wanted in children(), second in shuffled_children(), meddling in meddling()) {
        let mut case = Case::new(&json!({}));
        let mut world = World::with(Vec::new());
        settle(&mut case, &mut world, &decided(&wanted));
        let count = world.objects.len();
        for (index, meddling) in meddling.into_iter().filter(|(index, _)| *index < count) {
            meddle(&mut world.objects[index], meddling);
        }
        look(&mut case, &world);
        let (straight, shuffled) = second;
        let plan = case.plan(&decided(&straight));
        case.children.reverse();
        case.in_the_way.reverse();
        prop_assert_eq!(case.plan(&decided(&shuffled)), plan);
    }

    #[test]
    fn nothing_of_a_stranger_is_touched_and_nothing_undeclared(
        first in children(),
        second in children(),
        meddling in meddling(),
        strangers in subsequence(vec![("Deployment", "a"), ("ConfigMap", "b"), ("Service", "a")], 0..=3),
        ends in 0u8..4,
    ) {
        let mut case = Case::new(&json!({"manifest": {"finalizes": true}}));
        case.primary.metadata_mut().insert("finalizers".into(), json!(["nginx.team-a.reconciler.windlass.dev/finalize"]));
        let strangers = strangers.into_iter().enumerate().map(|(number, (kind, name))| stranger(kind, name, number));
        let mut world = World::with(strangers.collect());
        settle(&mut case, &mut world, &decided(&first));
        let count = world.objects.len();
        for (index, meddling) in meddling.into_iter().filter(|(index, _)| *index < count) {
            meddle(&mut world.objects[index], meddling);
        }
        look(&mut case, &world);
        let decided = match (ends, decided(&second)) {
            (0 | 1, decided) => decided,
            (2, Decided::Outcome(outcome)) => Decided::Proceed(outcome),
            _ => Decided::Done,
        };
        if ends >= 2 {
            case.primary.metadata_mut().insert("deletionTimestamp".into(), json!("2026-01-01T00:00:00Z"));
        }
        let ours: BTreeSet<&str> =
            world.objects.iter().filter(|object| is_ours(object, &case.actor, &case.primary)).map(Object::uid).collect();
        let plan = case.plan(&decided);
        prop_assert_eq!(&plan, &case.plan(&decided));
        for write in plan.writes() {
            prop_assert_eq!(write.manager.as_str(), OURS);
            prop_assert_eq!(&write.identity, &case.actor.identity);
            if write.target.name == "web" {
                continue;
            }
            prop_assert!(case.manifest.child(&write.target.kind.of).is_some());
            let there = world.objects.iter().find(|object| {
                object.kind() == write.target.kind.of && object.name() == write.target.name
            });
            match &write.request {
                Request::Create(_) => prop_assert!(there.is_none()),
                Request::Apply { object, .. } => prop_assert!(ours.contains(object.uid())),
                Request::Delete { uid, .. } => prop_assert!(ours.contains(uid.as_str())),
                Request::JsonPatch(_) => prop_assert!(ours.contains(there.unwrap().uid())),
                Request::MergePatch(_) => prop_assert!(false, "children are never merged"),
            }
        }
    }

    #[test]
    fn of_the_primary_is_ours_what_was_wanted_last_and_nothing_else(all in primary_fields()) {
        let mut case = Case::new(&json!({"manifest": {"writesPrimary": [".metadata", ".spec"]}, "primary": {"spec": {"replicas": null}}}));
        case.primary.metadata_mut().insert("annotations".into(), json!({"theirs": "stays"}));
        let mut world = World::with(vec![case.primary.clone()]);
        for wanted in all {
            let mut decided = decided(&[]);
            let Decided::Outcome(outcome) = &mut decided else { unreachable!() };
            outcome.children = ChildrenPlan::Unchanged;
            outcome.primary = wanted.clone().map(|wanted| Object::from_value(wanted).unwrap());
            case.primary = world.objects[0].clone();
            for write in case.plan(&decided).writes() {
                let is_forced = !matches!(write.request, Request::Apply { force: false, .. });
                prop_assert!(!is_forced, "{:?}", write);
                prop_assert!(world.carry_out(write));
            }
            case.primary = world.objects[0].clone();
            prop_assert_eq!(case.plan(&decided), Plan::default());
            let wanted = wanted.unwrap_or_default();
            for field in ["a", "b"] {
                let there = case.primary.at(&["metadata", "annotations", field]);
                prop_assert_eq!(there, wanted.pointer(&format!("/metadata/annotations/{field}")));
            }
            prop_assert_eq!(case.primary.at(&["metadata", "labels", "c"]), wanted.pointer("/metadata/labels/c"));
            prop_assert_eq!(case.primary.at(&["spec", "replicas"]), wanted.pointer("/spec/replicas"));
            prop_assert_eq!(case.primary.annotation("theirs"), Some("stays"));
        }
    }
}
