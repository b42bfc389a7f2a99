//! What happens at the end: `finalize`, finalizers, a Reconciler that goes, and children that stay.

use crate::meddler::Verdict;
use crate::things::{condition, config_map, config_maps, hostile, hostiles, in_system, in_team, reconcilers, says};
use crate::world::{World, module};
use serde_json::{Value, json};
use windlass::cluster::memory::Verb;
use windlass_core::decision::Propagation;
use windlass_core::kind::ObjectRef;
use windlass_core::write::WriteError;

const OURS: &str = "hostile.windlass-system.reconciler.windlass.dev/finalize";

fn one() -> ObjectRef {
    in_team(hostiles(), "one")
}

fn child() -> ObjectRef {
    in_team(config_maps(), "one")
}

/// The hostile guest with `finalizes`, and a primary with its child.
async fn finalizing(finalize: &str) -> World {
    let world = World::with_guests(&["nginx"]).await;
    let settings = json!({"finalizes": true, "finalize": finalize});
    world.install("hostile", "hostile", settings).await;
    world.create(hostile("one", "good"));
    world.until_says(&one(), "Ready", "True Reconciled").await;
    world
}

fn delete(world: &World, what: &ObjectRef) {
    world.cluster.delete(what, Propagation::Background).unwrap();
}

fn held(world: &World, what: &ObjectRef) -> bool {
    world.get(what).finalizers().any(|finalizer| finalizer == OURS)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_finalizer_is_stored_before_the_first_child() {
    let world = finalizing("").await;
    let writes = world.writes_for("hostile", 0);
    let position = |wanted: &ObjectRef, verb: Verb| {
        writes
            .iter()
            .position(|write| write.target.reference() == *wanted && write.verb == verb)
    };
    let (finalizer, created) = (position(&one(), Verb::Patch), position(&child(), Verb::Create));
    assert!(finalizer.is_some() && finalizer < created, "{finalizer:?} {created:?}");
    assert!(held(&world, &one()));
    let reconciler = world.reconciler("hostile");
    assert_eq!(reconciler.finalizers().collect::<Vec<_>>(), ["windlass.dev/release"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_child_is_made_while_the_finalizer_cannot_be_stored() {
    let world = World::with_guests(&["nginx"]).await;
    world.install("hostile", "hostile", json!({"finalizes": true})).await;
    world.meddler.before_writes(|write| {
        if write.target.reference() == one() && write.subresource == windlass_core::write::Subresource::None {
            return Verdict::Fail(WriteError::Forbidden("hostiles is forbidden".into()));
        }
        Verdict::Pass
    });
    world.create(hostile("one", "good"));
    world.until_says(&one(), "Ready", "False ApplyForbidden").await;
    assert!(world.find(&child()).is_none());
    world.meddler.let_pass();
    world.until_says(&one(), "Ready", "True Reconciled").await;
    assert!(held(&world, &one()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_waits_for_what_finalize_waits_for_and_is_released_last() {
    let world = finalizing("").await;
    delete(&world, &one());
    world.quiet().await;
    let waiting = world.get(&one());
    assert!(waiting.is_being_deleted() && held(&world, &one()));
    assert_eq!(says(&waiting, "Ready"), "False Deleting");
    assert!(world.find(&child()).is_some(), "children stay until it is done");
    let mark = world.cluster.mark();
    world.create(config_map("one-release"));
    world.until("it is gone", || world.find(&one()).is_none()).await;
    world.quiet().await;
    assert!(world.find(&child()).is_none(), "pruned");
    let writes = world.writes_for("hostile", mark);
    let verbs: Vec<_> = writes
        .iter()
        .map(|write| (write.verb, write.target.name.as_str()))
        .collect();
    assert_eq!(verbs.last(), Some(&(Verb::Patch, "one")), "released last: {verbs:?}");
    assert!(verbs.contains(&(Verb::Delete, "one")), "{verbs:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_that_finalize_makes_is_there_until_the_end_and_has_no_owner() {
    let world = finalizing("farewell").await;
    delete(&world, &one());
    world.quiet().await;
    let farewell = world.get(&in_team(config_maps(), "one-farewell"));
    assert_eq!(farewell.at(&["metadata", "ownerReferences"]), None);
    assert!(world.find(&child()).is_none(), "exactly what finalize wants");
    world.create(config_map("one-release"));
    world.until("it is gone", || world.find(&one()).is_none()).await;
    world.quiet().await;
    assert!(world.find(&in_team(config_maps(), "one-farewell")).is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_finalize_blocks_and_its_status_says_so() {
    for (finalize, reason, words) in [
        ("trap", "GuestTrapped", "unreachable"),
        ("invalid", "Invalid", "cannot be finalized"),
    ] {
        let world = finalizing(finalize).await;
        delete(&world, &one());
        world.until_says(&one(), "Ready", &format!("False {reason}")).await;
        let message = condition(&world.get(&one()), "Reconciled")["message"].clone();
        assert!(message.as_str().unwrap().contains(words), "{message}");
        assert!(held(&world, &one()));
        assert!(world.find(&child()).is_some());
        world.canary("web").await;
        world.drop_in(
            "hostile",
            &module("hostile"),
            json!({"finalizes": true, "finalize": "done"}),
        );
        world
            .until("a better finalize ends it", || world.find(&one()).is_none())
            .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reconciler_that_goes_releases_its_primaries_and_leaves_their_children() {
    let world = finalizing("never").await;
    // Otherwise the drop-in would be made again.
    delete(&world, &in_system(config_maps(), "hostile"));
    let before = world.get(&child());
    delete(&world, &in_system(reconcilers(), "hostile"));
    world
        .until("the Reconciler is gone", || {
            world.find(&in_system(reconcilers(), "hostile")).is_none()
        })
        .await;
    assert!(!held(&world, &one()));
    assert_eq!(world.get(&child()), before, "children stay as they are");
    delete(&world, &one());
    assert!(world.find(&one()).is_none(), "nothing holds it");
    world.canary("web").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reconciler_that_goes_while_its_status_is_written_is_released_all_the_same() {
    let world = finalizing("never").await;
    world.counted("hostile", "1/1").await;
    let (cluster, meddler, mut once) = (world.cluster.clone(), world.meddler.clone(), true);
    // The status comes back with the deletion mark, and the watch is slow to say so.
    world.meddler.before_writes(move |write| {
        if once && write.target.reference() == in_system(reconcilers(), "hostile") {
            once = false;
            meddler.hold_back(reconcilers());
            let background = Propagation::Background;
            cluster.delete(&write.target.reference(), background).unwrap();
        }
        Verdict::Pass
    });
    delete(&world, &in_system(config_maps(), "hostile"));
    world
        .until("the Reconciler is gone", || {
            world.find(&in_system(reconcilers(), "hostile")).is_none()
        })
        .await;
    assert!(!held(&world, &one()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reconciler_that_goes_while_a_decision_is_under_way_leaves_no_finalizer_behind() {
    let world = World::with_guests(&["nginx"]).await;
    world.install("hostile", "hostile", json!({"finalizes": true})).await;
    delete(&world, &in_system(config_maps(), "hostile"));
    world.quiet().await;
    let (cluster, mut once) = (world.cluster.clone(), true);
    // The decision is taken, and just before its finalizer is stored the Reconciler goes.
    world.meddler.before_writes(move |write| {
        if once && write.target.reference() == one() {
            once = false;
            cluster
                .delete(&in_system(reconcilers(), "hostile"), Propagation::Background)
                .unwrap();
            // Long enough for the release to come in between, if it does not wait.
            tokio::task::block_in_place(|| std::thread::sleep(std::time::Duration::from_millis(200)));
        }
        Verdict::Pass
    });
    world.create(hostile("one", "good"));
    world
        .until("the Reconciler is gone", || {
            world.find(&in_system(reconcilers(), "hostile")).is_none()
        })
        .await;
    world.quiet().await;
    assert!(!held(&world, &one()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_primary_is_held_by_a_reconciler_that_is_not_held_itself() {
    let world = World::with_guests(&["nginx"]).await;
    world.create(hostile("one", "good"));
    world.meddler.before_writes(|write| {
        let is_hold = write.target.reference() == in_system(reconcilers(), "hostile")
            && write.subresource == windlass_core::write::Subresource::None
            && !matches!(write.request, windlass_core::write::Request::Create(_));
        if is_hold {
            return Verdict::Fail(WriteError::Unavailable("too many requests".into()));
        }
        Verdict::Pass
    });
    world.account("hostile", "hostile");
    world.drop_in("hostile", &module("hostile"), json!({"finalizes": true}));
    world
        .until("the trouble is said", || {
            condition(&world.reconciler("hostile"), "Ready")["reason"] == "ClusterUnavailable"
        })
        .await;
    world.quiet().await;
    assert!(!held(&world, &one()));
    world.meddler.let_pass();
    world.until_says(&one(), "Ready", "True Reconciled").await;
    assert!(held(&world, &one()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_without_finalize_lets_the_primaries_go() {
    let world = finalizing("never").await;
    world.drop_in("hostile", &module("hostile"), json!({"finalizes": false}));
    world.until("it is let go", || !held(&world, &one())).await;
    delete(&world, &one());
    assert!(world.find(&one()).is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreground_and_orphan_deletion_end_as_asked() {
    let world = World::with_guests(&["nginx", "hostile"]).await;
    let kept = |name: &str| in_team(config_maps(), name);
    for name in ["front", "orphan"] {
        world.create(hostile(name, "good"));
    }
    world.quiet().await;
    world
        .cluster
        .delete(&in_team(hostiles(), "front"), Propagation::Foreground)
        .unwrap();
    world
        .cluster
        .delete(&in_team(hostiles(), "orphan"), Propagation::Orphan)
        .unwrap();
    world.quiet().await;
    for name in ["front", "orphan"] {
        assert!(world.find(&in_team(hostiles(), name)).is_none(), "{name} is gone");
    }
    assert!(world.find(&kept("front")).is_none(), "and its child with it");
    let orphan = world.get(&kept("orphan"));
    assert_eq!(
        orphan
            .at(&["metadata", "ownerReferences"])
            .and_then(Value::as_array)
            .map(Vec::len),
        None
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_made_again_for_a_primary_that_is_on_its_way_out() {
    let world = World::with_guests(&["nginx", "hostile"]).await;
    let mut slow = hostile("one", "good");
    slow["metadata"]["finalizers"] = json!(["example.com/somebody-elses"]);
    world.create(slow);
    world.quiet().await;
    delete(&world, &one());
    world.quiet().await;
    let mark = world.cluster.mark();
    delete(&world, &child());
    world.touch(&one(), "again");
    world.quiet().await;
    assert_eq!(world.writes_for("hostile", mark), []);
    assert!(world.get(&one()).is_being_deleted() && world.find(&child()).is_none());
    world.patch(&one(), &json!({"metadata": {"finalizers": null}}));
    assert!(world.find(&one()).is_none());
}
