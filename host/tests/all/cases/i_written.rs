//! Groups A and I: status is written when it says something else, once, and never too large to be stored.

use crate::scenarios::play::Play;
use crate::scenarios::{RUNTIME, real};
use crate::things::{condition, hostile, hostiles, in_team};
use crate::world::World;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::time::Duration;
use windlass::cluster::memory::Recorded;
use windlass_core::decision::Propagation;
use windlass_core::write::Subresource;
use windlass_testing::eventually;
use windlass_testing::product::HOST_USER;

/// What the guest gives of conditions.
fn healthy() -> Value {
    json!([{"type": "Healthy", "status": "True", "reason": "Fine", "message": "So it is."}])
}

/// Status writes of a Reconciler since a mark.
fn statuses(world: &World, mark: usize) -> Vec<Recorded> {
    let mut writes = world.writes_for("hostile", mark);
    writes.retain(|write| write.subresource == Subresource::Status);
    writes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i_02_a_change_that_changes_nothing_is_observed_with_one_write() {
    let world = World::with_guests(&["hostile"]).await;
    let one = in_team(hostiles(), "one");
    world.create(hostile("one", "good"));
    world.until_says(&one, "Reconciled", "True Reconciled").await;
    world.quiet().await;
    for number in 0..5 {
        let mark = world.cluster.mark();
        world.patch(&one, &json!({"spec": {"told": {"ignored": number}}}));
        world.until_says(&one, "Reconciled", "True Reconciled").await;
        world.quiet().await;
        let after = world.get(&one);
        assert_eq!(after.at(&["status", "observedGeneration"]), Some(&json!(number + 2)));
        assert_eq!(after.generation(), Some(number + 2));
        assert_eq!(statuses(&world, mark).len(), 1, "{:#?}", statuses(&world, mark));
        assert_eq!(world.writes_for("hostile", mark).len(), 1, "and no other write");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_04_the_time_of_a_condition_stays_while_its_status_does() {
    let world = World::with_guests(&["hostile"]).await;
    let one = in_team(hostiles(), "one");
    let mut primary = hostile("one", "");
    primary["spec"] = json!({"told": {"noneWanted": true, "conditions": healthy()}});
    world.create(primary);
    world.until_says(&one, "Healthy", "True Fine").await;
    world.quiet().await;
    let (before, mark) = (world.get(&one), world.cluster.mark());
    let taken = world.decisions("hostile", "Decided");
    for number in 0..30 {
        world.touch(&one, &number.to_string());
        world.quiet().await;
    }
    assert_eq!(world.decisions("hostile", "Decided"), taken + 30);
    assert_eq!(statuses(&world, mark), [], "thirty decisions, and nothing new to say");
    // Other words are no other status.
    world.patch(
        &one,
        &json!({"spec": {"told": {"conditions": [
            {"type": "Healthy", "status": "True", "reason": "StillFine", "message": "So it is."},
        ]}}}),
    );
    world.until_says(&one, "Healthy", "True StillFine").await;
    for type_ in ["Healthy", "Reconciled", "Ready"] {
        let time = |object| condition(object, type_)["lastTransitionTime"].clone();
        assert_eq!(time(&world.get(&one)), time(&before), "{type_}");
    }
}

/// What is written of one primary's status on the API server that all tests share, while it is decided about.
async fn status_writes_on_real(play: &Play, name: &str, changes: &[Value]) -> Result<()> {
    let cluster = real().await.cluster;
    let primary = play.at("Hostile", name);
    let before = play.reconciled("Hostile", name).await?;
    let mark = cluster.audit().mark()?;
    for change in changes {
        let patched = play.patch(&primary, change.clone()).await?;
        let generation = patched["metadata"]["generation"].clone();
        play.until(&primary, "/status/observedGeneration", generation).await?;
        play.reconciled("Hostile", name).await?;
    }
    let after = play.get(&primary).await?;
    let grown = |object: &Value| object["metadata"]["generation"].as_u64().unwrap_or_default();
    let wanted = usize::try_from(grown(&after) - grown(&before))?;
    // The line of an answer may come a moment later.
    eventually(Duration::from_secs(10), "its status was written so often", async || {
        let writes = cluster.audit().writes_since(mark)?.by(HOST_USER).named(name);
        let mine = writes.filter(|write| write.namespace == play.namespace && write.resource == "hostiles");
        ensure!(mine.count() == wanted, "{wanted} wanted: {mine}");
        Ok(())
    })
    .await
}

#[test]
fn i_02_on_an_api_server_each_change_that_changes_nothing_is_observed_with_one_write() {
    RUNTIME.block_on(async {
        let play = Play::new(real().await, "i-02-observed", None);
        let played = async {
            play.create(&play.object("Hostile", "one", &json!({"behaviour": "good"})))
                .await?;
            let changes = (0..5).map(|number| json!({"spec": {"told": {"ignored": number}}}));
            status_writes_on_real(&play, "one", &changes.collect::<Vec<_>>()).await
        };
        played.await.unwrap_or_else(|error| panic!("{error:#}"));
    });
}

#[test]
fn a_04_on_an_api_server_thirty_decisions_move_no_time_and_write_no_status() {
    RUNTIME.block_on(async {
        let play = Play::new(real().await, "a-04-times", None);
        let played = async {
            let told = json!({"told": {"noneWanted": true, "conditions": healthy()}});
            play.create(&play.object("Hostile", "one", &told)).await?;
            let before = play.reconciled("Hostile", "one").await?;
            // As no change of the generation, none of these is to be written of; the last one shows that they were decided.
            let touched = (0..30).map(|number| json!({"metadata": {"annotations": {"touched": number.to_string()}}}));
            let last = json!({"spec": {"told": {"ignored": null, "waiting": ""}}});
            let changes: Vec<Value> = touched.chain([last]).collect();
            status_writes_on_real(&play, "one", &changes).await?;
            let after = play.get(&play.at("Hostile", "one")).await?;
            for type_ in ["Healthy", "Reconciled", "Ready"] {
                let time = |object| crate::scenarios::play::condition(object, type_)["lastTransitionTime"].clone();
                ensure!(
                    time(&after) == time(&before) && time(&after).is_string(),
                    "{type_}: {after}"
                );
            }
            anyhow::Ok(())
        };
        played.await.unwrap_or_else(|error| panic!("{error:#}"));
    });
}

/// Two mebibytes and a half, of 60 KB of settings: each `{name}` stands for the 250 characters of a name.
fn huge() -> (String, String) {
    ("n".repeat(250), "{name}".repeat(10_000))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i_04_no_text_of_a_guest_makes_the_primary_too_large_to_be_saved() {
    let (name, text) = huge();
    let many =
        (0..900).map(|number| json!({"type": format!("C{number}"), "status": "True", "reason": "A", "message": ""}));
    let long = "{name}".repeat(100);
    let table = [
        (json!({"invalid": long}), "Invalid", "\u{2026}"),
        (json!({"waiting": long}), "Waiting", "\u{2026}"),
        (
            json!({"invalid": text}),
            "GuestOutputRejected",
            "a message of 2500000 characters; at most 32768 are allowed",
        ),
        (
            json!({"noneWanted": true, "status": {"told": {"text": text}}}),
            "GuestOutputRejected",
            "at most 128 are allowed",
        ),
        (
            json!({"noneWanted": true, "conditions": many.collect::<Vec<_>>()}),
            "GuestOutputRejected",
            "There are 900 conditions; at most 16 are allowed",
        ),
    ];
    for (told, reason, words) in table {
        let world = World::with_guests(&["nginx"]).await;
        world.install("hostile", "hostile", json!({"told": told})).await;
        let primary = world.create(hostile(&name, "")).reference();
        world
            .until_says(&primary, "Reconciled", &format!("False {reason}"))
            .await;
        let stored = world.get(&primary);
        let said = condition(&stored, "Reconciled");
        let message = said["message"].as_str().unwrap();
        assert!(message.len() <= 1024 && message.contains(words), "{message}");
        let status = stored.at(&["status"]).unwrap().to_string();
        assert!(status.len() <= 32 << 10, "the status has {} bytes", status.len());
        for event in world.events(&name) {
            assert!(event.len() <= 1100, "{}", event.len());
        }
        world.patch(&primary, &json!({"spec": {"behaviour": "none", "told": null}}));
        world.until_says(&primary, "Reconciled", "True Reconciled").await;
        world.canary("web").await;
        world.cluster.delete(&primary, Propagation::Background).unwrap();
        assert!(world.find(&primary).is_none(), "{reason}");
    }
}
