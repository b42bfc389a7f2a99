//! What the host notes on a child takes next to nothing of the room that it has.

use super::{child, retell, tell};
use crate::scenarios::play::Play;
use anyhow::{Result, ensure};
use serde_json::{Value, json};

const SIZE: usize = 900 * 1024;

pub(crate) async fn j_03_a_config_map_as_large_as_can_be_is_written_and_changed(play: &Play) -> Result<()> {
    let large = |letter: &str| {
        let data = json!({"key": letter.repeat(SIZE)});
        child(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}, "data": data}))
    };
    tell(play, "web", &json!({"children": [large("a")]})).await?;
    let config_map = play.at("ConfigMap", "large");
    for letter in ["b", "c"] {
        retell(play, "web", json!({"children": [large(letter)]})).await?;
        play.reconciled("Told", "web").await?;
        let now = play.get(&config_map).await?;
        let data = now["data"]["key"].as_str().unwrap_or_default();
        ensure!(data.len() == SIZE && data.starts_with(letter), "{} bytes", data.len());
        let annotations = now["metadata"]["annotations"].as_object().into_iter().flatten();
        let noted: usize = annotations
            .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
            .sum();
        ensure!(noted < 1024, "{noted} bytes of annotations");
    }
    let written: Value = play.stage.writes_to(&config_map).await.into();
    play.note("writes", written);
    Ok(())
}
