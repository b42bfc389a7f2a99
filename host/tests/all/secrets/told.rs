//! What is told of a Secret that is made, changed and refused, on the cluster in memory (I-06).

use super::assert_untold;
use crate::things::{hostile, hostiles, in_system, in_team, reconcilers};
use crate::world::World;
use serde_json::json;
use windlass_core::kind::KindRef;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i_06_a_refused_secret_is_told_of_without_its_values() {
    let world = World::with_guests(&[]).await;
    let spec = json!({"settings": {"describe": "seed"}});
    world.install_by_hand("hostile", "hostile", &spec).await;
    let one = in_team(hostiles(), "one");
    world.create(hostile("one", "tell-secret"));
    world.until_says(&one, "Ready", "True Reconciled").await;
    world.patch(&one, &json!({"spec": {"behaviour": "tell-another-secret"}}));
    world.until_says(&one, "Ready", "True Reconciled").await;
    world.patch(&one, &json!({"spec": {"behaviour": "tell-refused-secret"}}));
    world.until_says(&one, "Ready", "False ApplyRejected").await;
    world
        .until("an Event tells of it", || {
            world.events("one").join("\n").contains("ApplyRejected")
        })
        .await;
    world.counted("hostile", "0/1").await;
    let message = crate::things::condition(&world.get(&one), "Ready")["message"].to_string();
    assert!(message.contains("not a key!"), "it is said what is wrong: {message}");
    let told = [
        json!(world.get(&one)).to_string(),
        json!(world.get(&in_system(reconcilers(), "hostile"))).to_string(),
        world.events("one").join("\n"),
        world.events("hostile").join("\n"),
        world.host.metrics.text(&Default::default()),
    ];
    for text in told {
        assert_untold("the value", b"S3CR3T-42", &text);
    }
    let secret = world.get(&in_team(KindRef::new("", "v1", "Secret"), "one"));
    assert!(secret.text_at(&["data", "token"]).is_some(), "it was there to be told");
}
