//! Shows that a guest which faults on one primary after the other is paused, and that nobody waits for it who need not.

use crate::things::{hostile, hostiles, in_team, says};
use crate::world::{World, window};
use serde_json::json;
use std::time::{Duration, Instant};

fn traps(world: &World) -> usize {
    world.decisions("hostile", "GuestTrapped")
}

fn ready(world: &World) -> String {
    says(&world.reconciler("hostile"), "Ready")
}

fn paused(world: &World) -> bool {
    world.host.decisions.paused() == 1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_poisonous_primaries_pause_their_guest_and_a_good_one_is_not_kept_waiting() {
    let world = World::with_guests(&["hostile", "nginx"]).await;
    for name in ["bad-1", "bad-2", "bad-3"] {
        world.create(hostile(name, "trap"));
    }
    world.until("it is paused", || paused(&world)).await;
    world
        .until("its Reconciler says so", || ready(&world) == "False Paused")
        .await;
    let message = world.message("hostile", "Ready");
    assert!(message.contains("three different primaries"), "{message}");
    world.canary("web").await;
    // The pause has grown: what has failed waits for seconds.
    world.until("each was tried again", || traps(&world) >= 5).await;
    world.until("it is paused again", || paused(&world)).await;
    let began = Instant::now();
    world.create(hostile("good", "good"));
    world
        .until_says(&in_team(hostiles(), "good"), "Ready", "True Reconciled")
        .await;
    // A second or so: the queue's own tests show it, on a clock of theirs that no busy machine moves.
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    world
        .until("its Reconciler says what is left", || {
            ready(&world) == "False DecisionsFailing"
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_module_that_faults_on_everything_is_hardly_called_until_it_is_replaced() {
    let world = World::new();
    world.serve_all();
    world.install("hostile", "hostile", json!({"behaviour": "trap"})).await;
    let names: Vec<String> = (0..200).map(|number| format!("one-{number}")).collect();
    for name in &names {
        world.create(hostile(name, ""));
    }
    world.until("it is paused", || paused(&world)).await;
    window(3_000).await;
    // Those that ran when it was paused, and one a second since.
    let called = traps(&world);
    assert!(called < 30, "called {called} times for 200 primaries");
    assert!(traps(&world) >= 4, "it is tried all the same: {called}");
    world.drop_in(
        "hostile",
        &crate::world::module("hostile"),
        json!({"behaviour": "good"}),
    );
    world.counted("hostile", "200/200").await;
    world
        .until("its Reconciler is well", || ready(&world) == "True Running")
        .await;
    assert!(!paused(&world));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_poisonous_primary_in_a_hundred_pauses_nobody() {
    let world = World::with_guests(&["hostile"]).await;
    for number in 0..99 {
        world.create(hostile(&format!("good-{number}"), "good"));
    }
    world.create(hostile("bad", "trap"));
    world.counted("hostile", "99/100").await;
    world.until("it was tried three times", || traps(&world) >= 3).await;
    let text = world.host.metrics.text(&Default::default());
    assert!(text.contains("windlass_pauses_total 0"), "{text}");
    assert_eq!(ready(&world), "False DecisionsFailing");
}
