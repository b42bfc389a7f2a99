//! Group I: Events, of which there is one for all that is the same (I-05).

use crate::spec_on_real::{Bare, on_bare};
use crate::things::{hostile, hostiles, in_system, in_team, reconcilers};
use crate::world::{SYSTEM, World, window};
use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use windlass::cluster::memory::{Recorded, Verb, WriteAuthor};
use windlass::settings::Settings;
use windlass_core::decision::Propagation;
use windlass_core::kind::{KindRef, ObjectRef};
use windlass_testing::product::{self, DEADLINE, HOST_USER};
use windlass_testing::{Mark, eventually};

const HOSTILES: &str = "hostiles.hostile.windlass.test";

/// A world in which news may follow news after this long.
async fn world(again: Duration, settings: Value) -> World {
    let host = Settings {
        events_again: again,
        ..Settings::new(SYSTEM)
    };
    let world = World::with(host);
    world.serve_all();
    world.install("hostile", "hostile", settings).await;
    world
}

/// What is written since a mark of Events about the primary `one`, refused ones included.
fn written(world: &World, mark: usize) -> Vec<Recorded> {
    let mut writes = world.cluster.writes_since(mark);
    writes.retain(|write| write.target.kind.of.kind == "Event" && write.target.name.starts_with("one."));
    writes
}

fn one() -> ObjectRef {
    in_team(hostiles(), "one")
}

/// The Events about the primary `one`.
fn events(world: &World) -> Vec<Value> {
    let mut events = world.all_events();
    events.retain(|event| event["regarding"]["name"] == "one");
    events
}

/// The only one.
fn event(world: &World) -> Value {
    let events = events(world);
    assert_eq!(events.len(), 1, "{events:#?}");
    events[0].clone()
}

async fn told(world: &World, told: Value, reason: &str) {
    world.patch(&one(), &json!({"spec": {"told": told}}));
    world.until_says(&one(), "Reconciled", reason).await;
}

async fn well(world: &World) {
    told(world, json!({"invalid": null, "noneWanted": true}), "True Reconciled").await;
}

async fn invalid(world: &World, words: &str) {
    told(world, json!({"invalid": words, "noneWanted": null}), "False Invalid").await;
}

fn primary() -> Value {
    json!({
        "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
        "metadata": {"namespace": "team-a", "name": "one"}, "spec": {"told": {"noneWanted": true}},
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i_05_what_fails_for_ever_is_one_event_and_what_is_well_is_none() {
    let world = world(Duration::from_millis(1), json!({})).await;
    for number in 0..10 {
        // A stranger in the way is looked at again with a growing delay.
        world.create(crate::things::config_map(&format!("bad-{number}")));
        world.create(hostile(&format!("bad-{number}"), "good"));
        world.create(hostile(&format!("good-{number}"), "good"));
    }
    for number in 0..10 {
        let bad = in_team(hostiles(), &format!("bad-{number}"));
        world.until_says(&bad, "Ready", "False OwnershipConflict").await;
        let good = in_team(hostiles(), &format!("good-{number}"));
        world.until_says(&good, "Ready", "True Reconciled").await;
    }
    world.quiet().await;
    let taken = world.decisions("hostile", "Decided");
    for round in 0..20 {
        for number in 0..10 {
            world.touch(&in_team(hostiles(), &format!("good-{number}")), &round.to_string());
        }
        world.quiet().await;
    }
    assert!(
        world.decisions("hostile", "Decided") >= taken + 200,
        "each of them was decided"
    );
    let tries = || {
        let writes = world.writes_for("hostile", 0);
        writes.iter().filter(|write| write.error.is_some()).count()
    };
    world
        .until("what fails was tried again and again", || tries() >= 30)
        .await;
    world.quiet().await;
    for number in 0..10 {
        let bad = world.events(&format!("bad-{number}"));
        assert_eq!(bad.len(), 1, "{bad:?}");
        assert!(bad[0].starts_with("OwnershipConflict: "), "{bad:?}");
        assert_eq!(world.events(&format!("good-{number}")), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i_05_what_flips_stays_one_event_that_counts_and_says_the_last_words() {
    let again = Duration::from_millis(700);
    let world = world(again, json!({})).await;
    world.create(primary());
    world.until_says(&one(), "Reconciled", "True Reconciled").await;
    let mark = world.cluster.mark();
    for number in 0..10 {
        invalid(&world, &format!("wrong in way {number}")).await;
        well(&world).await;
    }
    invalid(&world, "the last way").await;
    world
        .until("the Event says what was wrong last", || {
            events(&world).iter().any(|event| event["note"] == "the last way")
        })
        .await;
    let event = event(&world);
    assert_eq!(event["reason"], "Invalid");
    assert!(
        event["series"]["count"].as_u64() >= Some(11),
        "none of the eleven is lost: {event}"
    );
    let last = event["series"]["lastObservedTime"]
        .as_str()
        .unwrap()
        .parse::<Timestamp>()
        .unwrap();
    let first = event["eventTime"].as_str().unwrap().parse::<Timestamp>().unwrap();
    assert!(last > first, "{event}");
    let writes = written(&world, mark);
    assert_eq!(
        writes.iter().filter(|write| write.before.is_none()).count(),
        1,
        "{writes:#?}"
    );
    // No oftener than so, whatever flipped in between.
    let most = 1 + last.duration_since(first).as_millis() / i128::try_from(again.as_millis()).unwrap();
    assert!(
        i128::try_from(writes.len()).unwrap() <= most + 1,
        "{} writes, {most} allowed",
        writes.len()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i_05_after_a_restart_nothing_is_written_of_what_goes_on_and_news_go_on_in_the_same_event() {
    let mut world = world(Duration::from_millis(20), json!({})).await;
    world.create(primary());
    invalid(&world, "wrong").await;
    world.quiet().await;
    let before = event(&world);
    let mark = world.cluster.mark();
    world.restart().await;
    world
        .until("it was decided again", || world.decisions("hostile", "Invalid") > 0)
        .await;
    world.quiet().await;
    assert_eq!(written(&world, mark), [], "nothing is new");
    well(&world).await;
    invalid(&world, "wrong in another way").await;
    world
        .until("the Event has the new words", || {
            event(&world)["note"] == "wrong in another way"
        })
        .await;
    let after = event(&world);
    assert_eq!(
        after["metadata"]["uid"], before["metadata"]["uid"],
        "it is the same one"
    );
    assert!(after["series"]["count"].as_u64() >= Some(2), "{after}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i_05_an_event_that_expired_is_made_anew() {
    let world = world(Duration::from_millis(20), json!({})).await;
    world.create(primary());
    invalid(&world, "wrong").await;
    well(&world).await;
    let gone = event(&world);
    let place = ObjectRef {
        of: KindRef::new("", "v1", "Event"),
        namespace: Some("team-a".into()),
        name: gone["metadata"]["name"].as_str().unwrap().into(),
    };
    world.cluster.delete(&place, Propagation::Background).unwrap();
    invalid(&world, "wrong again").await;
    world.until("there is one again", || !events(&world).is_empty()).await;
    let event = event(&world);
    assert_ne!(event["metadata"]["uid"], gone["metadata"]["uid"]);
    assert_eq!(event["note"], "wrong again");
    assert_eq!(event["series"], Value::Null, "it begins anew");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i_05_of_a_kind_without_conditions_nothing_comes_again_after_a_restart() {
    let mut world = world(
        Duration::from_millis(500),
        json!({"describe": "no-status", "behaviour": "invalid"}),
    )
    .await;
    world.create(hostile("one", ""));
    world.until("it is told", || !events(&world).is_empty()).await;
    world.quiet().await;
    let before = event(&world);
    let mark = world.cluster.mark();
    world.restart().await;
    world
        .until("it was decided again", || world.decisions("hostile", "Invalid") > 0)
        .await;
    world.quiet().await;
    window(100).await;
    assert_eq!(event(&world), before, "the same Event, as it was");
    let changes = written(&world, mark).into_iter().filter(Recorded::changed).count();
    assert_eq!(changes, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i_05_a_guests_words_are_one_event_each_and_counted() {
    let said = json!([
        {"reason": "Scaled", "note": "to one"}, {"reason": "Scaled", "note": "to two"},
    ]);
    let world = world(
        Duration::from_millis(20),
        json!({"told": {"noneWanted": true, "events": said}}),
    )
    .await;
    world.create(hostile("one", ""));
    for round in 0..5 {
        world.until_says(&one(), "Reconciled", "True Reconciled").await;
        world.quiet().await;
        world.touch(&one(), &round.to_string());
        window(30).await;
    }
    world
        .until("both are counted", || {
            events(&world)
                .iter()
                .all(|event| event["series"]["count"].as_u64() > Some(1))
        })
        .await;
    let mut notes: Vec<Value> = events(&world).iter().map(|event| event["note"].clone()).collect();
    notes.sort_by_key(Value::to_string);
    assert_eq!(notes, [json!("to one"), json!("to two")]);
    let account = WriteAuthor::Through(crate::things::account("hostile"));
    for write in written(&world, 0) {
        let made = write.verb == Verb::Create;
        assert_eq!(
            write.author == account,
            made,
            "the words are the account's, and the count is the host's"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i_05_what_a_reconciler_says_of_itself_is_one_event_too() {
    let world = world(Duration::from_millis(1), json!({})).await;
    let reconciler = in_system(reconcilers(), "hostile");
    for round in 0..3 {
        for (describe, ready) in [("error", "False"), ("", "True")] {
            world.drop_in(
                "hostile",
                &crate::world::module("hostile"),
                json!({"describe": describe}),
            );
            world
                .until(&format!("Ready is {ready} in round {round}"), || {
                    world.condition("hostile", "Ready") == ready
                })
                .await;
        }
    }
    let all = world.all_events();
    let refused = all
        .iter()
        .filter(|event| event["regarding"]["name"] == reconciler.name && event["reason"] == "GuestLoadFailed");
    let refused: Vec<&Value> = refused.collect();
    assert_eq!(refused.len(), 1, "{refused:#?}");
    assert!(refused[0]["series"]["count"].as_u64() >= Some(2), "{refused:#?}");
}

/// The Events about primaries of a namespace, by primary and reason.
async fn on_server(bare: &Bare, namespace: &str) -> Result<BTreeMap<(String, String), Vec<Value>>> {
    let all = product::get(&bare.cluster, &["events", "-n", namespace]).await?;
    let mut by_reason: BTreeMap<(String, String), Vec<Value>> = BTreeMap::new();
    for event in all["items"].as_array().into_iter().flatten() {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let key = (text(&event["involvedObject"]["name"]), text(&event["reason"]));
        by_reason.entry(key).or_default().push(event.clone());
    }
    Ok(by_reason)
}

async fn tell_all(bare: &Bare, namespace: &str, names: &[String], told: &Value, reason: &str) -> Result<()> {
    let patch = json!({"spec": {"told": told}}).to_string();
    for name in names {
        let arguments = ["patch", HOSTILES, name, "-n", namespace, "--type=merge", "-p", &patch];
        bare.cluster.kubectl(&arguments).await?;
    }
    for name in names {
        eventually(DEADLINE, &format!("{name} is told {reason}"), async || {
            let found = product::get(&bare.cluster, &[HOSTILES, name, "-n", namespace]).await?;
            let said = crate::scenarios::play::condition(&found, "Reconciled");
            ensure!(
                said["reason"] == reason && said["observedGeneration"] == found["metadata"]["generation"],
                "{said}"
            );
            Ok(())
        })
        .await?;
    }
    Ok(())
}

/// The same on an API server, where Events of both APIs are the same objects, and whose audit log tells how often one is written.
#[test]
fn i_05_on_an_api_server_what_flips_is_one_event_that_is_written_now_and_then() {
    on_bare(async |bare| {
        let (cluster, namespace) = (&bare.cluster, "i05");
        let mark = cluster.audit().mark()?;
        bare.take_up(namespace, windlass_artifacts::HOSTILE, &json!({})).await?;
        let names: Vec<String> = (0..4).map(|number| format!("flips-{number}")).collect();
        let calm =
            json!({"noneWanted": true, "invalid": null, "events": [{"reason": "Calm", "note": "as it should be"}]});
        for name in names.iter().chain(&["calm".to_owned()]) {
            let object = json!({
                "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
                "metadata": {"namespace": namespace, "name": name}, "spec": {"told": {"noneWanted": true}},
            });
            cluster.apply(&object.to_string()).await?;
        }
        for round in 0..4 {
            let wrong = json!({"invalid": format!("wrong in way {round}"), "events": null});
            tell_all(bare, namespace, &names, &wrong, "Invalid").await?;
            tell_all(bare, namespace, &names, &calm, "Reconciled").await?;
        }
        tell_all(bare, namespace, &names, &json!({"invalid": "the last way"}), "Invalid").await?;
        eventually(DEADLINE, "each Event has the last words", async || {
            for (key, events) in on_server(bare, namespace).await? {
                ensure!(events.len() == 1, "{key:?}: {events:?}");
                if key.1 == "Invalid" {
                    ensure!(events[0]["message"] == "the last way", "{}", events[0]);
                    ensure!(events[0]["series"]["count"].as_u64() >= Some(5), "{}", events[0]);
                }
            }
            Ok(())
        })
        .await?;
        let there = on_server(bare, namespace).await?;
        ensure!(
            there.len() == 8 && !there.keys().any(|(name, _)| name == "calm"),
            "{:?}",
            there.keys()
        );
        seldom(bare, mark, namespace)?;

        // They expire after an hour.
        cluster.kubectl(&["delete", "events", "--all", "-n", namespace]).await?;
        tell_all(bare, namespace, &names, &calm, "Reconciled").await?;
        tell_all(bare, namespace, &names, &json!({"invalid": "wrong again"}), "Invalid").await?;
        eventually(DEADLINE, "they are there again", async || {
            let there = on_server(bare, namespace).await?;
            let again = there.iter().filter(|((_, reason), _)| reason == "Invalid");
            ensure!(again.count() == 4, "{there:?}");
            Ok(())
        })
        .await
    });
}

/// No Event was written twice within the two seconds that are set here.
fn seldom(bare: &Bare, mark: Mark, namespace: &str) -> Result<()> {
    let events = bare
        .cluster
        .audit()
        .writes_since(mark)?
        .by(HOST_USER)
        .resource("events");
    let done = events.filter(|write| write.namespace == namespace && write.verb == "patch" && write.code == 200);
    ensure!(done.count() > 4, "{events}");
    let mut last: BTreeMap<String, Timestamp> = BTreeMap::new();
    for write in done.iter() {
        let now: Timestamp = write.received.parse().context("a time of the audit log")?;
        if let Some(before) = last.insert(write.name.clone(), now) {
            let between = now.duration_since(before).as_millis();
            ensure!(between >= 1_900, "{} was written again after {between} ms", write.name);
        }
    }
    Ok(())
}
