//! Runs more decisions than the pool holds, and hosts whose pool cannot be had (E-11, E-12), and slow starts (E-04).

use super::ended::value;
use crate::scenarios::real::PROGRAM;
use crate::things::{config_maps, hostile, hostiles, in_team};
use crate::world::{SYSTEM, TEAM, World, module};
use serde_json::json;
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use windlass::guest::{Capacity, Runtime};
use windlass::settings::Settings;

/// Slots of the pool, and primaries that are there when the host starts.
const SLOTS: u32 = 4;
const PRIMARIES: usize = 500;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e_11_a_pool_smaller_than_the_number_of_primaries_is_seen_by_none_of_them() {
    let capacity = Capacity {
        decisions: SLOTS,
        ..Capacity::default()
    };
    let world = World::on(Settings::new(SYSTEM), Runtime::new(capacity).unwrap());
    world.serve_all();
    for number in 0..PRIMARIES {
        world.create(hostile(&format!("number-{number}"), "good"));
    }
    world.account("hostile", "hostile");
    world.drop_in("hostile", &module("hostile"), json!({}));
    let mut most = 0;
    world
        .until("every primary is decided about", || {
            let text = world.host.metrics.text(&Default::default());
            most = most.max(value(&text, "windlass_guest_calls_in_flight"));
            world.decisions("hostile", "Decided") >= PRIMARIES
        })
        .await;
    world.quiet().await;
    let text = world.host.metrics.text(&Default::default());
    assert!((1..=u64::from(SLOTS)).contains(&most), "{most} calls at once");
    assert_eq!(value(&text, "windlass_guest_calls_in_flight"), 0);
    let results = text
        .lines()
        .filter(|line| line.starts_with("windlass_decisions_total{"));
    assert_eq!(results.filter(|line| !line.contains("Decided")).count(), 0, "{text}");
    let made = world.cluster.list(&config_maps());
    assert_eq!(
        made.iter().filter(|map| map.namespace() == Some(TEAM)).count(),
        PRIMARIES
    );
}

/// The program with these arguments, and this much address space in KiB.
fn run_within(kibibytes: u64, arguments: &str) -> (Output, Duration) {
    let began = Instant::now();
    let output = Command::new("sh")
        .args([
            "-c",
            &format!("ulimit -v {kibibytes} && exec {PROGRAM} run {arguments}"),
        ])
        .env("KUBECONFIG", "/nowhere")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .output();
    (output.unwrap(), began.elapsed())
}

#[test]
fn e_12_a_pool_that_cannot_be_reserved_ends_the_host_at_once_and_names_the_setting() {
    let (output, took) = run_within(8 << 20, "--guest-calls 640");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && took < Duration::from_secs(5),
        "{took:?}: {said}"
    );
    for words in [
        "640 decisions",
        "1073741824 bytes",
        "--guest-calls",
        "--allocation on-demand",
    ] {
        assert!(said.contains(words), "{words:?} is not in {said}");
    }
    // Where it is allowed, the host gets as far as to look for its cluster.
    let (output, _) = run_within(8 << 20, "--guest-calls 640 --allocation on-demand");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && said.contains("there is no cluster to run on"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e_04_a_start_that_takes_longer_than_a_decision_may_is_no_fault() {
    let world = World::new();
    world.serve_all();
    let spec = json!({"limits": {"timeMilliseconds": 50}, "settings": {"describe": "slow"}});
    world.install_by_hand("hostile", "hostile", &spec).await;
    for (name, behaviour, wanted) in [
        ("one", "good", "True Reconciled"),
        ("two", "spin", "False GuestTimedOut"),
    ] {
        world.create(hostile(name, behaviour));
        world.until_says(&in_team(hostiles(), name), "Ready", wanted).await;
    }
}

/// E-10: no number brings the queue down, and none has a guest called without a pause.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e_10_a_wish_for_no_pause_gets_one_and_a_wish_for_ages_gets_a_day() {
    let world = World::with_guests(&["hostile"]).await;
    for behaviour in ["requeue-zero", "requeue-most"] {
        world.create(hostile(behaviour, behaviour));
    }
    let began = Instant::now();
    world
        .until("it is called again and again", || {
            world.decisions("hostile", "Decided") >= 5
        })
        .await;
    // One decision for each primary, and for one of them one more for each second that has passed.
    let decided = world.decisions("hostile", "Decided") as u64;
    assert!(
        decided <= 2 + began.elapsed().as_secs() + 1,
        "{decided} in {:?}",
        began.elapsed()
    );
    let text = world.host.metrics.text(&Default::default());
    assert_eq!(value(&text, "windlass_requeues_clamped_total"), decided);
    assert_eq!(value(&text, "windlass_reconcile_panics_total"), 0);
}
