//! A field that the guest does not name belongs to whoever writes it.

use super::{ROUNDS, again, child, deployment, retell, tell};
use crate::scenarios::play::Play;
use crate::things::{deployments, in_team, object};
use crate::world::{TEAM, World, module, variant};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

/// What the host's manager owns of the spec.
fn own_spec(object: &Value) -> Vec<&Value> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries
        .filter(|entry| {
            entry["manager"]
                .as_str()
                .is_some_and(|manager| manager.starts_with("windlass"))
        })
        .map(|entry| &entry["fieldsV1"]["f:spec"])
        .collect()
}

pub(crate) async fn a_06_replicas_that_the_guest_leaves_out_are_left_to_who_scales(play: &Play) -> Result<()> {
    let wanted = |image: &str| json!([child(deployment("web", &json!({"name": "web", "image": image})))]);
    tell(play, "web", &json!({"children": wanted("web:1")})).await?;
    let deployment = play.at("Deployment", "web");
    play.stage.scale(&deployment, 4).await.map_err(anyhow::Error::msg)?;
    for round in 0..ROUNDS {
        again(play, "web", round, "Reconciled").await?;
        play.until(&deployment, "/spec/replicas", 4).await?;
    }
    // Also where something else is changed, so that the whole of what is wanted is applied.
    retell(play, "web", json!({"children": wanted("web:2")})).await?;
    play.reconciled("Told", "web").await?;
    let now = play.until(&deployment, "/spec/replicas", 4).await?;
    let ours = own_spec(&now);
    ensure!(
        !ours.is_empty() && ours.iter().all(|spec| spec["f:replicas"].is_null()),
        "{ours:?}"
    );
    play.look("scaled").await;
    Ok(())
}

/// A host on a cluster in memory whose guest is told of Deployments by `Hostile`s.
async fn told_world() -> (World, Value) {
    let world = World::with_guests(&[]).await;
    let kind = |group: &str, kind: &str, plural: &str| json!({"group": group, "version": "v1", "kind": kind, "plural": plural});
    let manifest = json!({
        "primary": kind("hostile.windlass.test", "Hostile", "hostiles"), "children": [kind("apps", "Deployment", "deployments")],
    });
    let settings = json!({"describe": "told", "manifest": manifest});
    world.install("hostile", "hostile", settings.clone()).await;
    (world, settings)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_01_a_02_what_the_server_spells_or_fills_in_is_not_written_again_after_a_restart() {
    let (mut world, _) = told_world().await;
    let resources = json!({"limits": {"cpu": "1000m", "memory": "2048Mi"}});
    let pod = json!({"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}});
    let container = json!({
        "name": "web", "image": "web:1", "resources": resources, "env": [pod], "ports": [{"containerPort": 80}],
    });
    let web = world.create(json!({
        "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile", "metadata": {"namespace": TEAM, "name": "web"},
        "spec": {"told": {"children": [child(deployment("web", &container))]}},
    }));
    world.until_says(&web.reference(), "Ready", "True Reconciled").await;
    let written = world.writes_after_restart("hostile").await;
    assert_eq!(written, []);
    assert_eq!(world.get(&in_team(deployments(), "web")).generation(), Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_06_replicas_stay_over_a_restart_and_an_equal_module() {
    let (mut world, settings) = told_world().await;
    let told = json!({"children": [child(deployment("web", &json!({"name": "web", "image": "web:1"})))]});
    let web = world.create(json!({
        "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile", "metadata": {"namespace": TEAM, "name": "web"},
        "spec": {"told": told},
    }));
    world.until_says(&web.reference(), "Ready", "True Reconciled").await;
    let deployment = in_team(deployments(), "web");
    world.cluster.scale(&deployment, 4).unwrap();
    let mark = world.cluster.mark();
    let written = world.writes_after_restart("hostile").await;
    assert_eq!(written, [], "after a restart");
    let swaps = world.host.metrics.swaps.get();
    assert_ne!(variant("hostile", 1), module("hostile"));
    world.drop_in("hostile", &variant("hostile", 1), settings);
    world
        .until("the module is swapped", || world.host.metrics.swaps.get() > swaps)
        .await;
    world.quiet().await;
    world.touch(&web.reference(), "again");
    world.quiet().await;
    let children = world.writes_for("hostile", mark);
    assert!(
        children.iter().all(|write| write.target.kind.of != deployments()),
        "{children:#?}"
    );
    let now = world.get(&deployment);
    assert_eq!(now.at(&["spec", "replicas"]), Some(&json!(4)));
    let now = object(now.into_value()).into_value();
    assert!(
        own_spec(&now).iter().all(|spec| spec["f:replicas"].is_null()),
        "{now:#?}"
    );
}
