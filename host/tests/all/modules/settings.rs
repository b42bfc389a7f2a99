//! Shows that what a spec says takes effect without compiling anything again (F-12), and at a bounded rate.

use crate::things::{hostile, hostiles, in_system, in_team, nginx, reconcilers};
use crate::world::{SYSTEM, World, digest, variant};
use serde_json::json;
use std::time::{Duration, Instant};
use windlass::settings::Settings;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_12_changed_settings_limits_account_and_namespaces_take_effect_without_compiling() {
    let world = World::new();
    world.serve_all();
    world.install_by_hand("hostile", "hostile", &json!({})).await;
    world.account("other", "hostile");
    let compiled = world.host.loader.metrics().compiles.get();
    world.create(hostile("one", "spin"));
    let one = in_team(hostiles(), "one");
    let what = in_system(reconcilers(), "hostile");
    world.patch(&what, &json!({"spec": {"limits": {"timeMilliseconds": 20}}}));
    let message = || crate::things::condition(&world.get(&one), "Ready")["message"].to_string();
    world
        .until("the new limit holds", || message().contains("running time of 20 ms"))
        .await;
    world.patch(&one, &json!({"spec": {"behaviour": "good"}}));
    world.until_says(&one, "Ready", "True Reconciled").await;
    let mark = world.cluster.mark();
    world.patch(&what, &json!({"spec": {"serviceAccountName": "other"}}));
    world
        .until("the other account is used", || {
            world
                .host
                .running
                .active(&windlass_core::key::ReconcilerId::new(SYSTEM, "hostile"))
                .is_some_and(|active| format!("{:?}", active.actor.identity).contains("other"))
        })
        .await;
    world.patch(&one, &json!({"spec": {"text": "changed"}}));
    world.quiet().await;
    assert!(
        world.writes_for("hostile", mark).is_empty(),
        "nothing is written as the account before"
    );
    world.patch(&what, &json!({"spec": {"namespaces": ["elsewhere"]}}));
    world
        .until("only elsewhere is looked at", || {
            world.status("hostile")["claim"]["namespaces"] == json!(["elsewhere"])
        })
        .await;
    assert_eq!(world.host.loader.metrics().compiles.get(), compiled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_swap_primaries_are_decided_again_at_a_bounded_rate_and_none_is_forgotten() {
    let world = World::with(Settings {
        workers: 4,
        decided_again_per_second: 50,
        ..Settings::new(SYSTEM)
    });
    world.serve_all();
    world.install("nginx", "nginx", json!({})).await;
    for number in 0..54 {
        world.create(nginx(&format!("web-{number}"), 1));
    }
    world.counted("nginx", "54/54").await;
    world.quiet().await;
    let mark = world.cluster.mark();
    let before = world.decisions("nginx", "Decided");
    let next = variant("nginx", 1);
    world.drop_in("nginx", &next, json!({}));
    world
        .until("it is swapped", || {
            world.status("nginx")["active"]["digest"] == digest(&next).as_str()
                || world.decisions("nginx", "Decided") > before
        })
        .await;
    let began = Instant::now();
    world
        .until("all were decided again", || {
            world.decisions("nginx", "Decided") >= before + 54
        })
        .await;
    assert!(began.elapsed() >= Duration::from_millis(800), "{:?}", began.elapsed());
    world.quiet().await;
    assert!(
        world.writes_for("nginx", mark).is_empty(),
        "equal output writes nothing"
    );
}
