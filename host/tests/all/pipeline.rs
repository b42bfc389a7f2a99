//! The reference guests on the cluster in memory: from the bytes in a ConfigMap to the objects.

use crate::world::{TEAM, World, condition};
use serde_json::json;
use windlass_core::decision::Propagation;
use windlass_core::kind::KindRef;
use windlass_core::object::Object;

fn deployments() -> KindRef {
    KindRef::new("apps", "v1", "Deployment")
}

fn nginx_kind() -> KindRef {
    KindRef::new("stable.underneathall.com", "v1", "Nginx")
}

fn nginx(name: &str, replicas: i64) -> serde_json::Value {
    json!({
        "apiVersion": "stable.underneathall.com/v1", "kind": "Nginx",
        "metadata": {"namespace": TEAM, "name": name}, "spec": {"replicas": replicas},
    })
}

async fn nginx_world() -> World {
    let world = World::new();
    world.create_file("deploy/samples/nginx/crd.yaml");
    world
        .install(
            "nginx",
            &windlass_artifacts::bytes(windlass_artifacts::NGINX),
            json!({}),
        )
        .await;
    world
}

fn deployment(world: &World, name: &str) -> Option<Object> {
    world.find(&deployments(), TEAM, name)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_nginx_gets_its_deployment_and_is_reconciled() {
    let world = nginx_world().await;
    world.create(nginx("web", 2));
    world.quiet().await;
    let made = deployment(&world, "web-deploy").unwrap();
    assert_eq!(made.at(&["spec", "replicas"]), Some(&json!(2)));
    assert_eq!(made.label("underneathall-app"), Some("nginx-web"));
    let primary = world.find(&nginx_kind(), TEAM, "web").unwrap();
    assert_eq!(condition(&primary, "Ready")["status"], "True");
    assert_eq!(condition(&primary, "Reconciled")["observedGeneration"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_followed_and_a_deletion_takes_the_deployment_along() {
    let world = nginx_world().await;
    world.create(nginx("web", 2));
    world.create(nginx("other", 1));
    world.quiet().await;
    let other = deployment(&world, "other-deploy").unwrap();
    let primary = world.find(&nginx_kind(), TEAM, "web").unwrap();
    world
        .cluster
        .patch(&primary.reference(), &json!({"spec": {"replicas": 5}}))
        .unwrap();
    world.quiet().await;
    assert_eq!(
        deployment(&world, "web-deploy").unwrap().at(&["spec", "replicas"]),
        Some(&json!(5))
    );
    world
        .cluster
        .delete(&primary.reference(), Propagation::Background)
        .unwrap();
    world.quiet().await;
    assert!(deployment(&world, "web-deploy").is_none());
    assert_eq!(
        deployment(&world, "other-deploy"),
        Some(other),
        "the other one is untouched"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_with_nothing_changed_writes_nothing() {
    let mut world = nginx_world().await;
    world.create(nginx("web", 2));
    world
        .until("counted", || world.condition("nginx", "Ready") == "True")
        .await;
    world.quiet().await;
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    let mark = world.cluster.mark();
    world.restart().await;
    let id = windlass_core::key::ReconcilerId::new(crate::world::SYSTEM, "nginx");
    world
        .until("it was decided again", || {
            !world.host.reconcilers.standings(&id).is_empty()
        })
        .await;
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    world.quiet().await;
    let written: Vec<_> = world.cluster.writes_since(mark);
    assert!(written.is_empty(), "{written:#?}");
}
