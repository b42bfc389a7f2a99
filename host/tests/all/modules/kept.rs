//! Shows that the last good module outlives its source and the host, and that what is kept is bounded.

use super::{active, until_active, until_condition};
use crate::things::{config_maps, deployments, in_system, in_team, nginx, nginxes, object, reconcilers};
use crate::world::{World, digest, variant};
use serde_json::json;
use windlass_core::decision::Propagation;
use windlass_core::object::Object;

/// Names of the modules that are kept, by digest.
fn kept(world: &World) -> Vec<String> {
    let all = world.cluster.list(&config_maps());
    let kept = all
        .iter()
        .filter(|found| found.label("windlass.dev/kept-module") == Some("true"));
    let mut digests: Vec<String> = kept
        .filter_map(|found| found.annotation("windlass.dev/digest").map(Into::into))
        .collect();
    digests.sort();
    digests
}

async fn until_kept(world: &World, wanted: &[&[u8]]) {
    let mut wanted: Vec<String> = wanted.iter().map(|bytes| digest(bytes)).collect();
    wanted.sort();
    world
        .until("the right modules are kept", || kept(world) == wanted)
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_02_a_host_that_is_restarted_with_a_bad_or_missing_source_runs_the_last_good_module() {
    let mut world = World::new();
    world.serve_all();
    world.account("nginx", "nginx");
    let good = variant("nginx", 1);
    world.drop_in("nginx", &good, json!({"image": "nginx:kept"}));
    world.create(nginx("web", 1));
    world.until_ready("nginx").await;
    until_kept(&world, &[&good]).await;

    world.drop_in("nginx", b"junk", json!({"image": "nginx:junk"}));
    until_condition(&world, "nginx", "Loaded", "False GuestLoadFailed").await;
    world.restart().await;
    let web = in_team(nginxes(), "web");
    world.patch(&web, &json!({"spec": {"replicas": 3}}));
    let deployment = in_team(deployments(), "web-deploy");
    let replicas = |wanted: i64| world.get(&deployment).at(&["spec", "replicas"]) == Some(&json!(wanted));
    world
        .until("the edit converges on the last good module", || replicas(3))
        .await;
    until_condition(&world, "nginx", "Loaded", "False GuestLoadFailed").await;
    assert_eq!(active(&world, "nginx"), digest(&good));

    let source = in_system(config_maps(), "nginx");
    world.cluster.delete(&source, Propagation::Background).unwrap();
    world.restart().await;
    world.patch(&web, &json!({"spec": {"replicas": 4}}));
    let replicas = |wanted: i64| world.get(&deployment).at(&["spec", "replicas"]) == Some(&json!(wanted));
    world.until("and once more without a source", || replicas(4)).await;
    until_condition(&world, "nginx", "Loaded", "False SourceMissing").await;
    let image = world
        .get(&deployment)
        .at(&["spec", "template", "spec", "containers"])
        .cloned();
    assert_eq!(
        image.unwrap()[0]["image"],
        "nginx:kept",
        "the settings beside the module outlive its ConfigMap too"
    );
    world.drop_in("nginx", &good, json!({"image": "nginx:kept"}));
    world.until_ready("nginx").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_is_bounded_and_goes_with_its_reconciler() {
    let world = World::new();
    world.serve_all();
    world.account("nginx", "nginx");
    let versions: Vec<Vec<u8>> = (1..=6).map(|number| variant("nginx", number)).collect();
    for version in &versions {
        world.drop_in("nginx", version, json!({}));
        until_active(&world, "nginx", &digest(version)).await;
    }
    let last: Vec<&[u8]> = versions[2..].iter().map(Vec::as_slice).collect();
    until_kept(&world, &last).await;
    let earlier = world.status("nginx")["earlier"].clone();
    let earlier: Vec<&str> = earlier
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|earlier| earlier["digest"].as_str())
        .collect();
    let wanted: Vec<String> = versions[2..5].iter().rev().map(|version| digest(version)).collect();
    assert_eq!(earlier, wanted, "the last one first");
    let reconciler = in_system(reconcilers(), "nginx");
    world
        .cluster
        .delete(&in_system(config_maps(), "nginx"), Propagation::Background)
        .unwrap();
    world.cluster.delete(&reconciler, Propagation::Background).unwrap();
    until_kept(&world, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_or_torn_kept_module_is_not_run_and_is_kept_anew_from_the_source() {
    let mut world = World::new();
    world.serve_all();
    world.account("nginx", "nginx");
    let good = variant("nginx", 1);
    world.drop_in("nginx", &good, json!({}));
    world.until_ready("nginx").await;
    until_kept(&world, &[&good]).await;
    world.stop().await;
    let name = windlass_core::names::kept_module(&digest(&good), 0);
    let what = in_system(config_maps(), &name);
    let mut forged: Object = world.get(&what);
    forged.0["binaryData"] = json!({"module.wasm.gz": crate::world::base64(&variant("nginx", 2))});
    forged.metadata_mut().remove("resourceVersion");
    forged.metadata_mut().remove("uid");
    forged.metadata_mut().remove("managedFields");
    world.cluster.delete(&what, Propagation::Background).unwrap();
    world.cluster.create(&object(forged.into_value())).unwrap();
    let source = in_system(config_maps(), "nginx");
    world.cluster.delete(&source, Propagation::Background).unwrap();
    world.start();
    until_condition(&world, "nginx", "Loaded", "False SourceMissing").await;
    world
        .until("the forged one is deleted", || world.find(&what).is_none())
        .await;
    assert!(
        active(&world, "nginx").is_null(),
        "nothing runs rather than something forged"
    );
    world.drop_in("nginx", &good, json!({}));
    world.until_ready("nginx").await;
    until_kept(&world, &[&good]).await;
}
