//! Groups A and D: a guest is called for what concerns it, and once for what came together.

use crate::meddler::Verdict;
use crate::things::{config_map, friend, friends, hostile, hostiles, in_team, pod};
use crate::world::{TEAM, World};
use serde_json::json;
use std::time::{Duration, Instant};
use windlass_core::decision::Propagation;
use windlass_core::kind::{KindRef, ObjectRef};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_10_busy_objects_that_nobody_asked_about_call_no_guest() {
    let world = World::with_guests(&["friend"]).await;
    world.create(pod(TEAM, "buddy"));
    world.create(friend("one", "buddy"));
    let one = in_team(friends(), "one");
    let healthy = || world.get(&one).at(&["status", "Healthy"]) == Some(&json!(true));
    world.until("it is healthy", healthy).await;
    world.create(config_map("leader"));
    world.create(pod(TEAM, "unrelated"));
    world.create(json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"namespace": TEAM, "name": "leader"},
    }));
    world.quiet().await;
    let taken = world.decisions("friend", "Decided");
    let busy = [
        ("", "ConfigMap", "leader"),
        ("", "Pod", "unrelated"),
        ("coordination.k8s.io", "Lease", "leader"),
    ];
    for number in 0..60 {
        for (group, kind, name) in busy {
            world.touch(&in_team(KindRef::new(group, "v1", kind), name), &number.to_string());
        }
        world.quiet().await;
    }
    assert_eq!(world.decisions("friend", "Decided"), taken, "180 changes, and no call");
    let buddy = in_team(KindRef::new("", "v1", "Pod"), "buddy");
    world.cluster.delete(&buddy, Propagation::Background).unwrap();
    world.until("it is not healthy any more", || !healthy()).await;
}

/// The host's store knows what the cluster has.
fn knows(host: &windlass::host::Host, what: &ObjectRef, resource_version: &str) -> bool {
    let keys = host.watches.keys();
    let of_kind = keys.iter().find(|key| key.kind.of == what.of);
    let stored = of_kind.and_then(|key| host.store.get(key, what.namespace.as_deref(), &what.name));
    stored.is_some_and(|stored| stored.resource_version() == resource_version)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_11_five_hundred_changes_in_the_middle_of_a_decision_are_one_more() {
    let world = World::with_guests(&["hostile"]).await;
    let one = in_team(hostiles(), "one");
    let (cluster, host, of_primary, mut once) = (world.cluster.clone(), world.host.clone(), one.clone(), true);
    let (sender, seen) = std::sync::mpsc::channel();
    world.meddler.before_writes(move |write| {
        if std::mem::take(&mut once) {
            for number in 0..500 {
                let patch = json!({"metadata": {"annotations": {"example.com/touched": number.to_string()}}});
                cluster.patch(&of_primary, &patch).unwrap();
            }
            let last = cluster.find(&of_primary).unwrap();
            let deadline = Instant::now() + Duration::from_secs(10);
            tokio::task::block_in_place(|| {
                while !knows(&host, &of_primary, last.resource_version()) && Instant::now() < deadline {
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            sender.send(knows(&host, &of_primary, last.resource_version())).unwrap();
        }
        let _ = write;
        Verdict::Pass
    });
    world.create(hostile("one", "good"));
    world.until_says(&one, "Reconciled", "True Reconciled").await;
    world.quiet().await;
    assert!(
        seen.recv().unwrap(),
        "the host knew of the last change while it was deciding"
    );
    assert_eq!(
        world.decisions("hostile", "Decided"),
        2,
        "the running one, and one more"
    );
    let text = world.host.metrics.text(&Default::default());
    assert!(!text.contains("result=\"GuestTimedOut\""), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d_14_a_guest_that_only_finalizes_is_called_once_for_that_and_writes_no_child() {
    let world = World::with_guests(&["nginx"]).await;
    // It is told nothing, so that it has no opinion.
    let settings = json!({"finalizes": true, "finalize": "done", "behaviour": "told"});
    world.install("hostile", "hostile", settings).await;
    let mark = world.cluster.mark();
    for name in ["one", "two"] {
        let primary = world.create(hostile(name, "")).reference();
        world.until_says(&primary, "Reconciled", "True Reconciled").await;
        world.quiet().await;
        assert_eq!(world.get(&primary).finalizers().count(), 1);
        let taken = world.decisions("hostile", "Decided");
        world.cluster.delete(&primary, Propagation::Background).unwrap();
        world.until("it is gone", || world.find(&primary).is_none()).await;
        world.quiet().await;
        assert_eq!(
            world.decisions("hostile", "Decided"),
            taken + 1,
            "finalize was called once"
        );
    }
    let writes = world.writes_for("hostile", mark);
    let children = writes.iter().filter(|write| write.target.kind.of != hostiles());
    assert_eq!(children.count(), 0, "{writes:#?}");
    world.canary("web").await;
}
