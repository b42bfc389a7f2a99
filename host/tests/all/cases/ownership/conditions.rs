//! Another controller has a condition on a primary of ours.

use crate::cases::settle::{ROUNDS, again, tell};
use crate::scenarios::play::{Play, condition};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use windlass_core::write::Subresource;

pub(crate) async fn b_10_the_condition_of_another_controller_outlives_every_status_of_ours(play: &Play) -> Result<()> {
    tell(play, "web", &json!({"status": {"told": {"round": "first"}}})).await?;
    let audited = json!({
        "type": "Audited", "status": "True", "reason": "Seen", "message": "By another.", "lastTransitionTime": "2020-01-01T00:00:00Z",
    });
    let mut theirs = play.object("Told", "web", &Value::Null);
    theirs.as_object_mut().unwrap().remove("spec");
    theirs["status"] = json!({"conditions": [audited]});
    let applied = play.stage.apply_as("auditor", &theirs, Subresource::Status).await;
    applied.map_err(anyhow::Error::msg)?;
    for round in 0..ROUNDS * 2 {
        again(play, "web", round, "Reconciled").await?;
        play.until(&play.at("Told", "web"), "/status/told/round", round).await?;
    }
    let now = play.get(&play.at("Told", "web")).await?;
    ensure!(condition(&now, "Audited") == audited, "{}", now["status"]);
    play.look("after all of them").await;
    Ok(())
}
