//! Group E: guests that misbehave at run time stay within their one decision. All that they can do is in `hostile/table.rs`.

use crate::things::{condition, config_maps, deployments, hostile, hostiles, in_team, nginx, says};
use crate::world::{RUNTIME, World, window};
use serde_json::{Value, json};
use windlass_core::decision::Propagation;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e_01_a_guest_that_never_returns_is_stopped_and_delays_no_other() {
    let world = World::with_guests(&["nginx"]).await;
    let limits = json!({"limits": {"timeMilliseconds": 50}});
    world.install_by_hand("hostile", "hostile", &limits).await;
    let named = |stem: &str| -> Vec<String> { (0..20).map(|number| format!("{stem}-{number}")).collect() };
    for name in named("bad") {
        world.create(hostile(&name, "good"));
    }
    world.quiet().await;
    let child = |name: &str| in_team(config_maps(), name);
    let before: Vec<_> = named("bad").iter().map(|name| world.get(&child(name))).collect();

    for name in named("bad") {
        world.patch(&in_team(hostiles(), &name), &json!({"spec": {"behaviour": "spin"}}));
    }
    for number in 0..20 {
        world.create(hostile(&format!("good-{number}"), "good"));
        world.create(nginx(&format!("web-{number}"), 1));
    }
    for name in named("bad") {
        let bad = in_team(hostiles(), &name);
        world.until_says(&bad, "Ready", "False GuestTimedOut").await;
        let message = condition(&world.get(&bad), "Reconciled")["message"].clone();
        assert!(message.as_str().unwrap().contains("50 ms"), "{message}");
    }
    for name in named("good") {
        let good = in_team(hostiles(), &name);
        world.until_says(&good, "Ready", "True Reconciled").await;
    }
    for name in named("web") {
        let deployment = in_team(deployments(), &format!("{name}-deploy"));
        world
            .until("the other guest's Deployment is there", || {
                world.find(&deployment).is_some()
            })
            .await;
    }
    world.canary("canary").await;
    let after: Vec<_> = named("bad").iter().map(|name| world.get(&child(name))).collect();
    assert_eq!(after, before, "existing children are unchanged");

    for name in named("bad") {
        let bad = in_team(hostiles(), &name);
        world.cluster.delete(&bad, Propagation::Background).unwrap();
    }
    world.quiet().await;
    let spun = world.decisions("hostile", "GuestTimedOut");
    window(1200).await;
    assert_eq!(
        world.decisions("hostile", "GuestTimedOut"),
        spun,
        "nothing spins any more"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e_07_a_trap_ends_one_decision_and_no_other() {
    let world = World::with_guests(&["hostile", "nginx"]).await;
    for (name, behaviour) in [
        ("good-1", "good"),
        ("bad", "trap"),
        ("good-2", "good"),
        ("good-3", "good"),
    ] {
        world.create(hostile(name, behaviour));
        let wanted = if behaviour == "good" {
            "True Reconciled"
        } else {
            "False GuestTrapped"
        };
        let primary = in_team(hostiles(), name);
        world.until_says(&primary, "Ready", wanted).await;
    }
    let message = condition(&world.get(&in_team(hostiles(), "bad")), "Ready")["message"].clone();
    let version = world.status("hostile")["active"]["version"].clone();
    for word in ["unreachable", version.as_str().unwrap(), "traps on purpose"] {
        assert!(message.as_str().unwrap().contains(word), "{word} is not in {message}");
    }
    // It is tried again and again, each time in an instance of its own.
    world
        .until("it trapped three times", || {
            world.decisions("hostile", "GuestTrapped") >= 3
        })
        .await;
    world.canary("web").await;
    assert_eq!(
        says(&world.get(&in_team(hostiles(), "bad")), "Ready"),
        "False GuestTrapped"
    );
    let everything: Vec<Value> = world
        .cluster
        .everything()
        .into_iter()
        .map(|object| json!(object))
        .collect();
    assert!(
        !json!(everything)
            .to_string()
            .contains("cannot enter component instance")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e_07_a_host_that_stops_in_the_middle_of_a_call_leaves_nothing_dead() {
    let mut world = World::new();
    world.serve_all();
    let limits = json!({"limits": {"timeMilliseconds": 300}});
    world.install_by_hand("hostile", "hostile", &limits).await;
    world.create(hostile("bad", "spin"));
    world
        .until("the call is under way", || {
            RUNTIME.free_decisions() < RUNTIME.capacity().decisions as usize
        })
        .await;
    world.restart().await;
    world.create(hostile("good", "good"));
    let good = in_team(hostiles(), "good");
    world.until_says(&good, "Ready", "True Reconciled").await;
}
