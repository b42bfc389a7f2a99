//! Group I: status that tells the truth.

use crate::meddler::Verdict;
use crate::things::{condition, hostile, hostiles, in_team, nginx, nginxes, says};
use crate::world::World;
use serde_json::json;
use std::time::{Duration, Instant};
use windlass::cluster::memory::Recorded;
use windlass_core::object::Object;

/// Whether an object claims to be ready for the generation it has.
fn claims_ready(object: &Object) -> bool {
    condition(object, "Ready")["status"] == "True"
        && condition(object, "Ready")["observedGeneration"].as_i64() == object.generation()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i_01_ready_is_never_true_for_a_spec_that_was_not_carried_out() {
    let mut world = World::with_guests(&["hostile"]).await;
    let one = in_team(hostiles(), "one");
    world.create(hostile("one", "good"));
    world.until_says(&one, "Ready", "True Reconciled").await;
    world.stop().await;
    let mark = world.cluster.mark();
    world.patch(&one, &json!({"spec": {"behaviour": "refused-child"}}));
    assert!(
        !claims_ready(&world.get(&one)),
        "the old condition is about generation 1"
    );
    world.start();
    world.until_says(&one, "Ready", "False ApplyRejected").await;
    world.quiet().await;
    let claimed = |write: &Recorded| write.after.as_ref().is_some_and(claims_ready) && write.target.reference() == one;
    let writes = world.cluster.writes_since(mark);
    assert!(!writes.iter().any(claimed), "a wait for Ready would have succeeded");
    let after = world.get(&one);
    assert_eq!(after.at(&["status", "observedGeneration"]), Some(&json!(2)));
    assert_eq!(says(&after, "Reconciled"), "False ApplyRejected");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i_01_a_change_in_the_middle_of_a_decision_is_not_taken_for_observed() {
    let world = World::with_guests(&["nginx"]).await;
    let web = in_team(nginxes(), "web");
    let (cluster, store, mut once) = (world.cluster.clone(), world.host.clone(), true);
    let of_primary = web.clone();
    let (sender, seen) = std::sync::mpsc::channel::<bool>();
    // Between the decision about generation 1 and its first write the spec changes, and the host's watch says so.
    world.meddler.before_writes(move |write| {
        if once && write.target.name == "web-deploy" {
            once = false;
            cluster.patch(&of_primary, &json!({"spec": {"replicas": 5}})).unwrap();
            let known = || {
                let keys = store.watches.keys();
                let of_kind = keys.iter().find(|key| key.kind.of == of_primary.of);
                let stored = of_kind.and_then(|key| store.store.get(key, Some("team-a"), "web"));
                stored.is_some_and(|stored| stored.generation() == Some(2))
            };
            let deadline = Instant::now() + Duration::from_secs(5);
            tokio::task::block_in_place(|| {
                while !known() && Instant::now() < deadline {
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            sender.send(known()).unwrap();
        }
        Verdict::Pass
    });
    world.create(nginx("web", 2));
    world.until_says(&web, "Ready", "True Reconciled").await;
    world.quiet().await;
    assert!(seen.recv().unwrap(), "the host knew of the change before it wrote");
    let order = world.writes_for("nginx", 0);
    let ready = order.iter().position(|write| {
        write.target.reference() == web
            && write
                .after
                .as_ref()
                .is_some_and(|after| after.generation() == Some(2) && claims_ready(after))
    });
    let child = order.iter().position(|write| {
        let replicas = write.after.as_ref().and_then(|after| after.at(&["spec", "replicas"]));
        write.target.name == "web-deploy" && replicas == Some(&json!(5))
    });
    assert!(child.is_some() && child < ready, "child {child:?}, ready {ready:?}");
}
