//! Somebody else changes what a guest wants.

use super::play::{Play, condition};
use anyhow::{Result, ensure};
use serde_json::json;

const IMAGE: &str = "/spec/template/spec/containers/0/image";

pub(super) async fn a_scaled_deployment_is_put_right(play: &Play) -> Result<()> {
    play.nginx("web", 2).await?;
    let deployment = play.at("Deployment", "web-deploy");
    play.stage.scale(&deployment, 7).await.map_err(anyhow::Error::msg)?;
    play.until(&deployment, "/spec/replicas", 2).await?;
    play.look("scaled").await;
    Ok(())
}

pub(super) async fn an_edited_image_is_put_right(play: &Play) -> Result<()> {
    play.nginx("web", 1).await?;
    let deployment = play.at("Deployment", "web-deploy");
    let containers = json!([{"name": "nginx", "image": "nginx:0.0.1", "ports": [{"containerPort": 80}]}]);
    play.patch(
        &deployment,
        json!({"spec": {"template": {"spec": {"containers": containers}}}}),
    )
    .await?;
    play.until(&deployment, IMAGE, "nginx:1.7.9").await?;
    play.look("edited").await;
    Ok(())
}

pub(super) async fn a_stripped_label_is_put_back(play: &Play) -> Result<()> {
    play.nginx("web", 1).await?;
    let deployment = play.at("Deployment", "web-deploy");
    play.patch(
        &deployment,
        json!({"metadata": {"labels": {"app": null, "theirs": "stays"}}}),
    )
    .await?;
    play.until(&deployment, "/metadata/labels/app", "underneathall").await?;
    play.look("stripped").await;
    Ok(())
}

/// Without it the Deployment is not in the watch of the host's children any more.
pub(super) async fn a_stripped_mark_of_the_host_is_put_back(play: &Play) -> Result<()> {
    play.nginx("web", 1).await?;
    let deployment = play.at("Deployment", "web-deploy");
    play.patch(
        &deployment,
        json!({"metadata": {"labels": {"windlass.dev/reconciler": null}}}),
    )
    .await?;
    play.until(&deployment, "/metadata/labels/windlass.dev~1reconciler", "nginx")
        .await?;
    play.look("stripped").await;
    Ok(())
}

pub(super) async fn a_deleted_deployment_comes_back(play: &Play) -> Result<()> {
    play.nginx("web", 1).await?;
    let deployment = play.at("Deployment", "web-deploy");
    let before = play.get(&deployment).await?["metadata"]["uid"].clone();
    play.delete(&deployment).await?;
    let is_another = windlass_testing::eventually(std::time::Duration::from_secs(20), "another one", async || {
        let now = play.get(&deployment).await?["metadata"]["uid"].clone();
        anyhow::ensure!(now != before, "it is still the old one");
        Ok(())
    });
    is_another.await?;
    play.look("deleted").await;
    Ok(())
}

pub(super) async fn a_stranger_in_the_way_is_left_alone_and_named(play: &Play) -> Result<()> {
    let labels = json!({"app": "theirs"});
    let spec = json!({
        "replicas": 1, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "theirs", "image": "theirs:1"}]}},
    });
    play.create(&play.object("Deployment", "web-deploy", &spec)).await?;
    play.create(&play.object("Nginx", "web", &json!({"replicas": 3})))
        .await?;
    play.told("Nginx", "web", "OwnershipConflict").await?;
    play.look("in the way").await;
    play.delete(&play.at("Deployment", "web-deploy")).await?;
    play.reconciled("Nginx", "web").await?;
    play.look("out of the way").await;
    Ok(())
}

/// Somebody scales each time it is put right: after a few rounds that is left to them for a while, and they are named.
pub(super) async fn a_fight_over_replicas_is_slowed_down_and_names_who_fights(play: &Play) -> Result<()> {
    play.nginx("web", 2).await?;
    let deployment = play.at("Deployment", "web-deploy");
    for replicas in 3..8 {
        play.stage
            .scale(&deployment, replicas)
            .await
            .map_err(anyhow::Error::msg)?;
        play.until(&deployment, "/spec/replicas", 2).await?;
    }
    play.stage.scale(&deployment, 9).await.map_err(anyhow::Error::msg)?;
    let told = play.told("Nginx", "web", "OwnershipConflict").await?;
    let said = condition(&told, "Ready")["message"].to_string();
    ensure!(said.contains("kubectl (.spec.replicas)"), "{said}");
    play.until(&deployment, "/spec/replicas", 9).await?;
    play.look("left to them").await;
    // What its owner wants now is no part of the fight.
    play.patch(&play.at("Nginx", "web"), json!({"spec": {"replicas": 4}}))
        .await?;
    play.until(&deployment, "/spec/replicas", 4).await?;
    play.reconciled("Nginx", "web").await?;
    play.look("wanted anew").await;
    Ok(())
}
