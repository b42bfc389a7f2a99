//! Groups L and A: content that the API server refuses for good, and content of which it makes something else.

use super::{canary, put, says, told, uid, wants, writes};
use crate::spec_on_real::{Bare, on_whole};
use crate::world::window;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use windlass_testing::eventually;
use windlass_testing::fault_proxy::Passed;
use windlass_testing::product::{self, DEADLINE};

/// A guest that has Deployments and Services as children, besides ConfigMaps.
fn workloads() -> Value {
    let children = json!([
        {"group": "apps", "version": "v1", "kind": "Deployment", "plural": "deployments", "metadata": true},
        {"group": "", "version": "v1", "kind": "Service", "plural": "services", "metadata": true},
        {"group": "", "version": "v1", "kind": "ConfigMap", "plural": "configmaps", "metadata": true},
    ]);
    json!({"settings": {"describe": "told", "manifest": {"children": children}}})
}

fn deployment(name: &str, selector: &Value, mode: &str) -> Value {
    json!({"mode": mode, "object": {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": selector},
            "template": {
                "metadata": {"labels": selector}, "spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]},
            },
        },
    }})
}

/// Those that were refused.
fn refused(writes: &[Passed]) -> usize {
    writes
        .iter()
        .filter(|write| write.code.is_some_and(|code| code >= 400))
        .count()
}

/// Waits until a Deployment has a running pod; gives the pod's uid.
async fn pod(bare: &Bare, namespace: &str, app: &str) -> Result<String> {
    let label = format!("app={app}");
    eventually(DEADLINE, &format!("a pod of {app} runs"), async || {
        let pods = product::get(&bare.cluster, &["pods", "-n", namespace, "-l", &label]).await?;
        let pod = &pods["items"][0];
        ensure!(pod["status"]["phase"] == "Running", "{}", pod["status"]["phase"]);
        Ok(pod["metadata"]["uid"].as_str().unwrap_or_default().to_owned())
    })
    .await
}

#[test]
fn l_02_an_immutable_field_is_named_asked_for_once_and_nothing_is_deleted_for_it() {
    on_whole(async |bare| {
        let proxy = bare.proxy();
        bare.take_up("l02", windlass_artifacts::HOSTILE, &workloads()).await?;
        let names = ["web-0", "web-1", "web-2"];
        let all = |more: Option<&str>, mode: &str| -> Vec<Value> {
            let of = |name: &str| {
                let mut selector = json!({"app": name});
                if let Some(version) = more {
                    selector["version"] = version.into();
                }
                told("l02", name, &wants(&[deployment(name, &selector, mode)]))
            };
            names.map(of).to_vec()
        };
        put(bare, &all(None, "apply")).await?;
        let mut before = Vec::new();
        for name in names {
            says(bare, "l02", name, "Reconciled").await?;
            before.push((
                uid(bare, "deployment", "l02", name).await?,
                pod(bare, "l02", name).await?,
            ));
        }
        let mark = proxy.mark();
        put(bare, &all(Some("v2"), "apply")).await?;
        for name in names {
            let told = says(bare, "l02", name, "ApplyRejected").await?;
            ensure!(told["message"].to_string().contains("spec.selector"), "{told}");
        }
        canary(bare, "l02").await?;
        // A retry in the usual rhythm would have come by now, several times.
        window(5000).await;
        let tried = writes(bare, mark, "l02", "deployments");
        ensure!(
            refused(&tried) == names.len(),
            "{} refusals of {tried:?}",
            refused(&tried)
        );
        ensure!(tried.iter().all(|write| write.call.verb != "delete"), "{tried:?}");
        for (name, (deployment, pod_before)) in names.iter().zip(&before) {
            ensure!(
                uid(bare, "deployment", "l02", name).await? == *deployment,
                "{name} is another"
            );
            ensure!(
                pod(bare, "l02", name).await? == *pod_before,
                "the pod of {name} is another"
            );
        }
        let reconciler = product::await_reconciler(&bare.cluster, "l02", "Ready", "False").await?;
        ensure!(
            reconciler["status"]["lastFailure"]["reason"] == "ApplyRejected",
            "{}",
            reconciler["status"]
        );

        let mark = proxy.mark();
        put(bare, &all(Some("v2"), "applyOrRecreate")).await?;
        for (name, (old, _)) in names.iter().zip(&before) {
            says(bare, "l02", name, "Reconciled").await?;
            let new = uid(bare, "deployment", "l02", name).await?;
            ensure!(new != *old, "{name} is the old one");
            let of_this = writes(bare, mark, "l02", "deployments");
            let deletes: Vec<&Passed> = of_this
                .iter()
                .filter(|write| write.call.verb == "delete" && write.call.name == **name)
                .collect();
            let options: Value = serde_json::from_slice(&deletes[0].body)?;
            ensure!(
                deletes.len() == 1 && options["preconditions"]["uid"] == old.as_str(),
                "{deletes:?}"
            );
        }
        Ok(())
    });
}

#[test]
fn a_13_a_strategy_that_clashes_with_a_defaulted_field_takes_that_field_along() {
    on_whole(async |bare| {
        bare.take_up("a13", windlass_artifacts::HOSTILE, &workloads()).await?;
        let plain = deployment("web", &json!({"app": "web"}), "apply");
        put(bare, &[told("a13", "web", &wants(std::slice::from_ref(&plain)))]).await?;
        says(bare, "a13", "web", "Reconciled").await?;
        let before = uid(bare, "deployment", "a13", "web").await?;
        let mut recreate = plain;
        recreate["object"]["spec"]["strategy"] = json!({"type": "Recreate"});
        put(bare, &[told("a13", "web", &wants(std::slice::from_ref(&recreate)))]).await?;
        says(bare, "a13", "web", "Reconciled").await?;
        product::await_value(
            &bare.cluster,
            &["deployment", "web", "-n", "a13"],
            "/spec/strategy/type",
            "Recreate",
        )
        .await?;
        ensure!(
            uid(bare, "deployment", "a13", "web").await? == before,
            "it was made anew"
        );
        Ok(())
    });
}

#[test]
fn l_03_an_empty_cluster_ip_takes_nothing_from_a_service_and_settles() {
    on_whole(async |bare| {
        let (cluster, proxy) = (&bare.cluster, bare.proxy());
        bare.take_up("l03", windlass_artifacts::HOSTILE, &workloads()).await?;
        let service = |of_type: &str, port: i64| {
            let object = json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                "spec": {
                    "clusterIP": "", "type": of_type, "selector": {"app": "web"},
                    "ports": [{"name": "http", "port": port, "protocol": "TCP"}],
                },
            });
            told("l03", "web", &wants(&[json!({"object": object})]))
        };
        let look = async || product::get(cluster, &["service", "web", "-n", "l03"]).await;
        let mark = proxy.mark();
        put(bare, &[service("NodePort", 80)]).await?;
        says(bare, "l03", "web", "Reconciled").await?;
        let first = look().await?;
        ensure!(first["spec"]["ports"][0]["nodePort"].is_number(), "{first}");
        // What is beside the field that was left out.
        let mut changed = service("NodePort", 80);
        changed["spec"]["told"]["children"][0]["object"]["metadata"]["labels"] = json!({"changed": "yes"});
        put(bare, &[changed]).await?;
        product::await_value(
            cluster,
            &["service", "web", "-n", "l03"],
            "/metadata/labels/changed",
            "yes",
        )
        .await?;
        says(bare, "l03", "web", "Reconciled").await?;
        let second = look().await?;
        ensure!(second["spec"]["clusterIP"] == first["spec"]["clusterIP"], "{second}");
        ensure!(second["spec"]["ports"] == first["spec"]["ports"], "{second}");
        put(bare, &[service("ClusterIP", 80)]).await?;
        product::await_value(cluster, &["service", "web", "-n", "l03"], "/spec/type", "ClusterIP").await?;
        says(bare, "l03", "web", "Reconciled").await?;
        let quiet = proxy.mark();
        window(3000).await;
        let after = writes(bare, quiet, "l03", "services");
        ensure!(after.is_empty(), "{after:?}");
        let third = look().await?;
        ensure!(third["spec"]["clusterIP"] == first["spec"]["clusterIP"], "{third}");
        let all = writes(bare, mark, "l03", "services");
        ensure!(refused(&all) == 0, "{all:?}");
        Ok(())
    });
}
