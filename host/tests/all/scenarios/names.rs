//! Names that are too long for a label, or for a Deployment that has pods.

use super::play::Play;
use super::stage::kind;
use anyhow::Result;
use serde_json::json;

/// With dots, as names of objects may have them.
fn name(length: usize) -> String {
    "part-of.a-long.name."
        .chars()
        .cycle()
        .take(length - 1)
        .chain(['x'])
        .collect()
}

pub(super) async fn j_01_long_names_get_their_deployments(play: &Play) -> Result<()> {
    for length in [63, 64, 200, 253] {
        play.nginx(&name(length), 1).await?;
    }
    play.look("created").await;
    if play.stage.runs_workloads() {
        for deployment in play.stage.list(&kind("Deployment"), &play.namespace).await {
            let name = deployment["metadata"]["name"].as_str().unwrap_or_default();
            play.until(&play.at("Deployment", name), "/status/readyReplicas", 1)
                .await?;
        }
    }
    Ok(())
}

pub(super) async fn j_02_names_that_begin_alike_do_not_collide(play: &Play) -> Result<()> {
    let (one, other) = (format!("{}-one", "n".repeat(120)), format!("{}-other", "n".repeat(120)));
    play.nginx(&one, 1).await?;
    play.nginx(&other, 2).await?;
    play.look("both").await;
    let deployments = play.stage.list(&kind("Deployment"), &play.namespace).await.len();
    play.note("deployments", deployments);
    play.delete(&play.at("Nginx", &one)).await?;
    let left = windlass_testing::eventually(std::time::Duration::from_secs(90), "one is left", async || {
        let left = play.stage.list(&kind("Deployment"), &play.namespace).await.len();
        anyhow::ensure!(left == 1, "{left} are");
        Ok(())
    });
    left.await?;
    play.look("the other one").await;
    Ok(())
}

pub(super) async fn equal_names_in_two_namespaces_do_not_collide(play: &Play) -> Result<()> {
    play.nginx("web", 1).await?;
    let elsewhere = format!("{}-2", play.namespace);
    let mut object = play.object("Nginx", "web", &json!({"replicas": 2}));
    object["metadata"]["namespace"] = elsewhere.as_str().into();
    play.create(&object).await?;
    let other = super::stage::reference("Deployment", &elsewhere, "web-deploy");
    play.until(&other, "/spec/replicas", 2).await?;
    play.delete(&play.at("Nginx", "web")).await?;
    play.gone(&play.at("Deployment", "web-deploy")).await?;
    play.look_into("the other one", &elsewhere).await;
    Ok(())
}
