//! An add-on puts something into every child, and it stays.

use super::{ROUNDS, child, deployment};
use crate::spec_on_real::on_bare;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use windlass_testing::product::{self, DEADLINE};
use windlass_testing::{ControlPlane, eventually};

/// Adds an annotation and a second container to every Deployment of a namespace.
fn policy(namespace: &str) -> Value {
    let metadata = json!({"name": namespace});
    let rule = json!({
        "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["deployments"],
    });
    let expression = r#"Object{metadata: Object.metadata{annotations: {"inject/x": "y"}},
        spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
            containers: [Object.spec.template.spec.containers{name: "sidecar", image: "sidecar:1"}]}}}}"#;
    let place = json!({"matchLabels": {"kubernetes.io/metadata.name": namespace}});
    let kind = "MutatingAdmissionPolicy";
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata,
        "spec": {
            "matchConstraints": {"resourceRules": [rule]}, "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}Binding"), "metadata": metadata,
        "spec": {"policyName": namespace, "matchResources": {"namespaceSelector": place}},
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [policy, binding]})
}

async fn decided_again(cluster: &ControlPlane, round: usize) -> Result<Value> {
    let web = ["hostiles.hostile.windlass.test", "web", "-n", "a07"];
    let told = json!({"spec": {"told": {"status": {"told": {"round": round}}}}}).to_string();
    cluster
        .kubectl(&["patch", web[0], web[1], "-n", "a07", "--type=merge", "-p", &told])
        .await?;
    product::await_value(cluster, &web, "/status/told/round", round).await?;
    product::await_value(cluster, &web, "/status/conditions/0/reason", "Reconciled").await?;
    product::get(cluster, &["deployment", "web", "-n", "a07"]).await
}

fn ensure_injected(deployment: &Value) -> Result<()> {
    let containers = deployment["spec"]["template"]["spec"]["containers"].as_array().cloned();
    let names: Vec<Value> = containers
        .unwrap_or_default()
        .iter()
        .map(|one| one["name"].clone())
        .collect();
    ensure!(names.len() == 2 && names.contains(&json!("sidecar")), "{names:?}");
    ensure!(
        deployment["metadata"]["annotations"]["inject/x"] == "y",
        "{}",
        deployment["metadata"]
    );
    Ok(())
}

#[test]
fn a_07_what_an_add_on_puts_into_a_child_stays_and_nothing_is_written_again() {
    on_bare(async |bare| {
        let cluster = &bare.cluster;
        let deployments = json!({"group": "apps", "version": "v1", "kind": "Deployment", "plural": "deployments"});
        let settings = json!({"describe": "told", "manifest": {"children": [deployments]}});
        bare.take_up("a07", windlass_artifacts::HOSTILE, &json!({"settings": settings}))
            .await?;
        cluster.apply(&policy("a07").to_string()).await?;
        let probe = [
            "create",
            "deployment",
            "probe",
            "-n",
            "a07",
            "--image=probe:1",
            "--dry-run=server",
            "-o",
            "json",
        ];
        eventually(DEADLINE, "the policy holds", async || {
            let made: Value = serde_json::from_str(&cluster.kubectl(&probe).await?)?;
            ensure_injected(&made)
        })
        .await?;
        let wanted = deployment(
            "web",
            &json!({"name": "web", "image": "web:1", "ports": [{"containerPort": 80}]}),
        );
        let primary = json!({
            "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile", "metadata": {"namespace": "a07", "name": "web"},
            "spec": {"told": {"children": [child(wanted)]}},
        });
        cluster.apply(&primary.to_string()).await?;
        let web = ["hostiles.hostile.windlass.test", "web", "-n", "a07"];
        product::await_value(cluster, &web, "/status/conditions/0/reason", "Reconciled").await?;
        let mut now = Value::Null;
        for round in 0..ROUNDS {
            now = decided_again(cluster, round).await?;
            ensure_injected(&now)?;
        }
        ensure!(now["metadata"]["generation"].as_i64() <= Some(2), "{}", now["metadata"]);
        let version = now["metadata"]["resourceVersion"].clone();
        cluster
            .kubectl(&["delete", "mutatingadmissionpolicybinding", "a07"])
            .await?;
        eventually(DEADLINE, "the policy is gone", async || {
            let made: Value = serde_json::from_str(&cluster.kubectl(&probe).await?)?;
            ensure!(ensure_injected(&made).is_err(), "it still holds");
            Ok(())
        })
        .await?;
        let now = decided_again(cluster, ROUNDS).await?;
        ensure_injected(&now)?;
        ensure!(now["metadata"]["resourceVersion"] == version, "it was written");
        let writes = cluster.audit().writes_by(product::HOST_USER)?.resource("deployments");
        let ours = writes.filter(|write| write.namespace == "a07");
        ensure!(ours.count() <= 3 && ours.verbs(&["delete"]).is_empty(), "{ours}");
        Ok(())
    });
}
