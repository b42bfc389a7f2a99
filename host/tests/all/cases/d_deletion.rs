//! Group D: what happens when a primary goes.

use crate::things::{condition, config_map, config_maps, hostile, hostiles, in_team, reconcilers};
use crate::world::{SYSTEM, World, window};
use serde_json::{Value, json};
use windlass_core::decision::Propagation;
use windlass_core::kind::ObjectRef;

fn one() -> ObjectRef {
    in_team(hostiles(), "one")
}

fn children() -> [ObjectRef; 3] {
    ["one", "one-2", "one-3"].map(|name| in_team(config_maps(), name))
}

/// A converged primary with three children, whose module fails in `reconcile` and `finalize` from then on.
async fn broken(on_finalize_failure: &str, finalize: &str) -> World {
    let world = World::with_guests(&["nginx"]).await;
    let settings = json!({"finalizes": true, "behaviour": "three"});
    let spec = json!({"settings": settings, "onFinalizeFailure": on_finalize_failure});
    world.install_by_hand("hostile", "hostile", &spec).await;
    world.create(hostile("one", ""));
    world.until_says(&one(), "Ready", "True Reconciled").await;
    let broken = json!({"finalizes": true, "behaviour": "trap", "finalize": finalize});
    world.patch(&reconciler(), &json!({"spec": {"settings": broken}}));
    world.until_says(&one(), "Ready", "False GuestTrapped").await;
    world
}

fn reconciler() -> ObjectRef {
    ObjectRef {
        of: reconcilers(),
        namespace: Some(SYSTEM.into()),
        name: "hostile".into(),
    }
}

fn delete(world: &World) {
    world.cluster.delete(&one(), Propagation::Background).unwrap();
}

fn skips(world: &World) -> usize {
    let events = world.events("one");
    events
        .iter()
        .filter(|event| event.starts_with("FinalizeSkipped"))
        .count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d_06_a_primary_goes_with_its_children_though_its_module_fails() {
    for (finalize, called) in [("trap", "GuestTrapped"), ("invalid", "Invalid")] {
        let world = broken("Skip", finalize).await;
        let before = world.decisions("hostile", called);
        delete(&world);
        world.until("it is gone", || world.find(&one()).is_none()).await;
        world.quiet().await;
        for child in children() {
            assert!(world.find(&child).is_none(), "{child} is there");
        }
        assert_eq!(
            world.decisions("hostile", called) - before,
            3,
            "three runs, and no more"
        );
        assert_eq!(skips(&world), 1, "{:?}", world.events("one"));
        world.canary("web").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d_06_a_blocked_primary_says_what_lets_it_go_and_follows_the_spec_when_that_changes() {
    let world = broken("Block", "trap").await;
    delete(&world);
    let says = || condition(&world.get(&one()), "Reconciled")["message"].to_string();
    world
        .until("its status names the way out", || says().contains("`windlass release`"))
        .await;
    // Events follow the status.
    let told = || {
        world
            .events("one")
            .iter()
            .any(|event| event.contains("`windlass release`"))
    };
    world.until("so does an Event", told).await;
    // Runs that failed while it was not allowed to skip do not count.
    window(1500).await;
    assert!(children().iter().all(|child| world.find(child).is_some()));
    let runs = world.status("hostile")["active"]["digest"].clone();
    world.patch(&reconciler(), &json!({"spec": {"onFinalizeFailure": "Skip"}}));
    world.until("it is gone", || world.find(&one()).is_none()).await;
    assert_eq!(
        world.status("hostile")["active"]["digest"],
        runs,
        "without another module (F-12)"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d_06_a_guest_that_waits_is_not_skipped() {
    let world = broken("Skip", "").await;
    delete(&world);
    for round in 0..4 {
        world.touch(&one(), &round.to_string());
        world.quiet().await;
    }
    assert!(world.get(&one()).is_being_deleted());
    assert!(children().iter().all(|child| world.find(child).is_some()));
    world.create(config_map("one-release"));
    world.until("it is gone", || world.find(&one()).is_none()).await;
    assert_eq!(skips(&world), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d_06_what_outlives_its_primary_and_what_is_a_strangers_stays_when_finalize_is_skipped() {
    let world = broken("Skip", "trap").await;
    let retained = json!({"metadata": {"annotations": {"windlass.dev/retain": "true"}, "ownerReferences": null}});
    world.patch(&children()[1], &retained);
    let mut copy = config_map("copied-labels");
    copy["metadata"]["labels"] = world
        .get(&children()[0])
        .at(&["metadata", "labels"])
        .cloned()
        .unwrap_or_default();
    world.create(copy);
    delete(&world);
    world.until("it is gone", || world.find(&one()).is_none()).await;
    let left: Vec<Value> = world
        .cluster
        .list(&config_maps())
        .iter()
        .map(|left| left.name().into())
        .collect();
    assert!(
        left.contains(&json!("one-2")) && left.contains(&json!("copied-labels")),
        "{left:?}"
    );
    assert!(
        !left.contains(&json!("one")) && !left.contains(&json!("one-3")),
        "{left:?}"
    );
}
