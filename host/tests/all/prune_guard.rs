//! More deletions than are usual wait for a person: what goes, what is kept, what is told, and what lets it go.

use crate::things::{config_maps, hostile, hostiles, in_system, in_team, reconcilers};
use crate::world::{World, module, window};
use serde_json::{Value, json};
use windlass_core::decision::Propagation;
use windlass_core::kind::ObjectRef;

fn primary(number: usize) -> ObjectRef {
    in_team(hostiles(), &format!("p{number:02}"))
}

fn children(world: &World) -> usize {
    let all = world.cluster.list(&config_maps());
    all.iter()
        .filter(|child| child.label("windlass.dev/primary-uid").is_some())
        .count()
}

/// So many primaries with a child each, and then a module that wants none.
async fn wanting_none(primaries: usize, guard: Value) -> World {
    let world = World::new();
    world.serve_all();
    let spec = json!({"settings": {"behaviour": "good"}, "pruneGuard": guard});
    world.install_by_hand("hostile", "hostile", &spec).await;
    for number in 0..primaries {
        world.create(hostile(&format!("p{number:02}"), ""));
    }
    world.counted("hostile", &format!("{primaries}/{primaries}")).await;
    assert_eq!(children(&world), primaries);
    world.patch(
        &in_system(reconcilers(), "hostile"),
        &json!({"spec": {"settings": {"behaviour": "none"}}}),
    );
    world
}

fn held(world: &World) -> Value {
    world.status("hostile")["pruneHeld"].clone()
}

fn approve(world: &World, plan: &Value) {
    let (_, name) = plan["primary"].as_str().unwrap().split_once('/').unwrap();
    let approval = json!({"metadata": {"annotations": {"windlass.dev/approve-prune": plan["hash"]}}});
    world.patch(&in_team(hostiles(), name), &approval);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n_01_a_module_that_wants_nothing_any_more_deletes_no_more_than_the_share_before_somebody_approves_it() {
    let mut world = wanting_none(40, json!({})).await;
    world
        .until("the rest is held", || held(&world)["primaries"] == 28)
        .await;
    assert_eq!(
        (children(&world), &held(&world)["children"]),
        (28, &json!(28)),
        "12 are 30 %"
    );
    let plans = held(&world)["plans"].as_array().unwrap().clone();
    assert_eq!(plans.len(), 28);
    let (_, name) = plans[0]["primary"].as_str().unwrap().split_once('/').unwrap();
    let name = name.to_owned();
    world
        .until_says(&in_team(hostiles(), &name), "Ready", "False PruneHeld")
        .await;
    let told = crate::things::condition(&world.get(&in_team(hostiles(), &name)), "Ready")["message"].to_string();
    assert!(
        told.contains(&format!("ConfigMap team-a/{name} would be deleted and is kept"))
            && told.contains("windlass approve prune hostile -n windlass-system")
            && told.contains(plans[0]["hash"].as_str().unwrap()),
        "{told}"
    );
    let ready = crate::things::condition(&world.reconciler("hostile"), "Ready");
    assert_eq!(
        (&ready["status"], &ready["reason"]),
        (&json!("False"), &json!("PruneHeld"))
    );

    approve(&world, &plans[0]);
    world.until("what was approved goes", || children(&world) == 27).await;
    world
        .until("and is held no more", || held(&world)["primaries"] == 27)
        .await;
    world
        .until_says(&in_team(hostiles(), &name), "Ready", "True Reconciled")
        .await;

    world.restart().await;
    world
        .until("they were looked at again", || {
            world.decisions("hostile", "Decided") >= 40
        })
        .await;
    world.quiet().await;
    assert_eq!(children(&world), 27, "a restart is no approval");
    assert_eq!(held(&world)["primaries"], 27);

    for plan in &plans[1..] {
        approve(&world, plan);
    }
    world.until("all goes", || children(&world) == 0).await;
    world.until("nothing is held", || held(&world).is_null()).await;
    world.until_ready("hostile").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_is_good_for_exactly_what_was_shown() {
    let world = wanting_none(4, json!({"percent": 0, "minimum": 0})).await;
    world.until("all is held", || held(&world)["primaries"] == 4).await;
    let plans = held(&world)["plans"].as_array().unwrap().clone();
    let wrong = json!({"primary": plans[0]["primary"], "hash": plans[1]["hash"]});
    approve(&world, &wrong);
    world.quiet().await;
    window(200).await;
    assert_eq!(children(&world), 4, "that was another plan");
    approve(&world, &plans[0]);
    world.until("the right one goes", || children(&world) == 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mistake_that_is_taken_back_leaves_everything_as_it_was() {
    let world = wanting_none(4, json!({"percent": 0, "minimum": 0})).await;
    world.until("all is held", || held(&world)["primaries"] == 4).await;
    let before: Vec<String> = world
        .cluster
        .list(&config_maps())
        .iter()
        .map(|child| child.uid().into())
        .collect();
    let good = json!({"spec": {"settings": {"behaviour": "good"}}});
    world.patch(&in_system(reconcilers(), "hostile"), &good);
    world.until("nothing is held", || held(&world).is_null()).await;
    world.until_ready("hostile").await;
    world.counted("hostile", "4/4").await;
    let after: Vec<String> = world
        .cluster
        .list(&config_maps())
        .iter()
        .map(|child| child.uid().into())
        .collect();
    assert_eq!(after, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleting_primaries_or_one_child_of_three_is_nothing_to_be_asked_about() {
    let world = World::new();
    world.serve_all();
    let guard = json!({"pruneGuard": {"percent": 40, "minimum": 0}});
    world.install_by_hand("hostile", "hostile", &guard).await;
    world.create(hostile("p00", "three"));
    world.until("there are three", || children(&world) == 3).await;
    world.quiet().await;
    // One of three is less than 40 %; two at once are more.
    let told = |names: &[&str]| {
        let object =
            |name: &&str| json!({"object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}});
        json!({"spec": {"behaviour": "", "told": {"children": names.iter().map(object).collect::<Vec<_>>()}}})
    };
    world.patch(&primary(0), &told(&["p00", "p00-2"]));
    world.until("one goes", || children(&world) == 2).await;
    world.patch(
        &primary(0),
        &json!({"spec": {"told": {"children": null, "noneWanted": true}}}),
    );
    world.until_says(&primary(0), "Ready", "False PruneHeld").await;
    assert_eq!(children(&world), 2);
    world.cluster.delete(&primary(0), Propagation::Background).unwrap();
    world
        .until("they go with their primary", || children(&world) == 0)
        .await;
    world.until("and nothing is held", || held(&world).is_null()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_module_that_wants_nothing_either_finds_all_of_it_still_held() {
    let world = wanting_none(4, json!({"percent": 0, "minimum": 0})).await;
    world.until("all is held", || held(&world)["primaries"] == 4).await;
    let mark = world.cluster.mark();
    let mut bytes = module("hostile");
    bytes.extend_from_slice(&[0, 3, 1, b'x', 9]);
    world.patch(
        &in_system(crate::things::config_maps(), "hostile"),
        &json!({"binaryData": {"module.wasm": crate::world::base64(&bytes)}}),
    );
    let digest = crate::world::digest(&bytes);
    world
        .until("the next module runs", || {
            world.status("hostile")["active"]["digest"] == digest
        })
        .await;
    world.counted("hostile", "0/4").await;
    world.quiet().await;
    assert_eq!((children(&world), world.writes_for("hostile", mark).len()), (4, 0));
}
