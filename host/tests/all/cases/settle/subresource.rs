//! A kind whose status is no subresource: each status would be a write of the object itself.

use crate::spec_on_real::on_bare;
use crate::world::{TEAM, World, module};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use windlass_testing::product;

/// The hostile kind under another name, with or without the subresource.
fn crd(kind: &str, plural: &str, subresources: &Value) -> Value {
    let text = std::fs::read_to_string(crate::golden::path("../guests/hostile/crd.yaml")).unwrap();
    let mut crd: Value = serde_saphyr::from_str(&text).unwrap();
    crd["metadata"]["name"] = format!("{plural}.hostile.windlass.test").into();
    crd["spec"]["names"] =
        json!({"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")});
    crd["spec"]["versions"][0]["subresources"] = subresources.clone();
    crd
}

fn settings(kind: &str, plural: &str) -> Value {
    let primary = json!({"group": "hostile.windlass.test", "version": "v1", "kind": kind, "plural": plural});
    json!({"describe": "told", "told": {"status": {"told": {"a": "b"}}}, "manifest": {"primary": primary}})
}

fn object(namespace: &str, kind: &str) -> Value {
    json!({
        "apiVersion": "hostile.windlass.test/v1", "kind": kind, "metadata": {"namespace": namespace, "name": "one"}, "spec": {},
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_12_a_kind_without_status_subresource_is_refused_and_taken_up_once_it_has_one() {
    let world = World::with_guests(&[]).await;
    world.create(crd("Plain", "plains", &json!({})));
    let one = world.create(object(TEAM, "Plain"));
    world.account("plain", "plain");
    world.drop_in("plain", &module("hostile"), settings("Plain", "plains"));
    let words = || world.message("plain", "Synced").contains("has no status subresource");
    world.until("the kind is named", words).await;
    assert!(world.message("plain", "Synced").contains("Plain.hostile.windlass.test"));
    world.quiet().await;
    assert_eq!(
        (world.decisions("plain", "Decided"), world.get(&one.reference())),
        (0, one.clone())
    );
    world
        .cluster
        .apply_by_force_as(
            "kubectl",
            &crate::things::object(crd("Plain", "plains", &json!({"status": {}}))),
        )
        .unwrap();
    world.until_ready("plain").await;
    world.until_says(&one.reference(), "Ready", "True Reconciled").await;
    assert_eq!(
        world.get(&one.reference()).generation(),
        one.generation(),
        "status is no new generation"
    );
}

#[test]
fn a_12_the_same_on_a_real_server() {
    on_bare(async |bare| {
        let cluster = &bare.cluster;
        cluster.apply(&crd("Plain", "plains", &json!({})).to_string()).await?;
        let spec = json!({"settings": settings("Plain", "plains")});
        let text = spec["settings"].to_string();
        let program = std::path::Path::new(crate::scenarios::real::PROGRAM);
        product::grant(
            cluster,
            program,
            "a12",
            std::path::Path::new(windlass_artifacts::HOSTILE),
            &text,
        )
        .await?;
        bare.reconciler("a12", windlass_artifacts::HOSTILE, &spec).await?;
        let refused = product::await_reconciler(cluster, "a12", "Synced", "False").await?;
        let conditions = refused["status"]["conditions"].to_string();
        ensure!(
            conditions.contains("Plain.hostile.windlass.test/v1") || conditions.contains("has no status subresource"),
            "{conditions}"
        );
        cluster.apply(&object("a12", "Plain").to_string()).await?;
        cluster
            .apply(&crd("Plain", "plains", &json!({"status": {}})).to_string())
            .await?;
        product::await_reconciler(cluster, "a12", "Ready", "True").await?;
        let one = ["plains.hostile.windlass.test", "one", "-n", "a12"];
        let told: Result<Value> = product::await_value(cluster, &one, "/status/told/a", "b").await;
        ensure!(told?["metadata"]["generation"] == 1, "status is no new generation");
        Ok(())
    });
}
