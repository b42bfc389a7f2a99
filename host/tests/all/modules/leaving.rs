//! Shows that a Reconciler can always go, and come back to its children.

use super::until_condition;
use crate::things::{config_maps, deployments, hostile, hostiles, in_system, in_team, nginx, nginxes, reconcilers};
use crate::world::{SYSTEM, World, module};
use serde_json::json;
use windlass_core::decision::Propagation;

/// A Reconciler that holds its primary.
async fn holding() -> World {
    let world = World::new();
    world.serve_all();
    let spec = json!({"settings": {"finalizes": true}});
    world.install_by_hand("hostile", "hostile", &spec).await;
    world.create(hostile("one", "good"));
    world
        .until_says(&in_team(hostiles(), "one"), "Ready", "True Reconciled")
        .await;
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d_06_a_reconciler_whose_module_is_lost_releases_its_primaries_after_a_restart() {
    let mut world = holding().await;
    world.stop().await;
    // Neither the source nor what was kept is there any more.
    for found in world.cluster.list(&config_maps()) {
        if found.namespace() == Some(SYSTEM) {
            world
                .cluster
                .delete(&found.reference(), Propagation::Background)
                .unwrap();
        }
    }
    world
        .cluster
        .delete(&in_system(reconcilers(), "hostile"), Propagation::Background)
        .unwrap();
    let children = world.cluster.list(&config_maps()).len();
    world.start();
    world
        .until("the Reconciler is gone", || {
            world.find(&in_system(reconcilers(), "hostile")).is_none()
        })
        .await;
    let one = world.get(&in_team(hostiles(), "one"));
    assert_eq!(one.finalizers().count(), 0);
    assert_eq!(world.cluster.list(&config_maps()).len(), children, "children stay");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspended_reconciler_can_go_too() {
    let world = holding().await;
    world.patch(
        &in_system(reconcilers(), "hostile"),
        &json!({"spec": {"suspend": true}}),
    );
    until_condition(&world, "hostile", "Ready", "False Suspended").await;
    world
        .cluster
        .delete(&in_system(reconcilers(), "hostile"), Propagation::Background)
        .unwrap();
    world
        .until("the Reconciler is gone", || {
            world.find(&in_system(reconcilers(), "hostile")).is_none()
        })
        .await;
    assert_eq!(world.get(&in_team(hostiles(), "one")).finalizers().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reconciler_made_again_takes_its_children_back() {
    let world = World::with_guests(&["nginx"]).await;
    world.create(nginx("web", 1));
    let web = in_team(nginxes(), "web");
    world.until_says(&web, "Ready", "True Reconciled").await;
    let deployment = in_team(deployments(), "web-deploy");
    let before = world.get(&deployment);
    let source = in_system(config_maps(), "nginx");
    world.cluster.delete(&source, Propagation::Background).unwrap();
    world
        .cluster
        .delete(&in_system(reconcilers(), "nginx"), Propagation::Background)
        .unwrap();
    world
        .until("nothing runs", || world.host.running.active_count() == 0)
        .await;
    assert_eq!(world.get(&deployment).uid(), before.uid(), "children stay");
    world.drop_in("nginx", &module("nginx"), json!({}));
    world.until_ready("nginx").await;
    world.patch(&web, &json!({"spec": {"replicas": 5}}));
    world
        .until("the child is taken back", || {
            world.get(&deployment).at(&["spec", "replicas"]) == Some(&json!(5))
        })
        .await;
    assert_eq!(world.get(&deployment).uid(), before.uid());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_14_a_source_that_comes_back_under_another_name_takes_its_children_back() {
    let world = World::with_guests(&["nginx"]).await;
    world.create(nginx("web", 1));
    let web = in_team(nginxes(), "web");
    world.until_says(&web, "Ready", "True Reconciled").await;
    let deployment = in_team(deployments(), "web-deploy");
    let before = world.get(&deployment);
    let source = in_system(config_maps(), "nginx");
    world.cluster.delete(&source, Propagation::Background).unwrap();
    until_condition(&world, "nginx", "Loaded", "False SourceMissing").await;
    world.drop_in("nginx", &module("nginx"), json!({}));
    world.until_ready("nginx").await;
    world.until_says(&web, "Ready", "True Reconciled").await;
    world.cluster.delete(&source, Propagation::Background).unwrap();
    until_condition(&world, "nginx", "Loaded", "False SourceMissing").await;
    world.create(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": SYSTEM, "name": "renamed"},
        "binaryData": {"module.wasm": crate::world::base64(&module("nginx"))},
    }));
    let what = in_system(reconcilers(), "nginx");
    world.patch(&what, &json!({"spec": {"source": {"configMap": {"name": "renamed"}}}}));
    world.until_ready("nginx").await;
    world.until_says(&web, "Ready", "True Reconciled").await;
    assert_eq!(world.get(&deployment).uid(), before.uid());
}
