//! What other people and a troubled API server do: drift, strangers in the way, failing writes, watches that break.

use crate::meddler::Verdict;
use crate::things::{account, deployments, hostile, hostiles, in_team, nginx, nginxes, object, says};
use crate::world::{World, window};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use windlass_core::decision::Propagation;
use windlass_core::kind::ObjectRef;
use windlass_core::write::{Request, Write, WriteError};

fn web() -> ObjectRef {
    in_team(nginxes(), "web")
}

fn web_deploy() -> ObjectRef {
    in_team(deployments(), "web-deploy")
}

async fn converged() -> World {
    let world = World::with_guests(&["nginx"]).await;
    world.create(nginx("web", 2));
    world.until_says(&web(), "Ready", "True Reconciled").await;
    world.quiet().await;
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_scales_edits_or_deletes_is_put_right_at_once() {
    let world = converged().await;
    let replicas = || world.get(&web_deploy()).at(&["spec", "replicas"]).cloned();
    world.cluster.scale(&web_deploy(), 7).unwrap();
    world.quiet().await;
    assert_eq!(replicas(), Some(json!(2)), "scaled");
    world.patch(&web_deploy(), &json!({"spec": {"replicas": 9}}));
    world.quiet().await;
    assert_eq!(replicas(), Some(json!(2)), "edited");
    let edit = object(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": "team-a", "name": "web-deploy"}, "spec": {"replicas": 5},
    }));
    world.cluster.apply_by_force_as("somebody", &edit).unwrap();
    world.quiet().await;
    assert_eq!(replicas(), Some(json!(2)), "applied by force");
    let before = world.get(&web_deploy());
    world.cluster.delete(&web_deploy(), Propagation::Background).unwrap();
    world.quiet().await;
    assert_ne!(world.get(&web_deploy()).uid(), before.uid(), "made again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_whose_labels_are_stripped_is_taken_back() {
    let world = converged().await;
    let before = world.get(&web_deploy());
    let stripped = json!({"metadata": {"labels": {
        "windlass.dev/reconciler": null, "windlass.dev/reconciler-namespace": null, "windlass.dev/primary-uid": null,
    }}});
    world.patch(&web_deploy(), &stripped);
    world.quiet().await;
    let after = world.get(&web_deploy());
    assert_eq!(after.uid(), before.uid());
    for label in [
        "windlass.dev/reconciler",
        "windlass.dev/reconciler-namespace",
        "windlass.dev/primary-uid",
    ] {
        assert_eq!(after.label(label), before.label(label), "{label}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_add_is_left_alone_and_costs_no_write() {
    let world = converged().await;
    let mark = world.cluster.mark();
    world.patch(
        &web_deploy(),
        &json!({"metadata": {"annotations": {"example.com/theirs": "yes"}}}),
    );
    world.patch(&web_deploy(), &json!({"spec": {"minReadySeconds": 3}}));
    world.quiet().await;
    assert_eq!(world.writes_for("nginx", mark), [], "nothing of ours was touched");
    assert_eq!(world.get(&web_deploy()).annotation("example.com/theirs"), Some("yes"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_in_the_way_is_named_and_left_alone_until_it_goes() {
    let world = World::with_guests(&["nginx"]).await;
    let stranger = world.create(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": "team-a", "name": "web-deploy", "labels": {"app": "theirs"}},
        "spec": {
            "selector": {"matchLabels": {"app": "theirs"}},
            "template": {
                "metadata": {"labels": {"app": "theirs"}},
                "spec": {"containers": [{"name": "main", "image": "theirs:1"}]},
            },
        },
    }));
    world.create(nginx("web", 2));
    world.until_says(&web(), "Ready", "False OwnershipConflict").await;
    world.quiet().await;
    assert_eq!(world.get(&web_deploy()), stranger, "untouched");
    let events = world.events("web");
    assert!(events.iter().any(|event| event.contains("is not ours")), "{events:?}");
    world.canary("other").await;
    world.cluster.delete(&web_deploy(), Propagation::Background).unwrap();
    world.until_says(&web(), "Ready", "True Reconciled").await;
    assert_ne!(world.get(&web_deploy()).uid(), stranger.uid());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_primary_that_fails_stops_none_of_many() {
    let world = World::with_guests(&["hostile"]).await;
    world.create(hostile("bad", "trap"));
    for number in 0..30 {
        world.create(hostile(&format!("good-{number}"), "good"));
    }
    world.counted("hostile", "30/31").await;
    let status = world.status("hostile");
    assert_eq!(status["primaries"]["failing"], 1, "{status}");
    assert_eq!(status["lastFailure"]["primary"], "team-a/bad", "{status}");
    assert_eq!(status["lastFailure"]["reason"], "GuestTrapped", "{status}");
    assert_eq!(says(&world.reconciler("hostile"), "Ready"), "False DecisionsFailing");
    let bad = in_team(hostiles(), "bad");
    world.patch(&bad, &json!({"spec": {"behaviour": "good"}}));
    world.until_says(&bad, "Ready", "True Reconciled").await;
    world.counted("hostile", "31/31").await;
    world.until_ready("hostile").await;
    assert!(world.status("hostile")["lastFailure"].is_null());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_an_overloaded_server_refuses_are_tried_again() {
    let world = World::with_guests(&["nginx"]).await;
    world
        .cluster
        .fail_next_writes(3, WriteError::Unavailable("etcdserver: request timed out".into()));
    world.create(nginx("web", 2));
    world.until_says(&web(), "Ready", "True Reconciled").await;
    assert!(world.find(&web_deploy()).is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_status_that_could_not_be_written_is_written_later() {
    let world = World::with_guests(&["nginx"]).await;
    let mut left = 2;
    world.meddler.before_writes(move |write| {
        let is_status = write.subresource == windlass_core::write::Subresource::Status && write.target.name == "web";
        if is_status && left > 0 {
            left -= 1;
            return Verdict::Fail(WriteError::Unavailable("too many requests".into()));
        }
        Verdict::Pass
    });
    world.create(nginx("web", 2));
    world
        .until("the child is there", || world.find(&web_deploy()).is_some())
        .await;
    world.until_says(&web(), "Ready", "True Reconciled").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_that_is_missing_for_a_child_is_named_and_cured_without_a_restart() {
    let world = World::with_guests(&["nginx"]).await;
    let pattern = windlass::cluster::memory::AccessPattern::new("create", "apps", "deployments");
    world.cluster.deny(account("nginx"), pattern);
    world.create(nginx("web", 2));
    world.until_says(&web(), "Ready", "False ApplyForbidden").await;
    world.cluster.lift(&account("nginx"));
    world.until_says(&web(), "Ready", "True Reconciled").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_that_break_lose_nothing() {
    let world = converged().await;
    let mark = world.cluster.mark();
    world.cluster.break_watches();
    world.quiet().await;
    assert_eq!(world.writes_for("nginx", mark), [], "nothing had changed");
    for round in 0..10 {
        world.cluster.break_watches();
        world.create(nginx(&format!("late-{round}"), 1));
        world.cluster.scale(&web_deploy(), 3 + round).unwrap();
        world.cluster.break_watches();
    }
    world.quiet().await;
    world.until_ready("nginx").await;
    assert_eq!(world.get(&web_deploy()).at(&["spec", "replicas"]), Some(&json!(2)));
    for round in 0..10 {
        assert!(
            world
                .find(&in_team(deployments(), &format!("late-{round}-deploy")))
                .is_some()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_an_own_write_brings_before_its_watch_is_not_lost() {
    let world = World::with_guests(&["nginx"]).await;
    let (cluster, mut once) = (world.cluster.clone(), true);
    let meddler = world.meddler.clone();
    // The spec changes between the decision and the write of the status, and the watch is slow to say so.
    world.meddler.before_writes(move |write| {
        if once && write.subresource == windlass_core::write::Subresource::Status && write.target.name == "web" {
            once = false;
            meddler.hold_back(nginxes());
            cluster.patch(&web(), &json!({"spec": {"replicas": 5}})).unwrap();
        }
        Verdict::Pass
    });
    world.create(nginx("web", 2));
    world
        .until("the change is on its way", || world.get(&web()).generation() == Some(2))
        .await;
    window(100).await;
    world.meddler.let_pass();
    world
        .until("the new spec is followed", || {
            world.get(&web_deploy()).at(&["spec", "replicas"]) == Some(&json!(5))
        })
        .await;
    world.until_says(&web(), "Ready", "True Reconciled").await;
}

/// A child of the primary `one` with this data.
fn told(data: &Value) -> Value {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{name}"}, "data": data});
    json!({"spec": {"behaviour": "", "told": {"children": [{"object": object}]}}})
}

/// What a webhook does that takes `.data.b` out of all it sees.
fn without_b(write: &Write) -> Verdict {
    let mut write = write.clone();
    if let Request::Apply { object, .. } | Request::Create(object) = &mut write.request
        && let Some(data) = object.0.get_mut("data").and_then(Value::as_object_mut)
    {
        data.remove("b");
    }
    Verdict::Instead(Box::new(write))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_field_that_a_webhook_takes_out_is_named_and_not_sent_again_and_again() {
    let world = World::with_guests(&["hostile"]).await;
    let one = in_team(hostiles(), "one");
    let mut primary = hostile("one", "");
    primary["spec"] = told(&json!({"a": "1"}))["spec"].clone();
    world.create(primary);
    world.until_says(&one, "Ready", "True Reconciled").await;
    world.meddler.before_writes(without_b);
    world.patch(&one, &told(&json!({"a": "1", "b": "2"})));
    world.until_says(&one, "Ready", "False SchemaDroppedFields").await;
    let said = crate::things::condition(&world.get(&one), "Ready")["message"].to_string();
    assert!(said.contains("ConfigMap team-a/one does not keep .data.b"), "{said}");
    world.quiet().await;
    let mark = world.cluster.mark();
    for number in 0..5 {
        world.touch(&one, &number.to_string());
        world.quiet().await;
    }
    let child = |write: &windlass::cluster::memory::Recorded| write.target.kind.of.kind == "ConfigMap";
    let written = world.writes_for("hostile", mark);
    assert_eq!(written.iter().filter(|write| child(write)).count(), 0, "{written:#?}");
    world.meddler.let_pass();
    world.patch(&one, &told(&json!({"a": "1", "b": "3"})));
    world.until_says(&one, "Ready", "True Reconciled").await;
    assert_eq!(
        world
            .get(&in_team(crate::things::config_maps(), "one"))
            .at(&["data", "b"]),
        Some(&json!("3"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_write_without_an_answer_went_to_is_looked_at_before_it_is_written_again() {
    let world = World::with_guests(&["nginx"]).await;
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    world.meddler.before_writes(move |write| {
        if write.target.kind.of != deployments() {
            return Verdict::Pass;
        }
        count.fetch_add(1, Ordering::Relaxed);
        Verdict::Swallow
    });
    // Neither the watch nor a look says what became of it.
    world.meddler.hold_back(deployments());
    world.meddler.fail_reads_of(deployments());
    world.create(nginx("web", 2));
    world.until_says(&web(), "Ready", "False ClusterUnavailable").await;
    let first = world.get(&web_deploy());
    window(2500).await;
    assert_eq!(sent.load(Ordering::Relaxed), 1, "not sent again unseen");
    world.meddler.let_reads_pass();
    world.until_says(&web(), "Ready", "True Reconciled").await;
    assert_eq!(sent.load(Ordering::Relaxed), 1, "it was there");
    assert_eq!(world.get(&web_deploy()).uid(), first.uid());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b_11_a_status_that_somebody_else_was_faster_to_write_costs_no_decision() {
    let world = converged().await;
    let (mark, taken) = (world.cluster.mark(), world.decisions("nginx", "Decided"));
    let mut left = 3;
    world.meddler.before_writes(move |write| {
        if left > 0 && write.subresource == windlass_core::write::Subresource::Status && write.target.name == "web" {
            left -= 1;
            return Verdict::Fail(WriteError::Conflict("the object has been modified".into()));
        }
        Verdict::Pass
    });
    world.patch(&web(), &json!({"spec": {"replicas": 5}}));
    world
        .until("the status is of the new spec", || {
            let web = world.get(&web());
            web.at(&["status", "observedGeneration"])
                .and_then(serde_json::Value::as_i64)
                == web.generation()
        })
        .await;
    world.quiet().await;
    assert_eq!(world.decisions("nginx", "Decided"), taken + 1);
    let of_child = |write: &windlass::cluster::memory::Recorded| write.target.kind.of == deployments();
    let written = world.writes_for("nginx", mark);
    // Taken over at its first change, and applied.
    assert_eq!(
        written.iter().filter(|write| of_child(write)).count(),
        2,
        "{written:#?}"
    );
}
