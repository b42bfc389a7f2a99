//! Shows that a right that is taken away is felt, and that what was seen under it is forgotten.

use crate::spec_on_real::on_bare;
use crate::things::{account, friend, friends, in_system, in_team, pod, reconcilers};
use crate::world::{SYSTEM, World, window};
use anyhow::ensure;
use serde_json::{Value, json};
use std::time::Duration;
use windlass::cluster::memory::AccessPattern;
use windlass::settings::Settings;
use windlass_core::kind::KindRef;
use windlass_core::kind::ObjectRef;
use windlass_testing::eventually;
use windlass_testing::product::{self, DEADLINE, NAMESPACE};

fn pods() -> KindRef {
    KindRef::new("", "v1", "Pod")
}

fn joe() -> ObjectRef {
    in_team(friends(), "joe")
}

/// A host that asks for rights at every decision, and looks at each Reconciler again after this time.
async fn world(sweep: Duration) -> World {
    let world = World::with(Settings {
        rights_believed: Duration::ZERO,
        sweep,
        ..Settings::new(SYSTEM)
    });
    world.serve_all();
    world.install("friend", "friend", json!({})).await;
    world.create(pod("elsewhere", "pod-of-joe"));
    world.create(friend("joe", "pod-of-joe"));
    until_healthy(&world, &joe()).await;
    world.counted("friend", "1/1").await;
    world.quiet().await;
    world
}

/// Waits until a guest was shown the pod.
async fn until_healthy(world: &World, friend: &ObjectRef) {
    world
        .until(&format!("{friend} is healthy"), || {
            world.get(friend).at(&["status", "Healthy"]) == Some(&json!(true))
        })
        .await;
}

/// Which watches on pods are open, and how many objects they hold.
fn seen(world: &World) -> usize {
    let open = world.host.watches.keys();
    open.iter()
        .filter(|key| key.kind.of == pods())
        .map(|key| 1 + world.host.store.len(key))
        .sum()
}

async fn forgotten(world: &World) {
    world
        .until("the missing right is told", || {
            world
                .message("friend", "Permitted")
                .contains(": list pods in all namespaces")
        })
        .await;
    assert_eq!(world.condition("friend", "Permitted"), "False");
    assert_eq!(seen(world), 0, "no pod is in the store, and none comes");
    assert_eq!(world.host.running.active_count(), 0, "nobody is shown anything");
    let mark = world.cluster.mark();
    let shown = world.decisions("friend", "Decided");
    world.create(friend("late", "pod-of-joe"));
    world.touch(&joe(), "again");
    world.quiet().await;
    assert_eq!(world.writes_for("friend", mark), []);
    assert_eq!(world.decisions("friend", "Decided"), shown, "no decision is taken");
}

async fn comes_back(world: &World) {
    world.cluster.lift(&account("friend"));
    world.until_ready("friend").await;
    until_healthy(world, &in_team(friends(), "late")).await;
    assert!(seen(world) > 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_that_is_taken_away_is_felt_at_the_next_decision() {
    let world = world(Duration::from_secs(600)).await;
    let pattern = AccessPattern::new("list", "", "pods");
    world.cluster.deny(account("friend"), pattern);
    window(200).await;
    assert!(seen(&world) > 1, "nobody has asked yet");
    world.touch(&joe(), "now");
    forgotten(&world).await;
    comes_back(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_that_is_taken_away_is_felt_without_a_decision_too() {
    let world = world(Duration::from_millis(300)).await;
    let pattern = AccessPattern::new("list", "", "pods");
    world.cluster.deny(account("friend"), pattern);
    forgotten(&world).await;
    comes_back(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_to_write_that_is_taken_away_is_told_and_stops_no_decision() {
    let world = world(Duration::from_millis(300)).await;
    let pattern = AccessPattern::new("create", "events.k8s.io", "events");
    world.cluster.deny(account("friend"), pattern);
    let told = || {
        world
            .message("friend", "Permitted")
            .contains("create events.events.k8s.io")
    };
    world.until("the missing right is told", told).await;
    world.create(friend("late", "pod-of-joe"));
    until_healthy(&world, &in_team(friends(), "late")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_account_may_not_see_any_more_another_still_does() {
    let world = world(Duration::from_millis(300)).await;
    let apart = json!({"namespaces": ["team-b"]});
    world.patch(
        &in_system(reconcilers(), "friend"),
        &json!({"spec": {"namespaces": ["team-a"]}}),
    );
    world.install_by_hand("other", "friend", &apart).await;
    world
        .cluster
        .deny(account("friend"), AccessPattern::new("list", "", "pods"));
    world
        .until("the missing right is told", || {
            world.condition("friend", "Permitted") == "False"
        })
        .await;
    let mut one = friend("one", "pod-of-joe");
    one["metadata"]["namespace"] = json!("team-b");
    world.create(one);
    let one = ObjectRef {
        namespace: Some("team-b".into()),
        ..in_team(friends(), "one")
    };
    until_healthy(&world, &one).await;
}

#[test]
fn a_binding_that_is_deleted_closes_the_watch_and_one_that_is_made_again_opens_it() {
    on_bare(async |bare| {
        let cluster = &bare.cluster;
        bare.take_up("taken", windlass_artifacts::FRIEND, &json!({})).await?;
        let mut pod = pod("taken", "pod-of-joe");
        pod["spec"]["automountServiceAccountToken"] = json!(false);
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": "taken", "name": "default"}});
        cluster.apply(&account.to_string()).await?;
        cluster.apply(&pod.to_string()).await?;
        let mut joe = friend("joe", "pod-of-joe");
        joe["metadata"]["namespace"] = json!("taken");
        cluster.apply(&joe.to_string()).await?;
        let friends = ["mycustomresources", "joe", "-n", "taken"];
        product::await_value(cluster, &friends, "/status/Healthy", true).await?;
        let role = cluster
            .kubectl(&["get", "clusterrolebinding", BINDING, "-o", "json"])
            .await?;
        cluster.kubectl(&["delete", "clusterrolebinding", BINDING]).await?;
        let reconciler = ["reconciler", "taken", "-n", NAMESPACE];
        eventually(DEADLINE, "what is missing is told", async || {
            let object = product::get(cluster, &reconciler).await?;
            let status = object["status"].to_string();
            ensure!(status.contains("list,watch pods in all namespaces"), "{status}");
            ensure!(
                status.contains("windlass rbac MODULE [--settings FILE] --name taken -n windlass-system"),
                "{status}"
            );
            Ok(())
        })
        .await?;
        // Nothing is written of what comes now, which the host does not see, and no guest is shown what it saw.
        cluster
            .kubectl(&["delete", "pod", "pod-of-joe", "-n", "taken", "--force"])
            .await?;
        let mark = cluster.audit().mark()?;
        window(2000).await;
        let writes = cluster.audit().writes_since(mark)?.impersonating(ACCOUNT);
        ensure!(writes.is_empty(), "{writes}");
        let kept = product::get(cluster, &friends).await?;
        ensure!(kept["status"]["Healthy"] == true, "{kept}");
        let mut role: Value = serde_json::from_str(&role)?;
        for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
            role["metadata"].as_object_mut().unwrap().remove(field);
        }
        cluster.apply(&role.to_string()).await?;
        product::await_reconciler(cluster, "taken", "Ready", "True").await?;
        product::await_value(cluster, &friends, "/status/Healthy", Value::Null).await?;
        Ok(())
    });
}

const BINDING: &str = "windlass:windlass-system:taken:read";
const ACCOUNT: &str = "system:serviceaccount:windlass-system:taken";
