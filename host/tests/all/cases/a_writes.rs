//! Group A: writes that never settle.

use crate::things::{config_maps, friend, friends, hostile, hostiles, in_team};
use crate::world::{World, window};
use windlass_core::write::Subresource;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_03_the_hosts_own_status_write_wakes_nobody() {
    let world = World::with_guests(&["friend"]).await;
    for (from, count) in [(0, 1), (1, 100)] {
        for number in from..count {
            world.create(friend(&format!("friend-{number}"), &format!("pod-{number}")));
        }
        world.quiet().await;
        world.counted("friend", &format!("{count}/{count}")).await;
        let (mark, taken) = (world.cluster.mark(), world.decisions("friend", "Decided"));
        window(1500).await;
        assert_eq!(world.decisions("friend", "Decided"), taken, "no call with {count}");
        let status = |write: &windlass::cluster::memory::Recorded| write.subresource == Subresource::Status;
        let written = world.writes_for("friend", mark);
        assert_eq!(written.iter().filter(|write| status(write)).count(), 0, "{written:#?}");
    }
    let (mark, taken) = (world.cluster.mark(), world.decisions("friend", "Decided"));
    world.touch(&in_team(friends(), "friend-7"), "once");
    world.quiet().await;
    assert_eq!(world.decisions("friend", "Decided"), taken + 1, "exactly one call");
    assert_eq!(world.writes_for("friend", mark), [], "and it changed nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_03_one_create_is_one_decision_and_no_more_writes_than_there_is_to_say() {
    let world = World::with_guests(&["hostile"]).await;
    let (mark, taken) = (world.cluster.mark(), world.decisions("hostile", "Decided"));
    world.create(hostile("one", "good"));
    world.quiet().await;
    window(200).await;
    assert_eq!(world.decisions("hostile", "Decided"), taken + 1);
    let writes = world.writes_for("hostile", mark);
    assert_eq!(writes.len(), 2, "the child and the conditions: {writes:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_05_output_from_a_hash_map_is_written_once() {
    let mut world = World::with_guests(&["hostile"]).await;
    world.create(hostile("one", "shuffle"));
    world.quiet().await;
    let (one, child) = (in_team(hostiles(), "one"), in_team(config_maps(), "one"));
    let first = world.get(&child);
    let mark = world.cluster.mark();
    for run in ["before", "after"] {
        let taken = world.decisions("hostile", "Decided");
        for number in 0..50 {
            world.touch(&one, &format!("{run}-{number}"));
            world.quiet().await;
        }
        assert_eq!(world.decisions("hostile", "Decided"), taken + 50);
        if run == "before" {
            world.restart().await;
            world
                .until("it was decided again", || world.decisions("hostile", "Decided") >= 1)
                .await;
            world.quiet().await;
        }
    }
    assert_eq!(world.get(&child), first, "100 decisions later it is the same object");
    assert_eq!(world.writes_for("hostile", mark), [], "and nothing was ever written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_08_a_counter_that_the_schema_drops_is_asked_no_more_than_three_times() {
    let world = World::with_guests(&["hostile"]).await;
    let taken = world.decisions("hostile", "Decided");
    world.create(hostile("one", "attempts"));
    let one = in_team(hostiles(), "one");
    world.until_says(&one, "Ready", "False SchemaDroppedFields").await;
    // It asks to be called again each second.
    window(2_500).await;
    let calls = world.decisions("hostile", "Decided") - taken;
    assert!(calls <= 3, "{calls} calls");
    let told = world.events("one");
    assert!(
        told.len() == 1 && told[0].starts_with("SchemaDroppedFields: ") && told[0].contains(".status.attempts"),
        "{told:?}"
    );
    assert_eq!(world.get(&one).at(&["status", "attempts"]), None);
}
