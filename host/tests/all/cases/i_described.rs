//! Group I: `kubectl describe` says what is wrong with a primary and what to do, to whoever cannot read the host's log.

use crate::spec_on_real::{Bare, on_bare};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::time::Duration;
use windlass_testing::eventually;
use windlass_testing::product::{self, NAMESPACE};

const HOSTILES: &str = "hostiles.hostile.windlass.test";

/// What `kubectl describe` says, in its two parts, as one line each: long sentences are broken there.
async fn described(bare: &Bare, namespace: &str, name: &str) -> Result<(String, String)> {
    let text = bare
        .cluster
        .kubectl(&["describe", HOSTILES, name, "-n", namespace])
        .await?;
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (status, events) = text.split_once("\nEvents:").unwrap_or((&text, ""));
    Ok((words(status), words(events)))
}

/// Waits until both parts say all of these words.
async fn says(bare: &Bare, namespace: &str, name: &str, wanted: &[&str]) -> Result<()> {
    let what = format!("kubectl describe {name} says all that is needed");
    eventually(Duration::from_secs(40), &what, async || {
        let (status, events) = described(bare, namespace, name).await?;
        for words in wanted {
            ensure!(status.contains(words), "the conditions do not say {words:?}: {status}");
            ensure!(events.contains(words), "the Events do not say {words:?}: {events}");
        }
        Ok(())
    })
    .await
}

fn hostile(namespace: &str, name: &str, spec: &Value) -> String {
    json!({
        "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
        "metadata": {"namespace": namespace, "name": name}, "spec": spec,
    })
    .to_string()
}

#[test]
fn i_03_describe_tells_object_cause_and_next_step_without_the_hosts_log() {
    on_bare(async |bare| {
        let (cluster, namespace) = (&bare.cluster, "described");
        bare.take_up(namespace, windlass_artifacts::HOSTILE, &json!({})).await?;

        let stranger = [
            "create",
            "configmap",
            "taken",
            "-n",
            namespace,
            "--from-literal=a=theirs",
        ];
        cluster.kubectl(&stranger).await?;
        cluster
            .apply(&hostile(namespace, "taken", &json!({"behaviour": "good"})))
            .await?;
        let wanted = [
            "OwnershipConflict",
            "ConfigMap described/taken exists already and is not ours (owner none, written by kubectl-create)",
            "delete or rename it, have the guest choose another name, or let it be taken over by spec.adoption",
        ];
        says(bare, namespace, "taken", &wanted).await?;

        cluster
            .apply(&hostile(namespace, "traps", &json!({"behaviour": "trap"})))
            .await?;
        let wanted = [
            "GuestTrapped",
            "traps on purpose",
            "hostile 0.1.0",
            "tried again",
            "`windlass rollback described -n windlass-system`",
        ];
        says(bare, namespace, "traps", &wanted).await?;

        cluster
            .apply(&hostile(
                namespace,
                "undeclared",
                &json!({"behaviour": "forbidden-child"}),
            ))
            .await?;
        let wanted = ["GuestOutputRejected", "Secret", "undeclared"];
        says(bare, namespace, "undeclared", &wanted).await?;

        let binding = format!("windlass:{NAMESPACE}:described:write");
        cluster.kubectl(&["delete", "clusterrolebinding", &binding]).await?;
        // Whoever may not write the status any more says it in Events alone.
        let status = json!([
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
             "metadata": {"namespace": namespace, "name": "status"},
             "rules": [{"apiGroups": ["hostile.windlass.test"], "resources": ["hostiles/status"], "verbs": ["patch"]}]},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
             "metadata": {"namespace": namespace, "name": "status"},
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "status"},
             "subjects": [{"kind": "ServiceAccount", "name": "described", "namespace": NAMESPACE}]},
        ]);
        cluster
            .apply(&json!({"apiVersion": "v1", "kind": "List", "items": status}).to_string())
            .await?;
        cluster
            .apply(&hostile(namespace, "forbidden", &json!({"behaviour": "good"})))
            .await?;
        let wanted = [
            "ApplyForbidden",
            "ConfigMap described/forbidden: ",
            "cannot create resource \"configmaps\"",
            "grant it with `windlass rbac MODULE [--settings FILE] --name described -n windlass-system --for-namespace \
             described | kubectl apply --server-side -f -`",
        ];
        says(bare, namespace, "forbidden", &wanted).await?;
        let reconciler = product::get(cluster, &["reconciler", "described", "-n", NAMESPACE]).await?;
        ensure!(product::condition(&reconciler, "Permitted") == "False", "{reconciler}");
        Ok(())
    });
}
