//! An object that somebody else made has the name of a child.

use crate::cases::settle::{ROUNDS, again, child, config_map};
use crate::meddler::Verdict;
use crate::scenarios::play::{Play, condition};
use crate::things::{config_maps, hostiles, in_team};
use crate::world::{TEAM, World};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use windlass_core::decision::Propagation;
use windlass_core::write::Request;

/// A person's ConfigMap, and a primary whose guest wants one of that name.
async fn in_the_way(play: &Play) -> Result<Value> {
    let mut theirs = config_map("web", "theirs");
    theirs["metadata"]["namespace"] = json!(play.namespace);
    let made = play.create(&theirs).await?;
    let told = json!({"told": {"children": [child(config_map("web", "ours"))]}});
    play.create(&play.object("Told", "web", &told)).await?;
    play.told("Told", "web", "OwnershipConflict").await?;
    Ok(made)
}

async fn ensure_untouched(play: &Play, made: &Value) -> Result<()> {
    let now = play.get(&play.at("ConfigMap", "web")).await?;
    let state = |object: &Value| {
        [
            object["metadata"]["uid"].clone(),
            object["metadata"]["resourceVersion"].clone(),
        ]
    };
    ensure!(state(&now) == state(made), "it was {made} and is {now}");
    Ok(())
}

pub(crate) async fn b_01_an_object_of_somebody_else_stays_as_it_is_and_is_named(play: &Play) -> Result<()> {
    let made = in_the_way(play).await?;
    for round in 0..ROUNDS {
        again(play, "web", round, "OwnershipConflict").await?;
    }
    ensure_untouched(play, &made).await?;
    let told = play.get(&play.at("Told", "web")).await?;
    let message = condition(&told, "Reconciled")["message"].to_string();
    let named = format!("ConfigMap {}/web", play.namespace);
    ensure!(message.contains(&named) && message.contains("owner none"), "{message}");
    ensure!(condition(&told, "Ready")["status"] == "False", "{}", told["status"]);
    play.note("message", message);
    Ok(())
}

pub(crate) async fn b_02_an_object_of_somebody_else_outlives_the_primary(play: &Play) -> Result<()> {
    let made = in_the_way(play).await?;
    play.delete(&play.at("Told", "web")).await?;
    play.gone(&play.at("Told", "web")).await?;
    ensure_untouched(play, &made).await
}

pub(crate) async fn b_06_a_stranger_that_goes_makes_way_without_any_edit(play: &Play) -> Result<()> {
    in_the_way(play).await?;
    play.delete(&play.at("ConfigMap", "web")).await?;
    play.reconciled("Told", "web").await?;
    play.until(&play.at("ConfigMap", "web"), "/data/key", "ours").await?;
    Ok(())
}

pub(crate) async fn g_06_a_child_in_conflict_stops_no_other_child(play: &Play) -> Result<()> {
    let mut theirs = config_map("a", "theirs");
    theirs["metadata"]["namespace"] = json!(play.namespace);
    play.create(&theirs).await?;
    let wanted = ["a", "b", "c", "d"].map(|name| child(config_map(name, "ours")));
    play.create(&play.object("Told", "web", &json!({"told": {"children": wanted}})))
        .await?;
    let told = play.told("Told", "web", "OwnershipConflict").await?;
    for name in ["b", "c", "d"] {
        play.until(&play.at("ConfigMap", name), "/data/key", "ours").await?;
    }
    let message = condition(&told, "Reconciled")["message"].to_string();
    ensure!(message.contains("/a ") && !message.contains("/b "), "{message}");
    ensure!(condition(&told, "Ready")["status"] == "False", "{}", told["status"]);
    play.look("one in conflict").await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b_02_an_object_that_comes_between_the_look_and_the_create_is_not_taken_for_a_child() {
    let world = World::with_guests(&["hostile"]).await;
    let (cluster, mut once) = (world.cluster.clone(), true);
    world.meddler.before_writes(move |write| {
        if once && matches!(write.request, Request::Create(_)) && write.target.kind.of == config_maps() {
            once = false;
            let mut theirs = config_map("web", "theirs");
            theirs["metadata"]["namespace"] = json!(TEAM);
            cluster.create(&crate::things::object(theirs)).unwrap();
        }
        Verdict::Pass
    });
    let told = json!({"children": [child(config_map("web", "ours"))]});
    world.create(json!({
        "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile", "metadata": {"namespace": TEAM, "name": "web"},
        "spec": {"told": told},
    }));
    let (web, theirs) = (in_team(hostiles(), "web"), in_team(config_maps(), "web"));
    world.until_says(&web, "Ready", "False OwnershipConflict").await;
    let before = world.get(&theirs);
    world.cluster.delete(&web, Propagation::Foreground).unwrap();
    world.until("the primary is gone", || world.find(&web).is_none()).await;
    world.quiet().await;
    assert_eq!(world.get(&theirs), before);
    assert_eq!(before.at(&["data", "key"]), Some(&json!("theirs")));
}
