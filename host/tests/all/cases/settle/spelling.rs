//! What the server spells, fills in or sets otherwise than the guest does is no difference.

use super::{ROUNDS, again, child, deployment, tell};
use crate::scenarios::play::Play;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use windlass_core::write::Subresource;

pub(crate) async fn a_01_a_quantity_is_written_once_however_the_server_spells_it(play: &Play) -> Result<()> {
    let resources = json!({"limits": {"cpu": "1000m", "memory": "2048Mi"}, "requests": {"cpu": "0.5"}});
    let container = json!({"name": "web", "image": "web:1", "resources": resources});
    let stored = settles(play, deployment("web", &container)).await?;
    let stored = &stored["spec"]["template"]["spec"]["containers"][0]["resources"];
    ensure!(*stored != resources, "this server spells them as the guest does");
    play.note("stored", stored.clone());
    Ok(())
}

pub(crate) async fn a_02_what_the_server_fills_in_is_no_difference(play: &Play) -> Result<()> {
    let pod = json!({"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}});
    let container = json!({
        "name": "web", "image": "web:1", "env": [pod], "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}],
        "livenessProbe": {"httpGet": {"port": 80}},
    });
    let stored = settles(play, deployment("web", &container)).await?;
    let stored = &stored["spec"]["template"]["spec"]["containers"][0];
    ensure!(*stored != container, "this server fills nothing in");
    play.note("stored", stored.clone());
    play.look("owned").await;
    Ok(())
}

pub(crate) async fn a_09_what_only_the_server_sets_is_no_wish(play: &Play) -> Result<()> {
    let mut wanted = deployment("web", &json!({"name": "web", "image": "web:1"}));
    let metadata = wanted["metadata"].as_object_mut().unwrap();
    metadata.extend([
        ("creationTimestamp".to_owned(), Value::Null),
        ("resourceVersion".to_owned(), json!("1")),
        ("uid".to_owned(), json!("x")),
        ("managedFields".to_owned(), json!([])),
        ("generation".to_owned(), json!(9)),
    ]);
    wanted["spec"]["template"]["metadata"]["creationTimestamp"] = Value::Null;
    wanted["status"] = json!({"replicas": 0});
    let stored = settles(play, wanted).await?;
    let entries = stored["metadata"]["managedFields"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let ours: Vec<&Value> = entries
        .iter()
        .filter(|entry| {
            entry["manager"]
                .as_str()
                .is_some_and(|manager| manager.starts_with("windlass"))
        })
        .collect();
    ensure!(ours.len() == 1, "{entries:?}");
    for path in [
        "creationTimestamp",
        "resourceVersion",
        "uid",
        "managedFields",
        "generation",
    ] {
        ensure!(
            ours[0]["fieldsV1"]["f:metadata"][format!("f:{path}")].is_null(),
            "{path}: {}",
            ours[0]
        );
    }
    ensure!(ours[0]["fieldsV1"]["f:status"].is_null(), "{}", ours[0]);
    Ok(())
}

/// The server keeps none of them, so that the first apply has to say them; after that they are nobody's loss.
pub(crate) async fn a_09_zeros_of_typed_builders_settle(play: &Play) -> Result<()> {
    let container = json!({"name": "web", "image": "web:1", "env": [], "args": null, "resources": {}, "stdin": false});
    let mut wanted = deployment("web", &container);
    wanted["spec"]["paused"] = json!(false);
    wanted["spec"]["strategy"] = json!({});
    wanted["spec"]["template"]["spec"]["hostNetwork"] = json!(false);
    wanted["spec"]["template"]["spec"]["volumes"] = json!([]);
    wanted["spec"]["template"]["spec"]["nodeName"] = json!("");
    tell(play, "web", &json!({"children": [child(wanted)]})).await?;
    let deployment = play.at("Deployment", "web");
    again(play, "web", 0, "Reconciled").await?;
    let before = play.stage.writes_to(&deployment).await;
    for round in 1..ROUNDS {
        again(play, "web", round, "Reconciled").await?;
    }
    let after = play.stage.writes_to(&deployment).await;
    // A create, a take-over and an apply. The take-over is tried again where the Deployment's controller was faster.
    ensure!(after == before && after.len() <= 5, "{before:?}, then {after:?}");
    let now = play.get(&deployment).await?;
    let is_first = now["metadata"]["generation"] == 1;
    // The cluster in memory keeps zeros, so that there it is another Deployment.
    ensure!(is_first || !play.stage.runs_workloads(), "{}", now["metadata"]);
    Ok(())
}

/// The Deployment after it was decided about several times: the one that was made, written once, as generation 1.
async fn settles(play: &Play, wanted: Value) -> Result<Value> {
    tell(play, "web", &json!({"children": [child(wanted)]})).await?;
    let deployment = play.at("Deployment", "web");
    let made = play.get(&deployment).await?;
    for round in 0..ROUNDS {
        again(play, "web", round, "Reconciled").await?;
    }
    // What another manager says of it is seen and left alone, and changes nothing of this.
    let theirs = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": play.namespace, "name": "web", "labels": {"theirs": "stays"}},
    });
    let applied = play.stage.apply_as("other", &theirs, Subresource::None).await;
    applied.map_err(anyhow::Error::msg)?;
    again(play, "web", ROUNDS, "Reconciled").await?;
    let now = play.get(&deployment).await?;
    ensure!(now["metadata"]["uid"] == made["metadata"]["uid"], "it was made again");
    ensure!(now["metadata"]["labels"]["theirs"] == "stays", "{}", now["metadata"]);
    play.note("generation", now["metadata"]["generation"].clone());
    play.note("writes", play.stage.writes_to(&deployment).await);
    if play.stage.runs_workloads() {
        let sets = play
            .stage
            .list(&crate::scenarios::stage::kind("ReplicaSet"), &play.namespace)
            .await;
        ensure!(sets.len() == 1, "{} ReplicaSets", sets.len());
    }
    Ok(now)
}
