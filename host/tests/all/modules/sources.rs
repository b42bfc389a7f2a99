//! Takes modules from one ConfigMap, from several, and from where they are pinned.

use super::{active, until_active, until_condition};
use crate::things::{config_maps, in_system, in_team, nginx, nginxes, reconciler, reconcilers};
use crate::world::{SYSTEM, World, base64, digest, module, variant};
use serde_json::{Value, json};
use windlass_core::decision::Propagation;

/// A ConfigMap with one part of a module.
fn part(world: &World, name: &str, bytes: &[u8]) {
    let object = crate::things::object(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": SYSTEM, "name": name},
        "binaryData": {"part": base64(bytes)},
    }));
    world.cluster.apply_as("kubectl", &object).unwrap();
}

fn halves(bytes: &[u8]) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.len() / 2)
}

/// A drop-in that names its parts.
fn index(world: &World, name: &str, digest: &str, parts: &[&str]) {
    let parts: Vec<Value> = parts.iter().map(|part| json!({"name": part})).collect();
    let text = json!({"digest": digest, "parts": parts}).to_string();
    world.drop_in_data(name, json!({}), json!({"index.yaml": text}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_module_made_is_no_source_of_another() {
    let world = World::with_guests(&["nginx"]).await;
    world.account("hostile", "hostile");
    let mut child = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": SYSTEM, "name": "hostile", "labels": {"windlass.dev/primary-uid": "1"}},
        "binaryData": {"module.wasm": base64(&module("hostile"))},
    });
    world.create(child.clone());
    world.create(reconciler("hostile", &json!({})));
    until_condition(&world, "hostile", "Loaded", "False SourceMismatch").await;
    let message = world.message("hostile", "Loaded");
    assert!(message.contains("was made by a module"), "{message}");
    world
        .cluster
        .delete(&in_system(config_maps(), "hostile"), Propagation::Background)
        .unwrap();
    child["metadata"]["labels"] = json!({});
    world.create(child);
    world.until_ready("hostile").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_06_parts_that_do_not_fit_wait_and_are_swapped_in_once_when_they_do() {
    let world = World::new();
    world.serve_all();
    world.account("nginx", "nginx");
    let (old, new) = (variant("nginx", 1), variant("nginx", 2));
    part(&world, "first", halves(&old).0);
    part(&world, "second", halves(&old).1);
    index(&world, "nginx", &digest(&old), &["first", "second"]);
    world.until_ready("nginx").await;
    assert_eq!(active(&world, "nginx"), digest(&old));
    world.create(nginx("web", 1));
    world
        .until_says(&in_team(nginxes(), "web"), "Ready", "True Reconciled")
        .await;
    let swaps = world.host.metrics.swaps.get();

    index(&world, "nginx", &digest(&new), &["first", "second"]);
    let message = until_condition(&world, "nginx", "Loaded", "False Incomplete").await;
    assert!(
        message.contains(&digest(&old)) && message.contains(&digest(&new)),
        "{message}"
    );
    part(&world, "second", halves(&new).1);
    world.quiet().await;
    // Both variants differ at their ends alone, so that it is the index that tells.
    until_active(&world, "nginx", &digest(&new)).await;
    world.until_ready("nginx").await;
    assert_eq!(world.host.metrics.swaps.get(), swaps + 1, "one swap");

    let gone = world
        .cluster
        .delete(&in_system(config_maps(), "first"), Propagation::Background);
    gone.unwrap();
    let message = until_condition(&world, "nginx", "Loaded", "False Incomplete").await;
    assert!(
        message.contains("part 0 of 2, ConfigMap windlass-system/first, is not there"),
        "{message}"
    );
    assert_eq!(active(&world, "nginx"), digest(&new), "what ran goes on");
    world.canary("canary").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_can_be_named_in_the_spec_and_numbered_in_one_config_map() {
    let world = World::new();
    world.serve_all();
    let bytes = variant("nginx", 3);
    let (first, second) = halves(&bytes);
    for name in ["listed", "numbered"] {
        world.account(name, name);
    }
    part(&world, "first", first);
    part(&world, "second", second);
    let listed = json!({
        "source": {"configMap": {"digest": digest(&bytes), "parts": [{"name": "first"}, {"name": "second", "key": "part"}]}},
        "namespaces": ["here"],
    });
    world.create(reconciler("listed", &listed));
    world.create(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": SYSTEM, "name": "numbered"},
        "binaryData": {"module.wasm.0": base64(first), "module.wasm.1": base64(second)},
    }));
    world.create(reconciler("numbered", &json!({"namespaces": ["there"]})));
    for name in ["listed", "numbered"] {
        world.until_ready(name).await;
        assert_eq!(active(&world, name), digest(&bytes));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registry_is_refused_with_a_clear_reason() {
    let world = World::new();
    world.serve_all();
    world.account("nginx", "nginx");
    world.create(reconciler(
        "nginx",
        &json!({"source": {"oci": {"image": "registry.test/nginx:1"}}}),
    ));
    let message = until_condition(&world, "nginx", "Loaded", "False GuestLoadFailed").await;
    assert!(message.contains("spec.source.oci is reserved"), "{message}");
    assert_eq!(world.status("nginx")["refused"]["reason"], "SourceNotSupported");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pinned_module_runs_on_whatever_the_source_holds_and_comes_back_when_it_is_pinned() {
    let mut world = World::new();
    world.serve_all();
    world.account("nginx", "nginx");
    let (old, new) = (variant("nginx", 1), variant("nginx", 2));
    world.drop_in("nginx", &old, json!({}));
    world.until_ready("nginx").await;
    let what = in_system(reconcilers(), "nginx");
    world.patch(&what, &json!({"spec": {"digest": digest(&old)}}));
    world.drop_in("nginx", &new, json!({}));
    let message = until_condition(&world, "nginx", "Loaded", "True SourceMismatch").await;
    assert!(message.contains(&digest(&new)), "{message}");
    assert_eq!(active(&world, "nginx"), digest(&old));

    world.restart().await;
    until_active(&world, "nginx", &digest(&old)).await;
    world.until_ready("nginx").await;
    world.patch(&what, &json!({"spec": {"digest": null}}));
    until_active(&world, "nginx", &digest(&new)).await;
    until_condition(&world, "nginx", "Loaded", "True Compiled").await;
    assert_eq!(world.status("nginx")["earlier"][0]["digest"], digest(&old));
    // What `windlass rollback` sets.
    world.patch(&what, &json!({"spec": {"digest": digest(&old)}}));
    until_active(&world, "nginx", &digest(&old)).await;
    world.patch(&what, &json!({"spec": {"digest": "0".repeat(64)}}));
    let message = until_condition(&world, "nginx", "Loaded", "False SourceMismatch").await;
    assert!(message.contains("is not kept"), "{message}");
    assert_eq!(active(&world, "nginx"), digest(&old), "what ran goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_config_map_that_is_deleted_made_again_or_replaced_is_followed_while_the_old_module_serves() {
    let world = World::with_guests(&["nginx"]).await;
    world.create(nginx("web", 1));
    let what = in_system(config_maps(), "nginx");
    for number in 1..=3 {
        world.cluster.delete(&what, Propagation::Background).unwrap();
        until_condition(&world, "nginx", "Loaded", "False SourceMissing").await;
        world.canary(&format!("canary-{number}")).await;
        world.drop_in("nginx", &variant("nginx", number), json!({}));
        until_active(&world, "nginx", &digest(&variant("nginx", number))).await;
        world.until_ready("nginx").await;
    }
    assert!(world.status("nginx")["refused"].is_null());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reconciler_written_by_hand_is_never_overtaken_by_a_drop_in_of_its_name() {
    let world = World::new();
    world.serve_all();
    world.account("nginx", "nginx");
    world.create(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": SYSTEM, "name": "mine"},
        "binaryData": {"module.wasm": base64(&module("nginx"))},
    }));
    let mine = json!({"source": {"configMap": {"name": "mine"}}, "namespaces": ["only-here"]});
    world.create(reconciler("nginx", &mine));
    world.until_ready("nginx").await;
    let spec = world.reconciler("nginx").at(&["spec"]).cloned();
    for number in 1..=2 {
        world.drop_in("nginx", &variant("nginx", number), json!({}));
        world
            .until("the ConfigMap is told", || {
                let told = world.events("nginx");
                told.iter()
                    .any(|event| event.starts_with("ReconcilerExists: Reconciler windlass-system/nginx"))
            })
            .await;
    }
    world.quiet().await;
    assert_eq!(world.reconciler("nginx").at(&["spec"]).cloned(), spec);
    assert_eq!(active(&world, "nginx"), digest(&module("nginx")));
    let told = world.events("nginx");
    assert_eq!(
        told.iter()
            .filter(|event| event.starts_with("ReconcilerExists"))
            .count(),
        1,
        "{told:?}"
    );
}
