//! No children wanted, none said, and a guest that fails are three different things.

use super::{child, config_map, retell, tell};
use crate::scenarios::play::{Play, condition};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

fn three() -> Value {
    ["one", "two", "three"]
        .map(|name| child(config_map(name, "1")))
        .to_vec()
        .into()
}

/// The uids of the ConfigMaps of those names that are there, and the writes about them.
async fn children(play: &Play) -> (Vec<Value>, Vec<String>) {
    let mut uids = Vec::new();
    let mut writes = Vec::new();
    for name in ["one", "two", "three"] {
        let reference = play.at("ConfigMap", name);
        uids.extend(
            play.stage
                .get(&reference)
                .await
                .map(|found| found["metadata"]["uid"].clone()),
        );
        writes.extend(play.stage.writes_to(&reference).await);
    }
    (uids, writes)
}

pub(crate) async fn n_01_an_empty_answer_prunes_nothing_and_a_deliberate_one_does(play: &Play) -> Result<()> {
    tell(play, "web", &json!({"children": three()})).await?;
    let (before, _) = children(play).await;
    ensure!(before.len() == 3, "{before:?}");
    retell(play, "web", json!({"children": []})).await?;
    let told = play.told("Told", "web", "GuestOutputRejected").await?;
    play.note("empty", condition(&told, "Reconciled")["message"].clone());
    let (after, writes) = children(play).await;
    ensure!(after == before && !writes.contains(&"delete".to_owned()), "{writes:?}");
    let mut two = three();
    two.as_array_mut().unwrap().pop();
    retell(play, "web", json!({"children": two})).await?;
    play.gone(&play.at("ConfigMap", "three")).await?;
    play.reconciled("Told", "web").await?;
    let (after, _) = children(play).await;
    ensure!(after == before[..2], "{after:?} of {before:?}");
    retell(play, "web", json!({"children": null, "noneWanted": true})).await?;
    play.gone(&play.at("ConfigMap", "one")).await?;
    play.gone(&play.at("ConfigMap", "two")).await?;
    play.reconciled("Told", "web").await?;
    Ok(())
}

pub(crate) async fn n_02_a_failing_guest_changes_and_deletes_no_child(play: &Play) -> Result<()> {
    tell(play, "web", &json!({"children": three()})).await?;
    let (before, writes) = children(play).await;
    let web = play.at("Told", "web");
    let good = json!({"behaviour": null, "told": {"waiting": null, "invalid": null, "child": null}});
    let failures = [
        (json!({"behaviour": "trap"}), "GuestTrapped"),
        (json!({"told": {"waiting": "for this"}}), "Waiting"),
        (json!({"behaviour": "spin"}), "GuestTimedOut"),
        (json!({"told": {"invalid": "spec: because"}}), "Invalid"),
        (json!({"told": {"child": []}}), "Invalid"),
    ];
    for (round, (spec, reason)) in failures.into_iter().enumerate() {
        play.patch(&web, json!({"spec": spec})).await?;
        play.told("Told", "web", reason).await?;
        let (now, written) = children(play).await;
        ensure!(now == before && written == writes, "{reason}: {written:?}");
        if round % 2 == 1 {
            play.patch(&web, json!({"spec": good})).await?;
            play.reconciled("Told", "web").await?;
        }
        play.patch(&web, json!({"spec": good})).await?;
    }
    let changed = [
        child(config_map("one", "2")),
        child(config_map("two", "1")),
        child(config_map("three", "1")),
    ];
    retell(play, "web", json!({"children": changed})).await?;
    play.until(&play.at("ConfigMap", "one"), "/data/key", "2").await?;
    play.reconciled("Told", "web").await?;
    let (now, writes) = children(play).await;
    ensure!(now == before && !writes.contains(&"delete".to_owned()), "{writes:?}");
    Ok(())
}

pub(crate) async fn k_05_an_object_of_another_shape_is_reported_with_path_and_type_and_nothing_is_written(
    play: &Play,
) -> Result<()> {
    // As an older version of the guest had it.
    let older = json!({"told": {"children": {"one": config_map("one", "1")}}});
    play.create(&play.object("Told", "old", &older)).await?;
    let told = play.told("Told", "old", "Invalid").await?;
    let message = condition(&told, "Reconciled")["message"].to_string();
    ensure!(
        message.contains("spec.told") && message.contains("expected a sequence"),
        "{message}"
    );
    play.note("message", message);
    play.note("writes", play.stage.writes_to(&play.at("ConfigMap", "one")).await);
    retell(play, "old", json!({"children": null})).await?;
    retell(play, "old", json!({"children": [child(config_map("one", "1"))]})).await?;
    play.reconciled("Told", "old").await?;
    Ok(())
}
