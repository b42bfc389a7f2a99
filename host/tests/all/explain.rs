//! Asks why an object is as it is, on the cluster in memory.

use crate::things::{deployments, hostile, hostiles, in_system, in_team, nginx, nginxes, object, reconcilers};
use crate::world::{SYSTEM, TEAM, World, digest, module};
use serde_json::{Value, json};
use std::sync::Arc;
use windlass::cli::explain::answer::ChildState;
use windlass::cli::explain::{Question, explain};
use windlass::cluster::memory::AccessPattern;
use windlass_core::decision::Propagation;
use windlass_core::key::ReconcilerId;
use windlass_core::kind::{KindInfo, ObjectRef};
use windlass_core::write::Identity;

const HOSTILE: &str = "Hostile";

fn question(of: &str, name: &str) -> Question {
    let kind = match of {
        HOSTILE => KindInfo::namespaced("hostile.windlass.test", "v1", HOSTILE, "hostiles"),
        _ => KindInfo::namespaced("stable.underneathall.com", "v1", "Nginx", "nginx"),
    };
    Question {
        kind,
        namespace: Some(TEAM.into()),
        name: name.into(),
        reconciler: None,
        host_namespace: SYSTEM.into(),
    }
}

/// The answer as programs and as people get it.
async fn explained(world: &World, question: &Question) -> (Value, String) {
    let answer = explain(Arc::new(world.cluster.clone()), question).await.unwrap();
    (serde_json::to_value(&answer).unwrap(), answer.to_text())
}

/// The same where no host runs, so that whatever is written is written by it: nothing.
async fn explained_alone(world: &World, question: &Question) -> (Value, String) {
    let mark = world.cluster.mark();
    let answer = explained(world, question).await;
    assert_eq!(world.cluster.writes_since(mark), [], "it only looks");
    answer
}

/// State, fields and reason of a child.
fn child(answer: &Value, name: &str) -> Value {
    let children = answer["reconcilers"][0]["decision"]["children"].as_array();
    let found = children
        .into_iter()
        .flatten()
        .find(|child| child["object"]["name"] == name);
    found
        .cloned()
        .unwrap_or_else(|| panic!("no child {name} in {answer:#}"))
}

async fn told(world: &World, told: Value) -> ObjectRef {
    let mut primary = hostile("one", "");
    primary["spec"] = json!({"told": told});
    world.cluster.apply_as("kubectl", &object(primary)).unwrap();
    let one = in_team(hostiles(), "one");
    world.quiet().await;
    one
}

fn config_map(name: &str, text: &str) -> Value {
    json!({"object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_tells_of_what_is_well_who_takes_care_of_it_and_what_wakes_it() {
    let world = World::with_guests(&["nginx"]).await;
    world.create(nginx("web", 2));
    let web = in_team(nginxes(), "web");
    world.until_says(&web, "Ready", "True Reconciled").await;
    let (answer, text) = explained(&world, &question("Nginx", "web")).await;
    assert_eq!(answer["conditions"][0]["type"], "Reconciled");
    assert_eq!(answer["conditions"][0]["observedGeneration"], 1);
    let reconciler = &answer["reconcilers"][0];
    assert_eq!(reconciler["reconciler"], json!({"namespace": SYSTEM, "name": "nginx"}));
    assert_eq!(reconciler["takesCare"], true);
    assert_eq!(reconciler["module"]["digest"], json!(digest(&module("nginx"))));
    assert_eq!(reconciler["decision"]["reason"], "Reconciled");
    assert_eq!(child(&answer, "web-deploy")["state"], "asWanted");
    assert_eq!(answer["cannotTell"], json!([]));
    for words in [
        "Nginx team-a/web, generation 1\n",
        "Reconciled  True     Reconciled, since 20",
        ", for generation 1\n",
        "Reconciler windlass-system/nginx takes care of it\n",
        "Module    nginx 0.1.0 (",
        "Asked     nothing\n",
        "Child     Deployment team-a/web-deploy  as wanted\n",
        "Comes to  Reconciled: ",
        "Next      on a change of the object itself, a Deployment of it\n",
    ] {
        assert!(text.contains(words), "{words:?} is not in\n{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_names_the_fields_that_differ_and_what_would_come_and_go() {
    let mut world = World::with_guests(&["hostile"]).await;
    told(
        &world,
        json!({"children": [config_map("same", "a"), config_map("changes", "a"), config_map("goes", "a")]}),
    )
    .await;
    world
        .until_says(&in_team(hostiles(), "one"), "Ready", "True Reconciled")
        .await;
    world.stop().await;
    let children = [
        config_map("same", "a"),
        config_map("changes", "b"),
        config_map("comes", "a"),
        json!({"hold": {"group": "", "version": "v1", "kind": "ConfigMap", "name": "held"}}),
    ];
    let mut primary = hostile("one", "");
    primary["spec"] = json!({"told": {
        "children": children, "status": {"told": {"a": 1}}, "requeueAfterSeconds": 7,
        "conditions": [{"type": "Healthy", "status": "False", "reason": "Why", "message": "because"}],
        "ask": [{"group": "", "version": "v1", "kind": "ConfigMap", "labels": "friend=yes"}],
    }});
    world.cluster.apply_by_force_as("kubectl", &object(primary)).unwrap();
    let mut friend = crate::things::config_map("friend");
    friend["metadata"]["labels"] = json!({"friend": "yes"});
    world.create(friend);
    let (answer, text) = explained_alone(&world, &question(HOSTILE, "one")).await;
    assert_eq!(child(&answer, "same")["state"], "asWanted");
    assert_eq!(child(&answer, "changes")["state"], "changed");
    assert_eq!(
        child(&answer, "changes")["fields"],
        json!([".data.text: \"a\" -> \"b\""])
    );
    assert_eq!(child(&answer, "comes")["state"], "created");
    assert_eq!(child(&answer, "goes")["state"], "pruned");
    assert_eq!(child(&answer, "held")["state"], "held");
    let decision = &answer["reconcilers"][0]["decision"];
    assert_eq!(decision["asked"][0]["answer"], "found");
    assert_eq!(decision["asked"][0]["count"], 1);
    assert_eq!(decision["status"], json!({"told": {"a": 1}}));
    assert_eq!(decision["conditions"][0]["type"], "Healthy");
    assert_eq!(decision["next"]["afterSeconds"], 7);
    assert!(
        text.contains("ConfigMap in namespace team-a with labels friend=yes: 1 found"),
        "{text}"
    );
    assert!(text.contains("in any case after 7 s"), "{text}");
    // What it said is what the host does.
    world.start();
    let comes = in_team(crate::things::config_maps(), "comes");
    world
        .until("what was to come is there", || world.find(&comes).is_some())
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_says_what_is_in_the_way_and_what_the_module_did_wrong() {
    let world = World::with_guests(&["hostile"]).await;
    world.create(crate::things::config_map("taken"));
    told(&world, json!({"children": [config_map("taken", "a")]})).await;
    let (answer, text) = explained(&world, &question(HOSTILE, "one")).await;
    let taken = child(&answer, "taken");
    assert_eq!(taken["state"], json!(ChildState::Blocked));
    assert!(
        taken["why"]
            .as_str()
            .unwrap()
            .contains("exists already and is not ours"),
        "{taken}"
    );
    assert_eq!(answer["reconcilers"][0]["decision"]["reason"], "OwnershipConflict");
    assert!(text.contains("blocked"), "{text}");

    world.create(hostile("trap", "trap"));
    world.quiet().await;
    let (answer, text) = explained(&world, &question(HOSTILE, "trap")).await;
    assert_eq!(answer["reconcilers"][0]["decision"]["reason"], "GuestTrapped");
    assert!(
        text.contains("left as they are: no decision was reached") && text.contains("growing delay"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_says_why_nobody_takes_care_of_it() {
    let world = World::with_guests(&[]).await;
    world.create(nginx("web", 1));
    let ask = question("Nginx", "web");
    let (answer, text) = explained(&world, &ask).await;
    assert_eq!(answer["reconcilers"], json!([]));
    assert!(
        text.contains("Nobody takes care of it") && text.contains("kubectl get reconcilers -A"),
        "{text}"
    );

    world
        .install_by_hand("away", "nginx", &json!({"namespaces": ["team-b"]}))
        .await;
    let (answer, text) = explained(&world, &ask).await;
    assert_eq!(answer["reconcilers"][0]["takesCare"], false);
    assert!(text.contains("Nobody takes care of it"), "{text}");
    assert!(text.contains("in team-b only, and this one is in team-a"), "{text}");

    let away = in_system(reconcilers(), "away");
    world.patch(&away, &json!({"spec": {"suspend": true}}));
    world
        .until("nothing runs", || world.status("away")["active"].is_null())
        .await;
    let (_, text) = explained(&world, &ask).await;
    assert!(
        text.contains("Reconciler windlass-system/away does not take care of it\n  it is suspended"),
        "{text}"
    );

    // Two for the same objects: the older one wins, and the other says so.
    world.install("first", "nginx", json!({})).await;
    world.account("second", "second");
    world.drop_in("second", &module("nginx"), json!({}));
    world
        .until("the second one waits", || {
            world
                .message("second", "Permitted")
                .contains("are taken care of by Reconciler")
        })
        .await;
    let (answer, text) = explained(&world, &ask).await;
    assert_eq!(answer["reconcilers"][0]["reconciler"]["name"], "first");
    assert!(
        text.contains("PrimaryClaimed: nginx are taken care of by Reconciler windlass-system/first"),
        "{text}"
    );

    // Only one that is named.
    let named = Question {
        reconciler: Some(ReconcilerId::new(SYSTEM, "away")),
        ..ask.clone()
    };
    let (answer, _) = explained(&world, &named).await;
    assert_eq!(answer["reconcilers"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_names_the_right_that_is_missing_and_what_cannot_be_told() {
    let world = World::with_guests(&["nginx"]).await;
    world.create(nginx("web", 1));
    world
        .until_says(&in_team(nginxes(), "web"), "Ready", "True Reconciled")
        .await;
    world.stop().await;
    let ask = question("Nginx", "web");
    let table = [
        (
            ("list", "apps", "deployments"),
            "what its module wants now: deployments in namespace team-a cannot be listed",
        ),
        (
            ("list", "", "configmaps"),
            "what its module wants now: configmaps in namespace windlass-system cannot be listed",
        ),
        (
            ("list", "windlass.dev", "reconcilers"),
            "who else takes care of it: reconcilers cannot be listed",
        ),
    ];
    for ((verb, group, resource), words) in table {
        world
            .cluster
            .deny(Identity::Host, AccessPattern::new(verb, group, resource));
        let (answer, text) = explained_alone(&world, &ask).await;
        assert!(text.contains("What cannot be told with your rights"), "{text}");
        assert!(
            text.contains(words) && text.contains("forbidden"),
            "{words:?} is not in\n{text}"
        );
        assert_eq!(
            answer["conditions"][0]["reason"], "Reconciled",
            "what the status says is told"
        );
        assert_eq!(
            answer["reconcilers"][0]["takesCare"], true,
            "whoever wrote to it is known"
        );
        world.cluster.lift(&Identity::Host);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_refuses_what_is_not_there_with_the_next_step() {
    let world = World::with_guests(&["nginx"]).await;
    let refused = |question: Question| {
        let cluster = Arc::new(world.cluster.clone());
        async move { format!("{:#}", explain(cluster, &question).await.unwrap_err()) }
    };
    let words = refused(question("Nginx", "nowhere")).await;
    assert!(
        words.contains("there is no Nginx team-a/nowhere; `windlass list nginx -A`"),
        "{words}"
    );
    world.create(nginx("web", 1));
    let words = refused(Question {
        reconciler: Some(ReconcilerId::new(SYSTEM, "none")),
        ..question("Nginx", "web")
    })
    .await;
    assert!(
        words.contains("there is no Reconciler windlass-system/none; `kubectl get"),
        "{words}"
    );
    world.cluster.deny(
        Identity::Host,
        AccessPattern::new("get", "stable.underneathall.com", "nginx"),
    );
    let words = refused(question("Nginx", "web")).await;
    assert!(words.contains("ask for the right to get nginx"), "{words}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_tells_of_one_that_is_held_and_of_one_that_is_only_going() {
    let world = World::with_guests(&[]).await;
    world.install("hostile", "hostile", json!({"finalizes": true})).await;
    let held = world.create(hostile("held", "good")).reference();
    world.until_says(&held, "Ready", "True Reconciled").await;
    world.cluster.delete(&held, Propagation::Background).unwrap();
    world.until_says(&held, "Reconciled", "False Deleting").await;
    let (answer, text) = explained(&world, &question(HOSTILE, "held")).await;
    assert_eq!(answer["isBeingDeleted"], true);
    assert!(text.contains("named held-release: 0 found"), "{text}");

    let foreign = world.create(hostile("foreign", "good")).reference();
    world.until_says(&foreign, "Ready", "True Reconciled").await;
    world.stop().await;
    world.patch(&foreign, &json!({"metadata": {"finalizers": ["example.com/theirs"]}}));
    world.cluster.delete(&foreign, Propagation::Background).unwrap();
    let (_, text) = explained_alone(&world, &question(HOSTILE, "foreign")).await;
    assert!(
        text.contains("Children  the object is going without a finalizer"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_says_the_same_as_was_done_where_a_strange_hand_was_at_a_child() {
    let world = World::with_guests(&["nginx"]).await;
    world.create(nginx("web", 2));
    world
        .until_says(&in_team(nginxes(), "web"), "Ready", "True Reconciled")
        .await;
    world.quiet().await;
    world.stop().await;
    let deployment = in_team(deployments(), "web-deploy");
    world.cluster.scale(&deployment, 7).unwrap();
    let (answer, text) = explained_alone(&world, &question("Nginx", "web")).await;
    assert_eq!(
        child(&answer, "web-deploy")["fields"],
        json!([".spec.replicas: 7 -> 2"]),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_says_of_what_the_api_server_refused_no_more_than_came_of_it() {
    let world = World::with_guests(&["hostile"]).await;
    world.create(hostile("one", "refused-child"));
    let one = in_team(hostiles(), "one");
    world.until_says(&one, "Ready", "False ApplyRejected").await;
    let (answer, text) = explained(&world, &question(HOSTILE, "one")).await;
    let decision = &answer["reconcilers"][0]["decision"];
    assert_eq!(
        (&decision["reason"], &decision["next"]["isRetried"]),
        (&json!("ApplyRejected"), &json!(true)),
        "{decision:#}"
    );
    assert!(
        text.contains("was tried, and came to what the status says") && !text.contains("carried out whole"),
        "{text}"
    );
    world.host.stop().await;
    world.patch(&one, &json!({"spec": {"behaviour": "good"}}));
    let (_, text) = explained(&world, &question(HOSTILE, "one")).await;
    assert!(
        text.contains("that is about generation 1: what was changed since has not been decided about yet")
            && text.contains("what is said to be written here would be written"),
        "{text}"
    );
}
