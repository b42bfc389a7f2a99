//! Shows that primaries have one Reconciler that writes their status, and what becomes of them when it goes.

use super::until_condition;
use crate::things::{hostile, hostiles, in_system, in_team, nginx, nginxes, reconciler, reconcilers};
use crate::world::{SYSTEM, World, base64, module};
use serde_json::{Value, json};
use windlass_core::decision::Propagation;

fn by_hand(world: &World, name: &str, guest: &str, spec: &Value) {
    world.account(name, name);
    world.create(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": SYSTEM, "name": name},
        "binaryData": {"module.wasm": base64(&module(guest))},
    }));
    world.create(reconciler(name, spec));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_13_the_oldest_has_the_primaries_and_the_next_one_follows_when_it_goes() {
    let mut world = World::new();
    world.serve_all();
    world.install_by_hand("a", "nginx", &json!({})).await;
    world.create(nginx("web", 1));
    let web = in_team(nginxes(), "web");
    world.until_says(&web, "Ready", "True Reconciled").await;
    // Creation times have seconds, and the older one has to be the older one.
    world
        .until("a second has passed", || {
            let created = world.reconciler("a");
            let created = created.text_at(&["metadata", "creationTimestamp"]).unwrap().to_owned();
            jiff::Timestamp::now()
                .duration_since(created.parse().unwrap())
                .as_secs()
                >= 2
        })
        .await;
    by_hand(&world, "b", "nginx", &json!({}));
    let message = until_condition(&world, "b", "Permitted", "False PrimaryClaimed").await;
    assert!(message.contains("Reconciler windlass-system/a"), "{message}");
    world.restart().await;
    until_condition(&world, "b", "Permitted", "False PrimaryClaimed").await;
    world.until_ready("a").await;

    world
        .cluster
        .delete(&in_system(reconcilers(), "b"), Propagation::Background)
        .unwrap();
    world.patch(&web, &json!({"spec": {"replicas": 2}}));
    world.until_says(&web, "Ready", "True Reconciled").await;

    world.create(reconciler("b", &json!({})));
    until_condition(&world, "b", "Permitted", "False PrimaryClaimed").await;
    world.patch(&in_system(reconcilers(), "a"), &json!({"spec": {"suspend": true}}));
    until_condition(&world, "b", "Permitted", "True Granted").await;
    world.patch(&in_system(reconcilers(), "a"), &json!({"spec": {"suspend": false}}));
    world.until_ready("a").await;
    until_condition(&world, "b", "Permitted", "False PrimaryClaimed").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reconcilers_for_other_namespaces_or_without_status_share_a_kind() {
    let world = World::new();
    world.serve_all();
    by_hand(&world, "here", "hostile", &json!({"namespaces": ["here"]}));
    by_hand(&world, "there", "hostile", &json!({"namespaces": ["there"]}));
    by_hand(
        &world,
        "decorates",
        "hostile",
        &json!({"settings": {"describe": "no-status"}}),
    );
    for name in ["here", "there", "decorates"] {
        world.until_ready(name).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_leaves_the_claim_is_released_and_its_children_stay() {
    let world = World::new();
    world.serve_all();
    let spec = json!({"settings": {"finalizes": true}, "namespaces": ["team-a", "team-b"]});
    by_hand(&world, "hostile", "hostile", &spec);
    world.until_ready("hostile").await;
    world.create(hostile("one", "good"));
    let one = in_team(hostiles(), "one");
    world.until_says(&one, "Ready", "True Reconciled").await;
    let held = || world.get(&one).finalizers().count();
    assert_eq!(held(), 1);
    let children = world.cluster.list(&crate::things::config_maps()).len();
    world.patch(
        &in_system(reconcilers(), "hostile"),
        &json!({"spec": {"namespaces": ["team-b"]}}),
    );
    world.until("the primary is released", || held() == 0).await;
    world
        .until("the new claim is written down", || {
            world.status("hostile")["claim"]["namespaces"] == json!(["team-b"])
        })
        .await;
    world.until_ready("hostile").await;
    assert_eq!(world.cluster.list(&crate::things::config_maps()).len(), children);
}
