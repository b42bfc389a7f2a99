//! Somebody takes the host's marks off a child.

use crate::cases::settle::{ROUNDS, again, child, config_map, tell};
use crate::scenarios::play::Play;
use anyhow::{Result, ensure};
use serde_json::json;

const UID: &str = "windlass.dev/primary-uid";

pub(crate) async fn b_12_one_lost_mark_is_put_back_and_an_object_without_any_is_a_strangers(play: &Play) -> Result<()> {
    tell(play, "web", &json!({"children": [child(config_map("web", "ours"))]})).await?;
    let config_map = play.at("ConfigMap", "web");
    let made = play.get(&config_map).await?;
    let no_owner = json!({"ownerReferences": null});
    let no_label = json!({"labels": {UID: null}});
    play.patch(&config_map, json!({"metadata": no_owner})).await?;
    play.until(&config_map, "/metadata/ownerReferences/0/name", "web")
        .await?;
    play.patch(&config_map, json!({"metadata": no_label})).await?;
    let pointer = format!("/metadata/labels/{}", UID.replace('/', "~1"));
    let back = play
        .until(&config_map, &pointer, made["metadata"]["labels"][UID].clone())
        .await?;
    ensure!(back["metadata"]["uid"] == made["metadata"]["uid"], "it was made again");
    play.reconciled("Told", "web").await?;
    play.look("put back").await;
    let mut both = no_owner;
    both["labels"] = no_label["labels"].clone();
    let stripped = play.patch(&config_map, json!({"metadata": both})).await?;
    play.told("Told", "web", "OwnershipConflict").await?;
    for round in 0..ROUNDS {
        again(play, "web", round, "OwnershipConflict").await?;
    }
    let now = play.get(&config_map).await?;
    let version = |object: &serde_json::Value| object["metadata"]["resourceVersion"].clone();
    ensure!(version(&now) == version(&stripped), "it was written: {now}");
    play.look("nobody's").await;
    Ok(())
}
