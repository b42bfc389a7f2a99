//! The reference guests on the cluster in memory: from the bytes in a ConfigMap to the objects.

use crate::things::{condition, config_maps, deployments, friend, friends, in_system, in_team, nginx, nginxes, pod};
use crate::world::{TEAM, World, module};
use serde_json::json;
use windlass_core::decision::Propagation;
use windlass_core::object::Object;

fn deployment(world: &World, name: &str) -> Option<Object> {
    world.find(&in_team(deployments(), name))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_nginx_gets_its_deployment_and_is_reconciled() {
    let world = World::with_guests(&["nginx"]).await;
    world.create(nginx("web", 2));
    world.quiet().await;
    let made = deployment(&world, "web-deploy").unwrap();
    assert_eq!(made.at(&["spec", "replicas"]), Some(&json!(2)));
    assert_eq!(made.label("underneathall-app"), Some("nginx-web"));
    let primary = world.get(&in_team(nginxes(), "web"));
    assert_eq!(condition(&primary, "Ready")["status"], "True");
    assert_eq!(condition(&primary, "Reconciled")["observedGeneration"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_followed_and_a_deletion_takes_the_deployment_along() {
    let world = World::with_guests(&["nginx"]).await;
    world.create(nginx("web", 2));
    world.create(nginx("other", 1));
    world.quiet().await;
    let other = deployment(&world, "other-deploy").unwrap();
    let primary = world.get(&in_team(nginxes(), "web"));
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
    let mut world = World::with_guests(&["nginx"]).await;
    world.create(nginx("web", 2));
    world.counted("nginx", "1/1").await;
    world.quiet().await;
    let mark = world.cluster.mark();
    world.restart().await;
    let id = windlass_core::key::ReconcilerId::new(crate::world::SYSTEM, "nginx");
    world
        .until("it was decided again", || !world.host.running.standings(&id).is_empty())
        .await;
    // The counts would be written a second later.
    crate::world::window(1500).await;
    world.quiet().await;
    let written: Vec<_> = world.cluster.writes_since(mark);
    assert!(written.is_empty(), "{written:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_friend_is_healthy_exactly_while_its_pod_is_there() {
    let world = World::with_guests(&["friend"]).await;
    let (one, two) = (in_team(friends(), "one"), in_team(friends(), "two"));
    world.create(friend("one", "joe"));
    world.create(friend("two", "moe"));
    world.quiet().await;
    for resource in [&one, &two] {
        assert_eq!(world.get(resource).at(&["status", "Healthy"]), None);
    }
    let taken = world.decisions("friend", "Decided");
    let joe = world.create(pod("elsewhere", "joe"));
    world.quiet().await;
    assert_eq!(world.get(&one).at(&["status", "Healthy"]), Some(&json!(true)));
    assert_eq!(world.get(&two).at(&["status", "Healthy"]), None);
    assert_eq!(
        world.decisions("friend", "Decided"),
        taken + 1,
        "only who waits is woken"
    );
    world.cluster.delete(&joe.reference(), Propagation::Background).unwrap();
    world.quiet().await;
    assert_eq!(
        world.get(&one).at(&["status", "Healthy"]),
        None,
        "the field is gone again"
    );
    world.create(pod(TEAM, "moe"));
    world.quiet().await;
    assert_eq!(world.get(&two).at(&["status", "Healthy"]), Some(&json!(true)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_friend_that_is_looked_for_under_another_name_is_found() {
    let world = World::with_guests(&["friend"]).await;
    world.create(pod(TEAM, "moe"));
    world.create(friend("one", "joe"));
    world.quiet().await;
    let one = in_team(friends(), "one");
    world.patch(&one, &json!({"spec": {"name": "moe"}}));
    world.quiet().await;
    assert_eq!(world.get(&one).at(&["status", "Healthy"]), Some(&json!(true)));
    let taken = world.decisions("friend", "Decided");
    world.create(pod(TEAM, "joe"));
    world.quiet().await;
    assert_eq!(world.decisions("friend", "Decided"), taken, "it waits for joe no more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_version_is_swapped_in_and_every_deployment_follows() {
    let mut world = World::with_guests(&["nginx"]).await;
    for name in ["web", "shop"] {
        world.create(nginx(name, 2));
    }
    world.quiet().await;
    let first = world.status("nginx")["active"].clone();
    let uid = deployment(&world, "web-deploy").unwrap().uid().to_owned();
    world.drop_in("nginx", &module("nginx-next"), json!({}));
    world
        .until("the next version runs", || {
            world.status("nginx")["active"]["digest"] != first["digest"]
        })
        .await;
    world.quiet().await;
    let active = &world.status("nginx")["active"];
    assert!(active["version"].as_str().unwrap().ends_with("+next"), "{active}");
    for name in ["web-deploy", "shop-deploy"] {
        let image = &deployment(&world, name).unwrap().0["spec"]["template"]["spec"]["containers"][0]["image"];
        assert_eq!(image, "nginx:1.9.1");
    }
    assert_eq!(
        deployment(&world, "web-deploy").unwrap().uid(),
        uid,
        "changed, not made again"
    );
    let told = || -> Vec<String> {
        let mut told = world.events("nginx");
        told.retain(|event| event.starts_with("TakenUp"));
        told
    };
    let (next, first) = (
        active["shortDigest"].as_str().unwrap(),
        first["shortDigest"].as_str().unwrap(),
    );
    let wanted = format!("TakenUp: nginx 0.1.0+next ({next}) takes the decisions, in place of nginx 0.1.0 ({first})");
    world.until("the last one is told", || told() == [wanted.clone()]).await;
    world.restart().await;
    world.until_ready("nginx").await;
    world.touch(&in_team(nginxes(), "web"), "after the restart");
    world.quiet().await;
    let told = world.events("nginx");
    let told = told.iter().filter(|event| event.starts_with("TakenUp"));
    assert_eq!(told.count(), 1, "a restart is no news");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_settings_are_asked_about_and_followed() {
    let world = World::with_guests(&["nginx"]).await;
    world.create(nginx("web", 2));
    world.quiet().await;
    world.drop_in("nginx", &module("nginx"), json!({"image": "nginx:2"}));
    world
        .until("the image of the settings is used", || {
            let deployment = deployment(&world, "web-deploy").unwrap();
            deployment.0["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:2"
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_module_whose_source_is_gone_runs_on() {
    let world = World::with_guests(&["nginx"]).await;
    let source = in_system(config_maps(), "nginx");
    world.cluster.delete(&source, Propagation::Background).unwrap();
    world
        .until("the loss is said", || {
            condition(&world.reconciler("nginx"), "Loaded")["reason"] == "SourceMissing"
        })
        .await;
    world.canary("web").await;
    assert_eq!(world.status("nginx")["active"]["name"], "nginx");
}
