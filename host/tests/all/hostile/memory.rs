//! Plays the table on the cluster in memory, with the host in this process.

use super::table::{GUESTS, Module, REFUSED, primary};
use super::{ended, modules};
use crate::things::{config_maps, hostile, hostiles, in_system, object, reconciler, reconcilers};
use crate::world::{SYSTEM, World, base64};
use anyhow::ensure;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Duration;
use windlass::settings::Settings;
use windlass_core::kind::KindRef;
use windlass_core::object::Object;
use windlass_testing::eventually;

/// Two modules spin for their ten seconds of running time before they are refused.
const DEADLINE: Duration = Duration::from_secs(90);

/// A Reconciler with these bytes and this spec, for the namespace of its name.
fn take_up(world: &World, name: &str, bytes: &[u8], spec: Value) {
    world.account(name, name);
    world.create(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": SYSTEM, "name": name},
        "binaryData": {"module.wasm": base64(bytes)},
    }));
    let mut spec = spec;
    spec["namespaces"] = json!([name]);
    world.create(reconciler(name, &spec));
}

fn all(world: &World, of: &KindRef, namespace: &str) -> Vec<Value> {
    let all = world.cluster.list(of).into_iter();
    all.filter(|object| object.namespace() == Some(namespace))
        .map(Object::into_value)
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_hostile_guest_does_ends_with_its_reason_and_delays_no_other() {
    let world = World::with_guests(&["nginx"]).await;
    let mut bytes = HashMap::new();
    for module in [Module::Rust, Module::Wasi, Module::Handmade, Module::Endless] {
        bytes.insert(module, modules::bytes(module));
    }
    for guest in &GUESTS {
        take_up(&world, guest.name, &bytes[&guest.module], (guest.spec)());
        for (behaviour, ..) in guest.behaviours {
            world.create(primary(guest, behaviour));
        }
    }
    for (name, module, settings, ..) in REFUSED {
        take_up(&world, name, &bytes[&module], json!({"settings": settings()}));
    }
    world.canary("among-hostile-ones").await;
    let ended = eventually(DEADLINE, "everything ends as the table says", async || {
        let children = |name: &str| all(&world, &config_maps(), name);
        let guests = GUESTS
            .iter()
            .flat_map(|guest| ended::primaries(guest, &all(&world, &hostiles(), guest.name), &children(guest.name)));
        let mut left: Vec<String> = guests
            .chain(ended::refusals(&all(&world, &reconcilers(), SYSTEM)))
            .collect();
        left.extend(ended::uncounted(&world.host.metrics.text(&Default::default())));
        let strays = GUESTS
            .iter()
            .flat_map(|guest| ended::strays(guest, &children(guest.name)));
        left.extend(strays.map(|child| format!("{child} was written")));
        ensure!(left.is_empty(), "{left:#?}");
        Ok(())
    });
    ended.await.unwrap_or_else(|error| panic!("{error:#}"));
    world.canary("after-hostile-ones").await;
}

/// In the host's own namespace a guest's child may have the name of its module: that is a stranger, and stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_that_is_named_like_the_modules_own_config_map_leaves_it_alone() {
    let world = World::with_guests(&["hostile"]).await;
    let module = in_system(config_maps(), "hostile");
    let before = world.get(&module);
    let mut primary = hostile("hostile", "good");
    primary["metadata"]["namespace"] = json!(SYSTEM);
    let primary = world.create(primary).reference();
    world.until_says(&primary, "Ready", "False OwnershipConflict").await;
    assert_eq!(world.get(&module), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_instance_remembers_is_gone_with_its_decision() {
    let world = World::with_guests(&["hostile"]).await;
    let primary = world.create(hostile("one", "tenth")).reference();
    world.until_says(&primary, "Ready", "True Reconciled").await;
    for number in 1..=20 {
        world.touch(&primary, &number.to_string());
        world
            .until("it is decided again", || world.decisions("hostile", "Decided") > number)
            .await;
    }
    assert_eq!(world.decisions("hostile", "GuestTrapped"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_has_the_same_to_say_each_second_is_heard_for_a_while_and_no_longer() {
    let settings = Settings {
        events_again: Duration::from_millis(100),
        ..Settings::new(SYSTEM)
    };
    let world = World::with(settings);
    world.serve_all();
    world.install("hostile", "hostile", json!({})).await;
    world.create(hostile("one", "chatter"));
    let text = || world.host.metrics.text(&Default::default());
    world
        .until("it has said too much", || {
            ended::value(&text(), "windlass_events_dropped_total") >= 7
        })
        .await;
    let written = || {
        let writes = world.cluster.writes_since(0);
        let of_guests = writes.iter().filter(|write| write.target.kind.plural == "events");
        of_guests
            .filter(|write| write.target.kind.of.group == "events.k8s.io")
            .count()
    };
    assert_eq!(written(), 25, "what it may say");
    assert_eq!(world.events("one").len(), 8, "one for each of its sentences");
    world.create(hostile("two", "chatter"));
    world
        .until("another primary has its own", || world.events("two").len() == 8)
        .await;
}

/// D-12: a child in another namespace or in none, and a good one beside it, which is not written either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d_12_a_child_outside_the_primarys_namespace_is_refused_before_any_write() {
    let world = World::with_guests(&[]).await;
    world.install("hostile", "hostile", json!({"describe": "much"})).await;
    for (behaviour, words) in [("foreign-namespace", "kube-system"), ("cluster-role", "cluster-scoped")] {
        let mark = world.cluster.mark();
        let primary = world.create(hostile(behaviour, behaviour)).reference();
        world.until_says(&primary, "Ready", "False GuestOutputRejected").await;
        let found = object(world.get(&primary).into_value());
        let message = crate::things::condition(&found, "Ready")["message"].clone();
        assert!(message.as_str().unwrap().contains(words), "{message}");
        let writes = world.writes_for("hostile", mark);
        let other = writes.iter().filter(|write| write.target.kind.of != hostiles()).count();
        assert_eq!(other, 0, "{writes:#?}");
    }
}
