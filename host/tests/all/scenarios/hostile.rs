//! Guests that want what they may not, and guests that finalize.

use super::play::Play;
use anyhow::Result;
use serde_json::json;

pub(super) async fn a_forbidden_child_is_refused_with_all_the_rest(play: &Play) -> Result<()> {
    play.create(&play.object("Hostile", "bad", &json!({"behaviour": "forbidden-child"})))
        .await?;
    play.told("Hostile", "bad", "GuestOutputRejected").await?;
    play.look("refused").await;
    play.patch(&play.at("Hostile", "bad"), json!({"spec": {"behaviour": "good"}}))
        .await?;
    play.reconciled("Hostile", "bad").await?;
    play.look("mended").await;
    Ok(())
}

pub(super) async fn a_primary_is_held_until_its_guest_lets_it_go(play: &Play) -> Result<()> {
    play.create(&play.object("Hostile", "held", &json!({}))).await?;
    play.reconciled("Hostile", "held").await?;
    play.look("created").await;
    play.delete(&play.at("Hostile", "held")).await?;
    play.told("Hostile", "held", "Deleting").await?;
    play.look("held").await;
    let release = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": play.namespace, "name": "held-release"},
    });
    play.create(&release).await?;
    play.gone(&play.at("Hostile", "held")).await?;
    play.gone(&play.at("ConfigMap", "held")).await?;
    play.look("let go").await;
    Ok(())
}
