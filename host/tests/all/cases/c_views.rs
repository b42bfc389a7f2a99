//! Group C: stale or blind views.

use crate::things::{friend, friends, in_team, pod};
use crate::world::World;
use serde_json::json;
use windlass_core::decision::Propagation;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c_13_what_the_friend_did_while_the_host_was_down_is_seen() {
    let mut world = World::with_guests(&["friend"]).await;
    let resource = in_team(friends(), "fc");
    let buddy = world.create(pod("elsewhere", "buddy"));
    world.create(friend("fc", "buddy"));
    world.quiet().await;
    assert_eq!(world.get(&resource).at(&["status", "Healthy"]), Some(&json!(true)));

    world.stop().await;
    world
        .cluster
        .delete(&buddy.reference(), Propagation::Background)
        .unwrap();
    world.start();
    world
        .until("it is healthy no more", || {
            world.get(&resource).at(&["status", "Healthy"]).is_none()
        })
        .await;

    world.stop().await;
    world.create(pod("elsewhere", "buddy"));
    world.start();
    world
        .until("it is healthy again", || {
            world.get(&resource).at(&["status", "Healthy"]) == Some(&json!(true))
        })
        .await;
}
