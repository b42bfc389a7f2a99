//! Values of Secrets: what a guest is shown of them, what the host keeps, and what happens when they cannot be read.

use crate::things::{config_maps, hostile, hostiles, in_system, in_team, reconcilers};
use crate::world::{TEAM, World};
use serde_json::{Value, json};
use windlass::cluster::memory::AccessPattern;
use windlass_core::decision::Propagation;
use windlass_core::kind::{KindRef, ObjectRef};
use windlass_core::object::Object;

/// `hush` and `other`, as they are in `data`.
const HUSH: &str = "aHVzaA==";
const OTHER: &str = "b3RoZXI=";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn secrets() -> KindRef {
    KindRef::new("", "v1", "Secret")
}

fn secret(name: &str, password: &str) -> Value {
    let applied = json!({"data": {"password": password}}).to_string();
    json!({
        "apiVersion": "v1", "kind": "Secret", "data": {"password": password, "user": "YQ=="},
        "metadata": {"namespace": TEAM, "name": name, "annotations": {LAST_APPLIED: applied}},
    })
}

fn one() -> ObjectRef {
    in_team(hostiles(), "one")
}

/// The hostile guest with these rights to look at Secrets.
async fn looking(describe: &str, values: bool) -> World {
    let world = World::with_guests(&[]).await;
    let spec = json!({"secretValues": values, "settings": {"describe": describe}});
    world.install_by_hand("hostile", "hostile", &spec).await;
    world
}

/// What the guest saw.
fn seen(world: &World) -> String {
    let told = world.find(&in_team(config_maps(), "one")).unwrap_or_default();
    told.text_at(&["data", "text"]).unwrap_or_default().to_owned()
}

async fn until_seen(world: &World, wanted: &str) {
    world
        .until(&format!("{wanted} is seen"), || seen(world) == wanted)
        .await;
}

/// What stands in for the value, once the guest has seen the Secret: its watch may bring it after the primary.
async fn until_hidden(world: &World) -> String {
    world.until("what stands in is seen", || is_hidden(&seen(world))).await;
    seen(world)
}

/// Everything that the host keeps, as text.
fn stored(world: &World) -> String {
    let objects = world
        .host
        .watches
        .keys()
        .into_iter()
        .flat_map(|key| world.host.store.all(&key));
    objects
        .filter(|object| object.kind() == secrets())
        .map(|object| json!(object).to_string())
        .collect()
}

fn is_hidden(text: &str) -> bool {
    text.len() == "hmac-sha256:".len() + 64 && text.starts_with("hmac-sha256:")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_permission_a_guest_sees_what_changes_and_no_value() {
    for describe in ["secrets", "passwords"] {
        let world = looking(describe, false).await;
        world.create(secret("one", HUSH));
        world.create(hostile("one", "show-secret"));
        let first = until_hidden(&world).await;
        let taken = world.decisions("hostile", "Decided");
        world.patch(&in_team(secrets(), "one"), &json!({"data": {"password": OTHER}}));
        world.until("the change is seen", || seen(&world) != first).await;
        world.patch(&in_team(secrets(), "one"), &json!({"data": {"password": HUSH}}));
        until_seen(&world, &first).await;
        world.quiet().await;
        if describe == "passwords" {
            assert_eq!(world.decisions("hostile", "Decided"), taken + 2);
            world.patch(&in_team(secrets(), "one"), &json!({"data": {"user": OTHER}}));
            world.quiet().await;
            assert_eq!(
                world.decisions("hostile", "Decided"),
                taken + 2,
                "outside the projection"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stands_in_for_a_value_is_the_same_under_the_same_key_only() {
    let mut world = looking("secrets", false).await;
    world.create(secret("one", HUSH));
    world.create(hostile("one", "show-secret"));
    let first = until_hidden(&world).await;
    // The status follows the child.
    world.until_says(&one(), "Ready", "True Reconciled").await;
    assert_eq!(world.writes_after_restart("hostile").await, []);
    assert_eq!(seen(&world), first, "as before the restart");
    let elsewhere = looking("secrets", false).await;
    elsewhere.create(secret("one", HUSH));
    elsewhere.create(hostile("one", "show-secret"));
    assert_ne!(until_hidden(&elsewhere).await, first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_permission_a_guest_sees_values_and_the_host_keeps_none() {
    let world = looking("secrets", true).await;
    world.create(secret("one", HUSH));
    world.create(hostile("one", "show-secret"));
    until_seen(&world, HUSH).await;
    world.patch(&in_team(secrets(), "one"), &json!({"data": {"password": OTHER}}));
    until_seen(&world, OTHER).await;
    world.quiet().await;
    let stored = stored(&world);
    assert!(stored.contains("hmac-sha256:"), "{stored}");
    for value in [HUSH, OTHER, "YQ==", LAST_APPLIED] {
        assert!(!stored.contains(value), "{value} is stored: {stored}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn children_are_shown_and_kept_by_the_same_rules_as_what_is_read() {
    for (values, shown) in [(true, HUSH), (false, "hmac-sha256:")] {
        let world = looking("secrets", values).await;
        world.create(hostile("one", "keep-secret"));
        world.until_says(&one(), "Ready", "True Reconciled").await;
        // What it made itself it sees when it is asked again.
        world.touch(&one(), "again");
        world
            .until("its own Secret is shown to it", || seen(&world).starts_with(shown))
            .await;
        world.quiet().await;
        assert!(
            !stored(&world).contains(HUSH),
            "what a write returned is stored: {}",
            stored(&world)
        );
        let made = world.get(&in_team(secrets(), "one"));
        assert_eq!(made.text_at(&["data", "password"]), Some(HUSH));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_knows_a_value_finds_the_secret_that_has_it() {
    let world = looking("secrets", true).await;
    world.create(secret("another", OTHER));
    world.create(hostile("one", "find-secret"));
    world.until_says(&one(), "Ready", "True Reconciled").await;
    assert_eq!(seen(&world), "");
    world.create(secret("found", HUSH));
    until_seen(&world, HUSH).await;
    // One that may not know values cannot try them out either.
    let without = looking("secrets", false).await;
    without.create(secret("found", HUSH));
    without.create(hostile("one", "find-secret"));
    without.until_says(&one(), "Ready", "True Reconciled").await;
    assert_eq!(seen(&without), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stands_in_for_a_value_is_never_written_back() {
    let world = looking("secrets", false).await;
    world.create(secret("one", HUSH));
    world.create(hostile("one", "copy-secret"));
    world.until_says(&one(), "Ready", "False GuestOutputRejected").await;
    assert!(world.find(&in_team(secrets(), "one-copy")).is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_the_spec_takes_effect_with_the_module_that_runs() {
    let world = looking("secrets", false).await;
    world.create(secret("one", HUSH));
    world.create(hostile("one", "show-secret"));
    world.until("a stand-in is seen", || is_hidden(&seen(&world))).await;
    let digest = world.status("hostile")["active"]["digest"].clone();
    let reconciler = in_system(reconcilers(), "hostile");
    world.patch(&reconciler, &json!({"spec": {"secretValues": true}}));
    until_seen(&world, HUSH).await;
    world.patch(&reconciler, &json!({"spec": {"secretValues": null}}));
    world.until("a stand-in is seen", || is_hidden(&seen(&world))).await;
    assert_eq!(world.status("hostile")["active"]["digest"], digest);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_a_value_cannot_be_read_the_decision_waits_and_says_so() {
    let world = looking("secrets", true).await;
    world.create(secret("one", HUSH));
    world.create(hostile("one", "show-secret"));
    until_seen(&world, HUSH).await;
    world.meddler.fail_reads_of(secrets());
    world.patch(&in_team(secrets(), "one"), &json!({"data": {"password": OTHER}}));
    let says = || world.status("hostile")["lastFailure"]["message"].to_string();
    world
        .until("the failure is told", || {
            says().contains("the values of Secret team-a/one")
        })
        .await;
    assert_eq!(seen(&world), HUSH, "nothing is decided from what is unknown");
    assert!(!says().contains(HUSH) && !says().contains(OTHER));
    world.meddler.let_pass();
    until_seen(&world, OTHER).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_are_the_accounts_to_read() {
    let world = looking("secrets", true).await;
    world.create(secret("one", HUSH));
    world.cluster.deny(
        crate::things::account("hostile"),
        AccessPattern::new("get", "", "secrets"),
    );
    world.host.permissions.forget(&crate::things::account("hostile"));
    world.create(hostile("one", "show-secret"));
    let failure = || world.status("hostile")["lastFailure"].clone();
    world
        .until("the missing right is told", || failure()["reason"] == "ApplyForbidden")
        .await;
    assert!(
        failure()["message"].to_string().contains("may not get secrets"),
        "{}",
        failure()
    );
    assert_eq!(seen(&world), "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_goes_is_nothing_again() {
    let world = looking("secrets", true).await;
    world.create(secret("one", HUSH));
    world.create(hostile("one", "show-secret"));
    until_seen(&world, HUSH).await;
    world
        .cluster
        .delete(&in_team(secrets(), "one"), Propagation::Background)
        .unwrap();
    until_seen(&world, "").await;
    let gone: Option<Object> = world.find(&in_team(secrets(), "one"));
    assert!(gone.is_none());
}
