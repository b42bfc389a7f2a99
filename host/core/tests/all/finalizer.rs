//! Puts our finalizer on first and takes it off last, whatever children there are.

use crate::golden::Case;
use crate::world::World;
use proptest::prelude::*;
use serde_json::{Value, json};
use windlass_core::decision::{ChildrenPlan, Decided, DesiredChild, Outcome, Propagation, WantedChild, WriteMode};
use windlass_core::object::Object;
use windlass_core::write::{Request, Write};

const OURS: &str = "nginx.team-a.reconciler.windlass.dev/finalize";

fn wanted(names: &[u8]) -> Decided {
    let child = |name: &u8| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c{name}")}});
        DesiredChild::Want(Box::new(WantedChild {
            object: Object::from_value(object).unwrap(),
            mode: WriteMode::Apply,
            propagation: Propagation::Background,
            retain: name.is_multiple_of(3),
        }))
    };
    Decided::Outcome(Box::new(Outcome {
        children: ChildrenPlan::Exactly(names.iter().map(child).collect()),
        primary: None,
        status: None,
        conditions: Vec::new(),
        events: Vec::new(),
        requeue_after: None,
    }))
}

fn touches_finalizers(write: &Write) -> bool {
    let Request::JsonPatch(patch) = &write.request else {
        return false;
    };
    let path = |operation: &Value| operation["path"].as_str().unwrap_or_default().to_owned();
    patch
        .iter()
        .any(|operation| operation["op"] != "test" && path(operation).starts_with("/metadata/finalizers"))
}

proptest! {
    #[test]
    fn the_finalizer_is_the_first_write_and_its_release_the_last(
        names in proptest::collection::btree_set(0u8..9, 1..6),
        others in proptest::sample::subsequence(vec!["x/y", "foregroundDeletion"], 0..=2),
    ) {
        let names: Vec<u8> = names.into_iter().collect();
        let mut case = Case::new(&json!({"manifest": {"finalizes": true}}));
        case.primary.metadata_mut().insert("finalizers".into(), json!(others));
        let plan = case.plan(&wanted(&names));
        let touching: Vec<bool> = plan.writes().map(touches_finalizers).collect();
        prop_assert_eq!(touching.iter().position(|touches| *touches), Some(0), "{:?}", plan);
        prop_assert_eq!(touching.iter().filter(|touches| **touches).count(), 1);

        let mut world = World::with(vec![case.primary.clone()]);
        plan.writes().for_each(|write| assert!(world.carry_out(write), "{write:?}"));
        case.primary = world.objects[0].clone();
        prop_assert!(case.primary.finalizers().any(|finalizer| finalizer == OURS));
        case.primary.metadata_mut().insert("deletionTimestamp".into(), json!("2026-01-01T00:00:00Z"));
        world.objects[0] = case.primary.clone();
        case.children = world.objects[1..].to_vec();
        let plan = case.plan(&Decided::Done);
        let goes = names.iter().filter(|name| !name.is_multiple_of(3)).count();
        prop_assert_eq!(plan.prune.len(), goes, "what is retained stays");
        prop_assert_eq!(plan.release.is_some(), goes == 0, "nothing is let go while something is left");

        plan.writes().for_each(|write| assert!(world.carry_out(write), "{write:?}"));
        case.primary = world.objects[0].clone();
        case.children = world.objects[1..].to_vec();
        let last = case.plan(&Decided::Done);
        prop_assert!(last.writes().all(touches_finalizers), "{:?}", last);
        last.writes().for_each(|write| assert!(world.carry_out(write), "{write:?}"));
        let left: Vec<&str> = world.objects[0].finalizers().collect();
        prop_assert_eq!(left, others, "those of others are theirs");
    }

    #[test]
    fn an_object_that_is_going_never_gets_one(names in proptest::collection::btree_set(0u8..9, 1..6), finalizes: bool) {
        let names: Vec<u8> = names.into_iter().collect();
        let primary = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y"]}});
        let case = Case::new(&json!({"manifest": {"finalizes": finalizes}, "primary": primary}));
        for decided in [wanted(&names), Decided::Done, Decided::Leaving] {
            prop_assert!(case.plan(&decided).is_empty());
        }
    }
}
