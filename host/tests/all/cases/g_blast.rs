//! Group G: one bad thing stops others.

use crate::meddler::Verdict;
use crate::things::{deployments, hostile, hostiles, in_team, nginx, nginxes, says};
use crate::world::{SYSTEM, World, digest, module, variant};
use serde_json::json;
use std::time::{Duration, Instant};
use windlass::settings::Settings;
use windlass_core::write::Write;

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g_03_a_slow_guest_starves_no_other_and_is_not_starved() {
    let world = World::with(Settings {
        workers: 4,
        ..Settings::new(SYSTEM)
    });
    world.serve_all();
    for guest in ["hostile", "nginx"] {
        world.install(guest, guest, json!({})).await;
    }
    for number in 0..600 {
        world.create(hostile(&format!("slow-{number}"), "busy"));
    }
    let done = || world.decisions("hostile", "Decided");
    // Its rate alone, before and after, since the machine may be busy with other tests.
    let alone = async || {
        let (began, before) = (Instant::now(), done());
        world.until("some are done", || done() >= before + 20).await;
        20.0 / began.elapsed().as_secs_f64()
    };
    let first = alone().await;
    let (began, before) = (Instant::now(), done());
    let mut times = Vec::new();
    for number in 0..10 {
        world.create(nginx(&format!("web-{number}"), 1));
    }
    for round in 2..8 {
        for number in 0..10 {
            let name = format!("web-{number}");
            let edited = Instant::now();
            world.patch(&in_team(nginxes(), &name), &json!({"spec": {"replicas": round}}));
            let deployment = in_team(deployments(), &format!("{name}-deploy"));
            let follows = || {
                world
                    .find(&deployment)
                    .is_some_and(|found| found.at(&["spec", "replicas"]) == Some(&json!(round)))
            };
            world.until("its Deployment follows", follows).await;
            times.push(edited.elapsed());
        }
    }
    let beside = (done() - before) as f64 / began.elapsed().as_secs_f64();
    let alone = first.min(alone().await);
    assert!(beside > alone / 2.0, "{beside} a second beside another, {alone} alone");
    // Behind all that wait it would be tens of seconds.
    times.sort();
    let p99 = times[times.len() * 99 / 100];
    assert!(p99 < Duration::from_secs(5), "{times:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g_05_a_module_whose_kind_is_missing_keeps_no_other_from_its_new_version() {
    let world = World::with_guests(&["nginx"]).await;
    world.account("hostile", "hostile");
    world.drop_in("hostile", &module("hostile"), json!({"describe": "not-served"}));
    let waits = || says(&world.reconciler("hostile"), "Synced") == "False DependencyMissing";
    world.until("the one waits for its kind", waits).await;
    let next = variant("nginx", 1);
    world.drop_in("nginx", &next, json!({"image": "nginx:next"}));
    world
        .until("the other one is taken up", || {
            world.status("nginx")["active"]["digest"] == digest(&next).as_str()
        })
        .await;
    world.canary("canary").await;
    let refusals = world.events("hostile").len();
    assert!(refusals <= 1, "it is told once: {:?}", world.events("hostile"));
    world.create(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.nowhere.windlass.test"},
        "spec": {
            "group": "nowhere.windlass.test", "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    }));
    world.until_ready("hostile").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g_07_a_panic_of_the_hosts_own_ends_at_its_primary() {
    let mut world = World::with_guests(&["nginx"]).await;
    let panics = |write: &Write| {
        assert!(
            write.target.name != "poison-deploy",
            "a fault of the host's own, made for this test"
        );
        Verdict::Pass
    };
    world.meddler.before_writes(panics);
    world.create(nginx("poison", 1));
    for number in 0..20 {
        world.create(nginx(&format!("web-{number}"), 1));
    }
    world.counted("nginx", "20/21").await;
    world.restart().await;
    world
        .until("it was tried again", || world.host.metrics.panics.get() >= 1)
        .await;
    world.canary("canary").await;
    let failing = in_team(nginxes(), "poison");
    world
        .until("the status says whose fault it is", || {
            says(&world.get(&failing), "Ready") == "False InternalError"
        })
        .await;
    world.meddler.let_pass();
    world.until_says(&failing, "Ready", "True Reconciled").await;
}
