//! The same on a real API server, where kubectl is the other manager.

use crate::spec_on_real::on_bare;
use anyhow::ensure;
use serde_json::{Value, json};
use windlass_testing::eventually;
use windlass_testing::product::{self, DEADLINE};

fn settings(primary: (&str, &str, &str), paths: &[&str], wanted: &Value) -> Value {
    let (group, kind, plural) = primary;
    let primary = json!({"group": group, "version": "v1", "kind": kind, "plural": plural});
    json!({
        "describe": "told", "told": {"primary": wanted},
        "manifest": {"primary": primary, "writesPrimary": paths, "noStatus": true},
    })
}

fn is_ours(object: &Value) -> bool {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let mut managers = entries.filter_map(|entry| entry["manager"].as_str());
    managers.any(|manager| manager.starts_with("windlass"))
}

#[test]
fn labels_of_a_config_map_are_owned_and_given_back_on_a_real_server() {
    on_bare(async |bare| {
        let config_maps = ("", "ConfigMap", "configmaps");
        let paths = [".metadata.labels", ".metadata.annotations"];
        let wanted = json!({"metadata": {"labels": {"tier": "front"}, "annotations": {"example.com/seen": "yes"}}});
        let spec = json!({"settings": settings(config_maps, &paths, &wanted)});
        bare.take_up("decoratedmaps", windlass_artifacts::HOSTILE, &spec)
            .await?;
        let cluster = &bare.cluster;
        let create = [
            "create",
            "configmap",
            "one",
            "-n",
            "decoratedmaps",
            "--from-literal=a=b",
        ];
        cluster.kubectl(&create).await?;
        let one = ["configmap", "one", "-n", "decoratedmaps", "--show-managed-fields"];
        product::await_value(cluster, &one, "/metadata/labels/tier", "front").await?;
        // A label of theirs beside ours; and ours, changed by hand, is put back.
        let label = ["label", "configmap", "one", "-n", "decoratedmaps", "theirs=stays"];
        cluster.kubectl(&label).await?;
        let remove = ["label", "configmap", "one", "-n", "decoratedmaps", "tier-"];
        cluster.kubectl(&remove).await?;
        let decorated = product::await_value(cluster, &one, "/metadata/labels/tier", "front").await?;
        ensure!(
            decorated["metadata"]["annotations"]["example.com/seen"] == "yes",
            "{decorated}"
        );
        bare.change("decoratedmaps", &json!({"settings": {"told": {"primary": null}}}))
            .await?;
        let left = product::await_value(cluster, &one, "/metadata/labels/tier", Value::Null).await?;
        ensure!(
            left["metadata"]["labels"]["theirs"] == "stays" && left["data"]["a"] == "b",
            "{left}"
        );
        ensure!(left["metadata"]["annotations"]["example.com/seen"].is_null(), "{left}");
        ensure!(!is_ours(&left), "{left}");
        Ok(())
    });
}

#[test]
fn replicas_of_a_deployment_are_left_to_the_manager_that_owns_them_on_a_real_server() {
    on_bare(async |bare| {
        let wanted = json!({"spec": {"replicas": 3}});
        let spec = json!({"settings": settings(("apps", "Deployment", "deployments"), &[".spec.replicas"], &wanted)});
        bare.take_up("decorateddeploys", windlass_artifacts::HOSTILE, &spec)
            .await?;
        let cluster = &bare.cluster;
        let mut made = crate::cases::settle::deployment("web", &json!({"name": "web", "image": "web:1"}));
        made["metadata"]["namespace"] = json!("decorateddeploys");
        made["spec"]["replicas"] = json!(1);
        cluster.apply(&made.to_string()).await?;
        let events = [
            "events",
            "-n",
            "decorateddeploys",
            "--field-selector",
            "reason=OwnershipConflict",
        ];
        eventually(DEADLINE, "the manager and the field are named", async || {
            let events = product::get(cluster, &events).await?["items"].to_string();
            ensure!(
                events.contains("kubectl") && events.contains(".spec.replicas"),
                "{events}"
            );
            Ok(())
        })
        .await?;
        let web = ["deployment", "web", "-n", "decorateddeploys", "--show-managed-fields"];
        let left = product::get(cluster, &web).await?;
        ensure!(left["spec"]["replicas"] == 1, "{left}");
        made["spec"].as_object_mut().unwrap().remove("replicas");
        cluster.apply(&made.to_string()).await?;
        product::await_value(cluster, &web, "/spec/replicas", 3).await?;
        bare.change("decorateddeploys", &json!({"settings": {"told": {"primary": null}}}))
            .await?;
        eventually(DEADLINE, "it is given back", async || {
            let left = product::get(cluster, &web).await?;
            ensure!(!is_ours(&left), "{left}");
            Ok(())
        })
        .await?;
        Ok(())
    });
}
