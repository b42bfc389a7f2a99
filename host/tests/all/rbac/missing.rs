//! Shows that whatever is missing is named, with the command that grants it.

use super::on_real;
use crate::scenarios::play::Play;
use crate::scenarios::real::PROGRAM;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use windlass_testing::product::{self, DEADLINE, NAMESPACE};
use windlass_testing::{ControlPlane, eventually};

/// What a person is told to do, with the module's file in the place of `MODULE`.
const COMMAND: &str = "`windlass rbac MODULE [--settings FILE] --name poor -n windlass-system --for-namespace rbac-poor | kubectl apply --server-side -f -`";
/// The same for the consent of the account.
const CONSENT: [&str; 7] = [
    "annotate",
    "serviceaccount",
    "poor",
    "-n",
    NAMESPACE,
    "--overwrite",
    "windlass.dev/reconcilers=poor",
];

#[test]
fn a_reconciler_without_account_consent_or_rights_waits_and_says_what_is_missing() {
    on_real(async |stage| {
        let cluster = stage.cluster;
        cluster.kubectl(&["create", "namespace", "rbac-poor"]).await?;
        let reconciler = json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "Reconciler",
            "metadata": {"namespace": NAMESPACE, "name": "poor"},
            "spec": {
                "source": {"configMap": {"name": "hostile"}}, "serviceAccountName": "poor", "namespaces": ["rbac-poor"],
                // Whoever writes no status may share the primaries of another one.
                "settings": {"describe": "no-status"},
            },
        });
        cluster.apply(&reconciler.to_string()).await?;
        told(cluster, "ServiceAccount windlass-system/poor does not exist").await?;
        told(cluster, COMMAND).await?;
        cluster
            .kubectl(&["create", "serviceaccount", "poor", "-n", NAMESPACE])
            .await?;
        told(
            cluster,
            "does not consent; annotate it with windlass.dev/reconcilers: \"poor\"",
        )
        .await?;
        told(cluster, &format!("`kubectl {}`", CONSENT.join(" "))).await?;
        cluster.kubectl(&CONSENT).await?;
        told(cluster, "the host may not act as the ServiceAccount").await?;
        told(cluster, COMMAND).await?;
        cluster.apply(&impersonation().to_string()).await?;
        told(
            cluster,
            "get,list,watch hostiles.hostile.windlass.test in namespace rbac-poor",
        )
        .await?;
        told(cluster, COMMAND).await?;
        for other in ["nginx", "friend"] {
            product::await_reconciler(cluster, other, "Ready", "True").await?;
        }
        Play::new(stage, "rbac-meanwhile", None).nginx("web", 1).await?;
        let settings = tempfile::NamedTempFile::new()?;
        std::fs::write(&settings, "describe: no-status")?;
        let roles = std::process::Command::new(PROGRAM)
            .args([
                "rbac",
                windlass_artifacts::HOSTILE,
                "--settings",
                &settings.path().display().to_string(),
                "--name",
                "poor",
                "--for-namespace",
                "rbac-poor",
            ])
            .output()?;
        cluster.apply(&String::from_utf8(roles.stdout)?).await?;
        product::await_reconciler(cluster, "poor", "Ready", "True").await?;
        cluster
            .kubectl(&["delete", "reconciler", "-n", NAMESPACE, "poor"])
            .await?;
        Ok(())
    });
}

/// Lets the host act as the account, which still may do nothing by itself.
fn impersonation() -> Value {
    let metadata = json!({"namespace": NAMESPACE, "name": "windlass:poor:impersonate"});
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata,
        "rules": [{
            "apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"], "resourceNames": ["poor"],
        }],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "windlass:poor:impersonate"},
        "subjects": [{"kind": "ServiceAccount", "namespace": NAMESPACE, "name": "windlass"}],
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [role, binding]})
}

/// Waits until the Reconciler says why it is not permitted.
async fn told(cluster: &ControlPlane, words: &str) -> Result<()> {
    eventually(DEADLINE, words, async || {
        let object = product::get(cluster, &["reconciler", "-n", NAMESPACE, "poor"]).await?;
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let permitted = conditions.iter().find(|condition| condition["type"] == "Permitted");
        let said = permitted.map(|condition| (condition["status"].clone(), condition["message"].to_string()));
        let (status, message) = said.unwrap_or_default();
        ensure!(
            status == "False" && unquoted(&message).contains(words),
            "{}",
            object["status"]
        );
        Ok(())
    })
    .await
}

fn unquoted(text: &str) -> String {
    text.replace("\\\"", "\"")
}
