//! Seeds: the same for ever, another one for each primary and Reconciler, and nowhere to be read.

use super::assert_untold;
use crate::meddler::Verdict;
use crate::things::{hostile, hostiles, in_system, in_team, reconcilers};
use crate::world::{SYSTEM, World, base64, digest, variant};
use serde_json::{Value, json};
use windlass::seed::{KEY_SECRET, seed};
use windlass_core::decision::Propagation;
use windlass_core::key::ReconcilerId;
use windlass_core::kind::{KindRef, ObjectRef};
use windlass_core::secrets::Seed;

fn secrets() -> KindRef {
    KindRef::new("", "v1", "Secret")
}

fn one() -> ObjectRef {
    in_team(hostiles(), "one")
}

/// The hostile guest, which has a seed.
async fn seeded() -> World {
    let world = World::with_guests(&[]).await;
    let spec = json!({"settings": {"describe": "seed"}});
    world.install_by_hand("hostile", "hostile", &spec).await;
    world
}

/// What a guest has derived from the seed of a primary.
fn derived(world: &World, name: &str) -> Value {
    let secret = world.get(&in_team(secrets(), name));
    secret.at(&["data"]).cloned().unwrap_or_default()
}

/// Takes the Secret away, and gives what the guest makes in its place.
async fn made_again(world: &World) -> Value {
    let secret = in_team(secrets(), "one");
    let before = world.get(&secret).uid().to_owned();
    world.cluster.delete(&secret, Propagation::Background).unwrap();
    world
        .until("the Secret is made again", || {
            world.find(&secret).is_some_and(|secret| secret.uid() != before)
        })
        .await;
    derived(world, "one")
}

/// The host's key.
fn key(world: &World) -> Vec<u8> {
    use base64::Engine;
    let secret = world.get(&in_system(secrets(), KEY_SECRET));
    let text = secret.text_at(&["data", "key"]).unwrap().to_owned();
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

/// The seed of a primary.
fn seed_of(world: &World, name: &str) -> Seed {
    let primary = world.get(&in_team(hostiles(), name));
    seed(&key(world), &ReconcilerId::new(SYSTEM, "hostile"), primary.uid())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_stays_the_same_after_a_restart_on_another_host_and_after_a_swap() {
    let mut world = seeded().await;
    world.create(hostile("one", "password"));
    world.until_says(&one(), "Ready", "True Reconciled").await;
    let first = derived(&world, "one");
    // The next host knows nothing but what is in the cluster.
    let writes = world.writes_after_restart("hostile").await;
    assert_eq!(writes, [], "nothing has to be written");
    assert_eq!(made_again(&world).await, first);
    let next = variant("hostile", 7);
    world.patch(
        &in_system(crate::things::config_maps(), "hostile"),
        &json!({"binaryData": {"module.wasm": base64(&next)}}),
    );
    let wanted = digest(&next);
    world
        .until("the next module runs", || {
            world.status("hostile")["active"]["digest"] == wanted.as_str()
        })
        .await;
    assert_eq!(made_again(&world).await, first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_primary_has_another_password_also_one_of_the_same_name_later() {
    let world = seeded().await;
    for name in ["one", "two"] {
        world.create(hostile(name, "password"));
        world
            .until_says(&in_team(hostiles(), name), "Ready", "True Reconciled")
            .await;
    }
    let (first, second) = (derived(&world, "one"), derived(&world, "two"));
    for entry in ["password", "key"] {
        assert_ne!(first[entry], second[entry], "{entry}");
    }
    world.cluster.delete(&one(), Propagation::Background).unwrap();
    world
        .until("it is gone", || world.find(&in_team(secrets(), "one")).is_none())
        .await;
    world.create(hostile("one", "password"));
    world.until_says(&one(), "Ready", "True Reconciled").await;
    assert_ne!(derived(&world, "one")["password"], first["password"]);
}

#[test]
fn another_reconciler_has_another_seed_and_each_stays_what_it_is() {
    let hex = |seed: &Seed| {
        seed.bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let of = |key: &[u8], namespace: &str, name: &str, uid: &str| seed(key, &ReconcilerId::new(namespace, name), uid);
    let first = of(b"key", "windlass-system", "nginx", "uid-1");
    // Made by another program: HMAC-SHA256 of "windlass-system/nginx", a zero byte, and "uid-1".
    assert_eq!(
        hex(&first),
        "bce84b16d917b3e355c71da303d230eec23a9aaa2313a8be03a3a0ab5676cb16"
    );
    for other in [
        of(b"kez", "windlass-system", "nginx", "uid-1"),
        of(b"key", "windlass-system", "nginx", "uid-2"),
        of(b"key", "windlass-system", "other", "uid-1"),
        of(b"key", "team-a", "nginx", "uid-1"),
    ] {
        assert_ne!(hex(&other), hex(&first));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_seed_is_in_no_event_status_metric_or_store() {
    let world = seeded().await;
    world.create(hostile("one", "password"));
    world.until_says(&one(), "Ready", "True Reconciled").await;
    world.touch(&one(), "again");
    world
        .until("it was decided again", || world.decisions("hostile", "Decided") > 1)
        .await;
    world.counted("hostile", "1/1").await;
    let stored = world
        .host
        .watches
        .keys()
        .into_iter()
        .flat_map(|key| world.host.store.all(&key));
    let stored: Vec<String> = stored.map(|object| json!(object).to_string()).collect();
    let told = [
        world.events("one").join("\n"),
        world.events("hostile").join("\n"),
        json!(world.get(&one())).to_string(),
        json!(world.get(&in_system(reconcilers(), "hostile"))).to_string(),
        world.host.metrics.text(&Default::default()),
        stored.join("\n"),
    ];
    let seed = seed_of(&world, "one");
    for text in told {
        assert_untold("the seed", seed.bytes(), &text);
        assert_untold("the host's key", &key(&world), &text);
    }
    assert_eq!(format!("{seed:?}"), "Seed(not shown)");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_declares_no_seed_has_none_and_is_told_what_to_do() {
    let world = World::with_guests(&[]).await;
    let spec = json!({"settings": {"describe": "secrets"}});
    world.install_by_hand("hostile", "hostile", &spec).await;
    world.create(hostile("one", "password"));
    world.until_says(&one(), "Ready", "False Invalid").await;
    let message = crate::things::condition(&world.get(&one()), "Ready")["message"].to_string();
    assert!(message.contains("`.needs_seed()`"), "{message}");
    assert!(world.find(&in_team(secrets(), "one")).is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_hosts_that_make_a_key_at_once_the_later_takes_the_key_of_the_earlier() {
    let world = World::new();
    world.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}}));
    let cluster = world.cluster.clone();
    // Between looking for the Secret and making it.
    world.meddler.before_writes(move |_| {
        let other = windlass::seed::key_secret(SYSTEM, &[7; 32]);
        cluster.create(&crate::things::object(other)).unwrap();
        Verdict::Pass
    });
    assert_eq!(windlass::seed::key(&world.meddler, SYSTEM).await, Ok(vec![7; 32]));
}
