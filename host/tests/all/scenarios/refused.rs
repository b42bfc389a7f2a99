//! The API server refuses a child: what is told then is about the generation that is there.

use super::play::{Play, condition};
use super::{RUNTIME, real};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::time::Duration;
use windlass_testing::eventually;

pub(super) async fn i_01_ready_never_belongs_to_an_older_generation(play: &Play) -> Result<()> {
    let primary = play.at("Hostile", "web");
    play.create(&play.object("Hostile", "web", &json!({}))).await?;
    play.reconciled("Hostile", "web").await?;
    play.patch(&primary, json!({"spec": {"behaviour": "refused-child"}}))
        .await?;
    let told = play.told("Hostile", "web", "ApplyRejected").await?;
    ensure!(
        condition(&told, "Ready")["status"] == "False",
        "Ready is {}",
        told["status"]
    );
    play.look("refused").await;
    play.patch(&primary, json!({"spec": {"behaviour": "good"}})).await?;
    play.reconciled("Hostile", "web").await?;
    play.look("cured").await;
    Ok(())
}

pub(super) async fn a_08_a_status_field_that_the_schema_lacks_is_named(play: &Play) -> Result<()> {
    let primary = play.at("Hostile", "web");
    play.create(&play.object("Hostile", "web", &json!({"behaviour": "attempts"})))
        .await?;
    let told = play.told("Hostile", "web", "SchemaDroppedFields").await?;
    let ready = condition(&told, "Ready");
    ensure!(
        ready["status"] == "False" && ready["message"].to_string().contains(".status.attempts"),
        "Ready is {ready}"
    );
    play.look("dropped").await;
    play.patch(&primary, json!({"spec": {"behaviour": "good"}})).await?;
    play.reconciled("Hostile", "web").await?;
    play.look("cured").await;
    Ok(())
}

/// Refuses Deployments of more than five replicas; a quota counts only how many Deployments there are.
fn policy(namespace: &str) -> Value {
    let metadata = json!({"name": namespace});
    let rule = json!({
        "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["deployments"],
    });
    let place = json!({"matchLabels": {"kubernetes.io/metadata.name": namespace}});
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": metadata,
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "object.spec.replicas <= 5", "message": "five are enough"}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata,
        "spec": {
            "policyName": namespace, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": place},
        },
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [policy, binding]})
}

fn quota(namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"namespace": namespace, "name": "none"},
        "spec": {"hard": {"count/deployments.apps": "0"}},
    })
}

/// Not in the table: the cluster in memory has neither quotas nor policies.
#[test]
fn i_01_who_waits_for_ready_waits_while_a_quota_or_a_policy_refuses_the_child() {
    RUNTIME.block_on(async {
        let played = i_01_on_real().await;
        played.unwrap_or_else(|error| panic!("{error:#}"));
    });
}

async fn i_01_on_real() -> Result<()> {
    let cluster = real().await.cluster;
    let play = Play::new(real().await, "i-01-refused", None);
    let namespace = play.namespace.as_str();
    let wait = async |timeout: &str| {
        let arguments = ["wait", "--for=condition=Ready", timeout, "-n", namespace, "nginx/web"];
        cluster.kubectl(&arguments).await
    };
    cluster.kubectl(&["create", "namespace", namespace]).await?;
    cluster.apply(&quota(namespace).to_string()).await?;
    let used = [
        "get",
        "resourcequota",
        "-n",
        namespace,
        "none",
        "-o=jsonpath={.status.hard}",
    ];
    eventually(Duration::from_secs(30), "the quota is counted", async || {
        let status = cluster.kubectl(&used).await?;
        ensure!(status.contains("deployments"), "{status:?}");
        Ok(())
    })
    .await?;
    play.create(&play.object("Nginx", "web", &json!({"replicas": 1})))
        .await?;
    let told = play.told("Nginx", "web", "ApplyRejected").await?;
    let ready = condition(&told, "Ready");
    ensure!(
        ready["status"] == "False" && ready["message"].to_string().contains("exceeded quota"),
        "{ready}"
    );
    ensure!(wait("--timeout=2s").await.is_err(), "it was ready without a Deployment");
    cluster
        .kubectl(&["delete", "resourcequota", "-n", namespace, "none"])
        .await?;
    play.reconciled("Nginx", "web").await?;
    wait("--timeout=10s").await?;

    cluster.apply(&policy(namespace).to_string()).await?;
    let six = json!({"spec": {"replicas": 6}}).to_string();
    let deployment = [
        "patch",
        "deployment",
        "-n",
        namespace,
        "web-deploy",
        "--dry-run=server",
        "-p",
        &six,
    ];
    eventually(Duration::from_secs(30), "the policy holds", async || {
        ensure!(cluster.kubectl(&deployment).await.is_err(), "six are taken");
        Ok(())
    })
    .await?;
    play.patch(&play.at("Nginx", "web"), json!({"spec": {"replicas": 6}}))
        .await?;
    ensure!(
        wait("--timeout=3s").await.is_err(),
        "the old generation's Ready was taken for the new one"
    );
    let told = play.told("Nginx", "web", "ApplyRejected").await?;
    let ready = condition(&told, "Ready");
    ensure!(
        ready["status"] == "False" && ready["message"].to_string().contains("five are enough"),
        "{ready}"
    );
    play.until(&play.at("Deployment", "web-deploy"), "/spec/replicas", 1)
        .await?;
    cluster
        .kubectl(&["delete", "validatingadmissionpolicybinding", namespace])
        .await?;
    play.reconciled("Nginx", "web").await?;
    play.until(&play.at("Deployment", "web-deploy"), "/spec/replicas", 6)
        .await?;
    wait("--timeout=10s").await?;
    Ok(())
}
