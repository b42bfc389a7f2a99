//! What the friend guest is for.

use super::play::Play;
use anyhow::Result;
use serde_json::{Value, json};

const HEALTHY: &str = "/status/Healthy";

pub(super) async fn a_friend_is_healthy_while_its_pod_exists(play: &Play) -> Result<()> {
    // Pods of any namespace count, so the names are this scenario's own.
    let friends = [("first", "joe-of-the-scenario"), ("second", "jane-of-the-scenario")];
    for (name, friend) in friends {
        play.create(&play.object("MyCustomResource", name, &json!({"name": friend})))
            .await?;
    }
    for (name, friend) in friends {
        let (resource, pod) = (play.at("MyCustomResource", name), play.at("Pod", friend));
        let spec = json!({"containers": [{"name": "main", "image": "none"}], "terminationGracePeriodSeconds": 0});
        play.create(&play.object("Pod", friend, &spec)).await?;
        play.until(&resource, HEALTHY, true).await?;
        play.look(&format!("{friend} is there")).await;
        play.delete(&pod).await?;
        play.until(&resource, HEALTHY, Value::Null).await?;
        play.look(&format!("{friend} is gone")).await;
    }
    let refused = play
        .stage
        .create(&play.object("MyCustomResource", "third", &json!({})))
        .await;
    play.note("without a name", refused.err().unwrap_or_default());
    Ok(())
}
