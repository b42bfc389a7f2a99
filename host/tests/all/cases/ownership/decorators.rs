//! A guest that owns fields of a primary of a kind that is there already.

use crate::things::{condition, config_map, config_maps, deployments, in_system, in_team, object, reconcilers};
use crate::world::{TEAM, World};
use serde_json::{Value, json};
use windlass_core::kind::ObjectRef;
use windlass_core::managed_fields::managers;

fn settings(primary: (&str, &str, &str), paths: &[&str], wanted: &Value) -> Value {
    let (group, kind, plural) = primary;
    let primary = json!({"group": group, "version": "v1", "kind": kind, "plural": plural});
    json!({
        "describe": "told", "told": {"primary": wanted},
        "manifest": {"primary": primary, "writesPrimary": paths, "noStatus": true},
    })
}

const CONFIG_MAPS: (&str, &str, &str) = ("", "ConfigMap", "configmaps");
const DEPLOYMENTS: (&str, &str, &str) = ("apps", "Deployment", "deployments");

/// A host whose only Reconciler decorates objects of the team's namespace.
async fn decorating(settings: &Value) -> World {
    let world = World::with_guests(&[]).await;
    world.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}}));
    let spec = json!({"namespaces": [TEAM], "settings": settings});
    world.install_by_hand("deco", "hostile", &spec).await;
    world
}

async fn resettle(world: &World, settings: &Value) {
    let swaps = world.host.metrics.swaps.get();
    world.patch(&in_system(reconcilers(), "deco"), &json!({"spec": {"settings": null}}));
    world.patch(
        &in_system(reconcilers(), "deco"),
        &json!({"spec": {"settings": settings}}),
    );
    world
        .until("the settings are followed", || world.host.metrics.swaps.get() > swaps)
        .await;
    world.until_ready("deco").await;
}

fn one() -> ObjectRef {
    in_team(config_maps(), "one")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn labels_and_annotations_of_a_primary_are_owned_and_given_back() {
    let paths = [".metadata.labels", ".metadata.annotations"];
    let wanted = json!({"metadata": {"labels": {"tier": "front"}, "annotations": {"example.com/seen": "yes"}}});
    let world = decorating(&settings(CONFIG_MAPS, &paths, &wanted)).await;
    let mut made = config_map("one");
    made["metadata"]["labels"] = json!({"theirs": "stays"});
    world.create(made);
    world
        .until("it is decorated", || world.get(&one()).label("tier") == Some("front"))
        .await;
    world.quiet().await;
    let decorated = world.get(&one());
    assert_eq!(decorated.annotation("example.com/seen"), Some("yes"));
    let mark = world.cluster.mark();
    world.touch(&one(), "again");
    world.quiet().await;
    assert_eq!(world.writes_for("deco", mark), [], "as wanted");
    world.patch(&one(), &json!({"metadata": {"labels": {"tier": null}}}));
    world
        .until("it is put back", || world.get(&one()).label("tier") == Some("front"))
        .await;

    resettle(
        &world,
        &settings(CONFIG_MAPS, &paths, &json!({"metadata": {"labels": {"tier": "back"}}})),
    )
    .await;
    world
        .until("it follows", || world.get(&one()).label("tier") == Some("back"))
        .await;
    assert_eq!(
        world.get(&one()).annotation("example.com/seen"),
        None,
        "no longer wanted"
    );

    resettle(&world, &settings(CONFIG_MAPS, &paths, &Value::Null)).await;
    world
        .until("it is given back", || world.get(&one()).label("tier").is_none())
        .await;
    world.quiet().await;
    let left = world.get(&one());
    assert_eq!(left.label("theirs"), Some("stays"));
    assert!(
        managers(&left).iter().all(|manager| !manager.starts_with("windlass")),
        "{:?}",
        managers(&left)
    );
    let mark = world.cluster.mark();
    world.touch(&one(), "once more");
    world.quiet().await;
    assert_eq!(
        world.writes_for("deco", mark),
        [],
        "nothing is ours, and nothing is written"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_field_of_a_primary_that_another_owns_is_left_to_it_and_both_are_named() {
    let world = decorating(&settings(
        DEPLOYMENTS,
        &[".spec.replicas"],
        &json!({"spec": {"replicas": 3}}),
    ))
    .await;
    let container = json!({"name": "web", "image": "web:1"});
    let mut made = crate::cases::settle::deployment("web", &container);
    made["metadata"]["namespace"] = json!(TEAM);
    made["spec"]["replicas"] = json!(1);
    world.cluster.apply_as("owner", &object(made.clone())).unwrap();
    let web = in_team(deployments(), "web");
    let told = || {
        world.events("web").iter().any(|event| {
            event.contains("OwnershipConflict") && event.contains("\"owner\"") && event.contains(".spec.replicas")
        })
    };
    world.until("the manager and the field are named", told).await;
    world
        .until("it is counted", || world.status("deco")["primaries"]["failing"] == 1)
        .await;
    world.quiet().await;
    assert_eq!(world.get(&web).at(&["spec", "replicas"]), Some(&json!(1)));
    let refused = world.writes_for("deco", 0);
    let applies = refused
        .iter()
        .filter(|write| write.target.name == "web" && write.error.is_some())
        .count();
    let decisions = world.decisions("deco", "Decided");
    assert!(applies <= decisions, "{applies} tries in {decisions} decisions");
    // The owner gives it up.
    made["spec"].as_object_mut().unwrap().remove("replicas");
    world.cluster.apply_as("owner", &object(made)).unwrap();
    world.touch(&web, "again");
    world
        .until("it is owned", || {
            world.get(&web).at(&["spec", "replicas"]) == Some(&json!(3))
        })
        .await;
    world
        .until("nothing fails any more", || {
            world.status("deco")["primaries"]["failing"] == 0
        })
        .await;
    assert_eq!(
        condition(&world.get(&web), "Reconciled"),
        Value::Null,
        "a builtin kind has no conditions of ours"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fields_of_a_primary_stay_when_the_reconciler_goes() {
    let wanted = json!({"metadata": {"labels": {"tier": "front"}}});
    let world = decorating(&settings(CONFIG_MAPS, &[".metadata.labels"], &wanted)).await;
    world.create(config_map("one"));
    world
        .until("it is decorated", || world.get(&one()).label("tier") == Some("front"))
        .await;
    let deco = in_system(reconcilers(), "deco");
    world
        .cluster
        .delete(&deco, windlass_core::decision::Propagation::Background)
        .unwrap();
    world
        .until("the Reconciler is gone", || world.find(&deco).is_none())
        .await;
    world.quiet().await;
    assert_eq!(world.get(&one()).label("tier"), Some("front"));
}
