//! Group A and what is like it: what a guest wants is written once, and what it does not want is not touched.
//!
//! Most are scenarios of the table that is played on both clusters ([`crate::scenarios`]).

pub(crate) mod endings;
mod injected;
pub(crate) mod shared;
pub(crate) mod sizes;
pub(crate) mod spelling;
mod subresource;

use crate::scenarios::play::Play;
use anyhow::Result;
use serde_json::{Value, json};

/// How often a primary is decided about without a change of what is wanted.
pub(crate) const ROUNDS: usize = 5;

/// Creates a `Told` that wants this, and waits until that was carried out whole.
pub(crate) async fn tell(play: &Play, name: &str, told: &Value) -> Result<()> {
    play.create(&play.object("Told", name, &json!({"told": told}))).await?;
    play.reconciled("Told", name).await?;
    Ok(())
}

/// Has a `Told` want something else.
pub(crate) async fn retell(play: &Play, name: &str, told: Value) -> Result<()> {
    play.patch(&play.at("Told", name), json!({"spec": {"told": told}}))
        .await?;
    Ok(())
}

/// Has a `Told` decided about once more, with nothing but its own status different, until a reason is given for it.
pub(crate) async fn again(play: &Play, name: &str, round: usize, reason: &str) -> Result<()> {
    retell(play, name, json!({"status": {"told": {"round": round}}})).await?;
    play.told("Told", name, reason).await?;
    Ok(())
}

/// A wanted child.
pub(crate) fn child(object: Value) -> Value {
    json!({"object": object})
}

/// A Deployment of one container.
pub(crate) fn deployment(name: &str, container: &Value) -> Value {
    let labels = json!({"app": name});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    })
}

/// A ConfigMap with one key.
pub(crate) fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}})
}
