//! Two primaries of the host's own want the same object, or hand it over.

use crate::cases::settle::{child, config_map, retell, tell};
use crate::scenarios::play::{Play, condition};
use anyhow::{Result, ensure};
use serde_json::json;
use std::time::Duration;
use windlass_testing::eventually;

pub(crate) async fn b_03_two_kinds_that_want_one_object_do_not_fight_over_it(play: &Play) -> Result<()> {
    let wanted = |value: &str| json!({"told": {"children": [child(config_map("shared", value))]}});
    play.create(&play.object("Told", "web", &wanted("told"))).await?;
    play.reconciled("Told", "web").await?;
    let shared = play.at("ConfigMap", "shared");
    let made = play.get(&shared).await?;
    play.create(&play.object("Tale", "web", &wanted("tale"))).await?;
    let told = play.told("Tale", "web", "OwnershipConflict").await?;
    let message = condition(&told, "Reconciled")["message"].to_string();
    ensure!(message.contains("owner Told/web"), "{message}");
    play.reconciled("Told", "web").await?;
    play.look("one of two").await;
    let now = play.get(&shared).await?;
    ensure!(
        now["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"],
        "{now}"
    );
    play.delete(&play.at("Told", "web")).await?;
    // The garbage collector looks for new kinds every 30 s only.
    eventually(Duration::from_secs(90), "the other one has it", async || {
        let now = play.get(&shared).await?;
        ensure!(now["data"]["key"] == "tale", "{now}");
        Ok(())
    })
    .await?;
    play.reconciled("Tale", "web").await?;
    play.look("the other of two").await;
    Ok(())
}

pub(crate) async fn b_04_a_child_that_moved_to_another_primary_is_not_pruned(play: &Play) -> Result<()> {
    let (own, shared) = (child(config_map("own", "foo")), child(config_map("shared", "foo")));
    tell(play, "foo", &json!({"children": [own, shared]})).await?;
    let shared = play.at("ConfigMap", "shared");
    let made = play.get(&shared).await?;
    tell(play, "bar", &json!({"children": [child(config_map("bars", "bar"))]})).await?;
    let bar = play.get(&play.at("Told", "bar")).await?["metadata"]["uid"].clone();
    let wanted = [child(config_map("bars", "bar")), child(config_map("shared", "bar"))];
    retell(play, "bar", json!({"children": wanted})).await?;
    play.told("Told", "bar", "OwnershipConflict").await?;
    // A person hands it over.
    let owner = json!({
        "apiVersion": "told.windlass.test/v1", "kind": "Told", "name": "bar", "uid": bar, "controller": true,
    });
    let moved = json!({"metadata": {"ownerReferences": [owner], "labels": {"windlass.dev/primary-uid": bar}}});
    play.patch(&shared, moved).await?;
    play.reconciled("Told", "bar").await?;
    play.until(&shared, "/data/key", "bar").await?;
    play.told("Told", "foo", "OwnershipConflict").await?;
    retell(play, "foo", json!({"children": [child(config_map("own", "foo"))]})).await?;
    play.reconciled("Told", "foo").await?;
    play.delete(&play.at("Told", "foo")).await?;
    play.gone(&play.at("ConfigMap", "own")).await?;
    let now = play.get(&shared).await?;
    ensure!(now["metadata"]["uid"] == made["metadata"]["uid"], "it was made again");
    ensure!(now["metadata"]["ownerReferences"][0]["name"] == "bar", "{now}");
    let deletes = play.stage.writes_to(&shared).await.contains(&"delete".to_owned());
    ensure!(!deletes, "it was deleted");
    play.note("data", now["data"].clone());
    Ok(())
}
