//! Lists whose entries have keys.

use crate::cases::settle::{child, deployment, retell};
use crate::scenarios::play::{Play, condition};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

pub(crate) async fn b_08_an_entry_twice_is_refused_with_its_key_and_two_protocols_are_fine(play: &Play) -> Result<()> {
    let wanted = |container: Value| json!({"children": [child(deployment("web", &container))]});
    let twice_named = json!({"name": "FOO", "value": "1"});
    let twice = [
        (
            "env",
            json!({"name": "nginx", "image": "nginx:1", "env": [twice_named, twice_named]}),
        ),
        (
            "ports",
            json!({"name": "nginx", "image": "nginx:1", "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]}),
        ),
    ];
    play.create(&play.object("Told", "web", &json!({"told": wanted(twice[0].1.clone())})))
        .await?;
    for (field, container) in twice {
        retell(play, "web", wanted(container)).await?;
        let told = play.told("Told", "web", "GuestOutputRejected").await?;
        play.note(field, condition(&told, "Reconciled")["message"].clone());
        let path = format!("spec.template.spec.containers[name=nginx].{field}[");
        let message = condition(&told, "Reconciled")["message"].to_string();
        ensure!(message.contains(&path), "{message}");
    }
    let written = play.stage.writes_to(&play.at("Deployment", "web")).await;
    ensure!(written.is_empty(), "{written:?}");
    let dns = json!({"name": "dns", "image": "dns:1", "ports": [{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}]});
    retell(play, "web", wanted(dns)).await?;
    play.reconciled("Told", "web").await?;
    play.look("accepted").await;
    Ok(())
}
