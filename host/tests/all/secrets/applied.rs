//! The hash of what was applied: of a Secret nobody can check a guess with it who has not got the host's key.

use crate::things::{config_maps, hostile, hostiles, in_team};
use crate::world::World;
use serde_json::{Value, json};
use windlass_core::canonical;
use windlass_core::kind::KindRef;
use windlass_core::names::ANNOTATION_APPLIED;
use windlass_core::object::Object;

/// What anybody can compute who guesses everything of an object right.
fn guess(object: &Object) -> String {
    let mut intent = canonical::intent(object);
    intent.0.remove("type");
    let annotations = intent
        .metadata_mut()
        .get_mut("annotations")
        .and_then(Value::as_object_mut);
    annotations.unwrap().remove(ANNOTATION_APPLIED);
    if let Some(Value::Object(annotations)) = intent.metadata_mut().remove("annotations")
        && !annotations.is_empty()
    {
        intent.metadata_mut().insert("annotations".into(), annotations.into());
    }
    canonical::hash(&intent.into_value())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hash_of_a_secret_confirms_no_guess_and_is_the_same_after_a_restart() {
    let mut world = World::with_guests(&[]).await;
    let spec = json!({"settings": {"describe": "secrets"}});
    world.install_by_hand("hostile", "hostile", &spec).await;
    world.create(hostile("one", "keep-secret"));
    let one = in_team(hostiles(), "one");
    world.until_says(&one, "Ready", "True Reconciled").await;
    world.quiet().await;
    let secret = world.get(&in_team(KindRef::new("", "v1", "Secret"), "one"));
    let config_map = world.get(&in_team(config_maps(), "one"));
    let applied = |object: &Object| object.annotation(ANNOTATION_APPLIED).map(str::to_owned);
    assert_eq!(
        applied(&config_map),
        Some(guess(&config_map)),
        "the guess is a good one"
    );
    assert_ne!(applied(&secret), Some(guess(&secret)));
    assert_eq!(applied(&secret).map(|hash| hash.len()), Some(64));
    // What it is shown of its own Secret may change what it wants once; then nothing is left to write.
    world.touch(&one, "again");
    world
        .until("it was decided again", || world.decisions("hostile", "Decided") > 1)
        .await;
    assert_eq!(world.writes_after_restart("hostile").await, []);
    let after = world.get(&in_team(KindRef::new("", "v1", "Secret"), "one"));
    assert_eq!(applied(&after), applied(&secret));
}
