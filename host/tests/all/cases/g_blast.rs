//! Group G: one bad thing stops others.

use crate::things::{hostile, hostiles, in_team};
use crate::world::{SYSTEM, World};
use serde_json::json;
use std::time::{Duration, Instant};
use windlass::settings::Settings;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g_02_a_failing_primary_blocks_no_other_and_is_tried_with_growing_delay() {
    let world = World::with(Settings {
        workers: 1,
        ..Settings::new(SYSTEM)
    });
    world.serve_all();
    world.install("hostile", "hostile", json!({})).await;
    for number in 0..100 {
        world.create(hostile(&format!("good-{number}"), "good"));
    }
    world.counted("hostile", "100/100").await;
    let began = Instant::now();
    world.create(hostile("bad", "trap"));
    for number in 0..100 {
        world.touch(&in_team(hostiles(), &format!("good-{number}")), "edited");
    }
    world
        .until("all others are done", || world.decisions("hostile", "Decided") >= 200)
        .await;
    let mut waited = Vec::new();
    for times in [2, 3] {
        world
            .until(&format!("it was tried {times} times"), || {
                world.decisions("hostile", "GuestTrapped") >= times
            })
            .await;
        waited.push(began.elapsed());
    }
    // One second and then two, each spread over its upper half.
    assert!(waited[0] >= Duration::from_millis(500), "{waited:?}");
    assert!(waited[1] >= Duration::from_millis(1500), "{waited:?}");
}
