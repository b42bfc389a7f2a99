//! Group F: the life of modules: loading, swapping, and bytes that are none.

use crate::things::{deployments, friend, hostile, hostiles, in_team, nginx, nginxes};
use crate::world::{World, module, variant};
use serde_json::{Value, json};
use windlass_core::decision::Propagation;

fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

/// A component that no host of ours can use.
fn wrong_world() -> Vec<u8> {
    wat(r#"(component (instance $i) (export "wasi:cli/run@0.2.0" (instance $i)))"#)
}

async fn until_refused(world: &World, name: &str, wanted: &str) -> Value {
    world
        .until(&format!("{name} is refused: {wanted}"), || {
            world.status(name)["refused"]["reason"] == wanted
        })
        .await;
    world.status(name)["refused"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_01_bad_modules_keep_neither_the_host_nor_the_others_from_starting() {
    let mut world = World::with_guests(&["nginx", "friend"]).await;
    for (name, bytes) in [("random", vec![7; 10]), ("wrong", wrong_world())] {
        world.account(name, name);
        world.drop_in(name, &bytes, json!({}));
    }
    world.create(nginx("web", 1));
    world.create(friend("one", "joe"));
    world.restart().await;
    world
        .until("the host is ready", || {
            windlass::control::trouble(&world.host).is_empty()
        })
        .await;
    for (name, reason) in [("random", "NotWasm"), ("wrong", "WrongWorld")] {
        let refused = until_refused(&world, name, reason).await;
        assert!(!refused["message"].as_str().unwrap().is_empty(), "{refused}");
        let ready = crate::things::condition(&world.reconciler(name), "Ready");
        assert_eq!(
            (&ready["status"], &ready["reason"]),
            (&json!("False"), &json!("GuestLoadFailed"))
        );
    }
    world.install("hostile", "hostile", json!({})).await;
    for name in ["nginx", "friend", "hostile"] {
        world.until_ready(name).await;
    }
    world.create(hostile("eighth", "good"));
    let eighth = in_team(hostiles(), "eighth");
    world.until_says(&eighth, "Ready", "True Reconciled").await;
    world.counted("friend", "1/1").await;
    world.canary("canary").await;
    assert_eq!(world.host.metrics.panics.get(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_01_a_host_starts_with_nothing_there_and_takes_everything_up_as_it_comes() {
    let world = World::new();
    world
        .until("it is ready", || windlass::control::trouble(&world.host).is_empty())
        .await;
    world.drop_in("nginx", &module("nginx"), json!({}));
    world.account("nginx", "nginx");
    world.create_file("deploy/samples/nginx/crd.yaml");
    world.create(nginx("web", 1));
    world
        .until_says(&in_team(nginxes(), "web"), "Ready", "True Reconciled")
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_02_a_swap_to_a_broken_module_keeps_the_working_one() {
    let world = World::with_guests(&["nginx", "hostile"]).await;
    world.create(nginx("web", 1));
    world.quiet().await;
    let good = world.status("nginx")["active"]["digest"].clone();
    let whole = module("nginx");
    let bad = [
        ("half of it", whole[..whole.len() / 2].to_vec(), "Inspect", "Truncated"),
        ("a core module", wat("(module)"), "Inspect", ""),
        ("another world", wrong_world(), "Inspect", "WrongWorld"),
        (
            "one that traps as it starts",
            starts_with_a_trap(),
            "Describe",
            "Trapped",
        ),
    ];
    let deployment = in_team(deployments(), "web-deploy");
    for (replicas, (what, bytes, step, reason)) in (2..).zip(bad) {
        let digest = windlass::guest::digest(&bytes).unwrap();
        world.drop_in("nginx", &bytes, json!({}));
        world
            .until(&format!("{what} is refused"), || {
                world.status("nginx")["refused"]["digest"] == digest.as_str()
            })
            .await;
        let status = world.status("nginx");
        assert_eq!(status["active"]["digest"], good, "{what}: {status}");
        assert_eq!(status["refused"]["step"], step, "{what}: {status}");
        assert!(
            reason.is_empty() || status["refused"]["reason"] == reason,
            "{what}: {status}"
        );
        world.patch(&in_team(nginxes(), "web"), &json!({"spec": {"replicas": replicas}}));
        world
            .until(&format!("the edit after {what} is carried out"), || {
                world.get(&deployment).at(&["spec", "replicas"]) == Some(&json!(replicas))
            })
            .await;
        world.create(hostile(&format!("canary-{replicas}"), "good"));
        let canary = in_team(hostiles(), &format!("canary-{replicas}"));
        world.until_says(&canary, "Ready", "True Reconciled").await;
    }
    world.drop_in("nginx", &variant("nginx", 1), json!({}));
    world.until_ready("nginx").await;
    let status = world.status("nginx");
    assert_ne!(status["active"]["digest"], good, "good bytes are taken up again");
    assert!(status["refused"].is_null(), "{status}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_02_a_module_for_another_kind_that_never_returns_harms_nobody() {
    let world = World::with_guests(&["nginx", "friend"]).await;
    let limits = json!({"limits": {"timeMilliseconds": 50}, "settings": {"behaviour": "spin"}});
    world.install_by_hand("hostile", "hostile", &limits).await;
    world.create(hostile("bad", ""));
    world
        .until_says(&in_team(hostiles(), "bad"), "Ready", "False GuestTimedOut")
        .await;
    world.counted("hostile", "0/1").await;
    world.canary("web").await;
    world.until_ready("nginx").await;
    let deleted = world
        .cluster
        .delete(&in_team(hostiles(), "bad"), Propagation::Background);
    deleted.unwrap();
}

/// A guest that traps as soon as an instance is made: its data lies outside its memory.
fn starts_with_a_trap() -> Vec<u8> {
    let mut resolve = wit_parser::Resolve::default();
    let (package, _) = resolve.push_dir("../wit").unwrap();
    let world = resolve.select_world(&[package], Some("reconciler")).unwrap();
    let mangling = wit_parser::ManglingAndAbi::Legacy(wit_parser::LiftLowerAbi::Sync);
    let mut module = wit_component::dummy_module(&resolve, world, mangling);
    let (data_section, one_byte_at_2_gib) = (11, [1, 0, 0x41, 0xff, 0xff, 0xff, 0xff, 0x07, 0x0b, 1, b'x']);
    module.extend_from_slice(&[data_section, 11]);
    module.extend_from_slice(&one_byte_at_2_gib);
    wit_component::embed_component_metadata(&mut module, &resolve, world, wit_component::StringEncoding::UTF8).unwrap();
    module
}
