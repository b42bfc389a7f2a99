//! What the nginx guest is for.

use super::play::Play;
use super::stage::reference;
use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use std::time::Duration;
use windlass_testing::eventually;

pub(super) async fn an_nginx_gets_its_deployment(play: &Play) -> Result<()> {
    play.nginx("web", 2).await?;
    play.look("created").await;
    Ok(())
}

pub(super) async fn without_replicas_there_is_one(play: &Play) -> Result<()> {
    play.create(&play.object("Nginx", "web", &json!({}))).await?;
    play.reconciled("Nginx", "web").await?;
    play.look("created").await;
    Ok(())
}

pub(super) async fn changed_replicas_are_followed(play: &Play) -> Result<()> {
    play.nginx("web", 2).await?;
    for replicas in [5, 0] {
        play.patch(&play.at("Nginx", "web"), json!({"spec": {"replicas": replicas}}))
            .await?;
        play.reconciled("Nginx", "web").await?;
        play.look(&format!("changed to {replicas}")).await;
    }
    Ok(())
}

pub(super) async fn a_deleted_nginx_takes_its_deployment_along(play: &Play) -> Result<()> {
    play.nginx("web", 2).await?;
    play.nginx("other", 1).await?;
    let before = play.get(&play.at("Deployment", "other-deploy")).await?;
    play.delete(&play.at("Nginx", "web")).await?;
    play.gone(&play.at("Deployment", "web-deploy")).await?;
    play.look("deleted").await;
    let after = play.get(&play.at("Deployment", "other-deploy")).await?;
    play.note(
        "the other one is the same",
        before["metadata"]["uid"] == after["metadata"]["uid"],
    );
    Ok(())
}

/// The schema refuses them; and an object that is older than the schema is reported.
pub(super) async fn bad_replicas_are_refused_and_where_they_are_stored_reported(play: &Play) -> Result<()> {
    for (what, replicas) in [("negative", json!(-1)), ("text", json!("two"))] {
        let refused = play
            .stage
            .create(&play.object("Nginx", "web", &json!({"replicas": replicas})))
            .await;
        play.note(what, refused.err().unwrap_or_default());
    }
    let crd = reference("CustomResourceDefinition", "", "nginx.stable.underneathall.com");
    let strict = crd_text()?;
    let mut loose = strict.clone();
    let replicas = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/replicas";
    *loose
        .pointer_mut(replicas)
        .ok_or_else(|| anyhow!("the CRD has no replicas"))? = json!({"type": "integer"});
    play.stage.apply(&loose).await.map_err(anyhow::Error::msg)?;
    let negative = play.object("Nginx", "web", &json!({"replicas": -1}));
    let stored = eventually(Duration::from_secs(20), "the loose schema holds", async || {
        play.create(&negative).await
    });
    stored.await?;
    play.told("Nginx", "web", "Invalid").await?;
    play.look("stored").await;
    play.stage.apply(&strict).await.map_err(anyhow::Error::msg)?;
    play.get(&crd).await?;
    play.patch(&play.at("Nginx", "web"), json!({"spec": {"replicas": 1}}))
        .await?;
    play.reconciled("Nginx", "web").await?;
    play.look("cured").await;
    Ok(())
}

fn crd_text() -> Result<Value> {
    let text = std::fs::read_to_string(crate::golden::path("../deploy/samples/nginx/crd.yaml"))?;
    Ok(serde_saphyr::from_str(&text)?)
}
