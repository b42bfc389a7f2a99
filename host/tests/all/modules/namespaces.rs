//! Shows on a whole control plane that namespaces go, with primaries in them and with their Reconciler (D-05).

use crate::scenarios::RUNTIME;
use crate::scenarios::real::PROGRAM;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use windlass_testing::product::{self, DEADLINE};
use windlass_testing::{ControlPlane, eventually};

/// Namespace of the Reconciler, and of one primary.
const LEAVING: &str = "leaving";
/// Namespace of two more primaries.
const OTHER: &str = "other";
/// Namespace of the last one.
const STAYING: &str = "staying";

#[test]
fn d_05_namespaces_go_with_primaries_that_have_a_finalizer_and_so_does_that_of_the_reconciler() {
    RUNTIME.block_on(async {
        play().await.unwrap_or_else(|error| panic!("{error:#}"));
    });
}

async fn play() -> Result<()> {
    let cluster = &ControlPlane::start().await?;
    let environment = product::account(cluster).await?;
    for crd in ["deploy/crds/reconcilers.yaml", "guests/hostile/crd.yaml"] {
        product::apply_file(cluster, crd).await?;
    }
    for namespace in [LEAVING, OTHER, STAYING] {
        cluster.kubectl(&["create", "namespace", namespace]).await?;
    }
    cluster.apply(&sources_are_readable().to_string()).await?;
    let roles = Command::new(PROGRAM)
        .args([
            "rbac",
            "--name",
            "hostile",
            "--namespace",
            LEAVING,
            windlass_artifacts::HOSTILE,
        ])
        .args(["--settings", &finalizing(cluster)?])
        .output()?;
    cluster.apply(&String::from_utf8(roles.stdout)?).await?;
    let _host = product::host(Path::new(PROGRAM), &environment, "host-of-namespaces.log")
        .arguments(["--source-namespace", LEAVING])
        .start()?;
    let from = format!("--from-file=module.wasm={}", windlass_artifacts::HOSTILE);
    cluster
        .kubectl(&["create", "configmap", "hostile", "-n", LEAVING, &from])
        .await?;
    let reconciler = json!({
        "apiVersion": "windlass.dev/v1alpha1", "kind": "Reconciler",
        "metadata": {"namespace": LEAVING, "name": "hostile"},
        "spec": {
            "source": {"configMap": {"name": "hostile"}}, "serviceAccountName": "hostile",
            "namespaces": [LEAVING, OTHER, STAYING], "settings": {"finalizes": true, "finalize": "done", "behaviour": "good"},
        },
    });
    cluster.apply(&reconciler.to_string()).await?;
    for (namespace, name) in [(LEAVING, "one"), (OTHER, "two"), (OTHER, "three"), (STAYING, "four")] {
        let primary = json!({
            "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
            "metadata": {"namespace": namespace, "name": name}, "spec": {},
        });
        cluster.apply(&primary.to_string()).await?;
        let arguments = ["hostiles.hostile.windlass.test", name, "-n", namespace];
        product::await_value(cluster, &arguments, "/status/conditions/0/reason", "Reconciled").await?;
    }

    // Without its ConfigMap the module runs on, and finalizes.
    cluster
        .kubectl(&["delete", "configmap", "hostile", "-n", LEAVING])
        .await?;
    let three = ["hostiles.hostile.windlass.test", "three", "-n", OTHER];
    cluster
        .kubectl(&["delete", three[0], "three", "-n", OTHER, "--wait=false"])
        .await?;
    product::await_gone(cluster, &three).await?;
    cluster.kubectl(&["delete", "namespace", OTHER, "--wait=false"]).await?;
    product::await_gone(cluster, &["namespace", OTHER]).await?;

    // With the namespace of the Reconciler go its account and the host's right to act as it, in an order that nobody
    // knows. Either the host is faster, or it says what a person has to do.
    cluster
        .kubectl(&["delete", "namespace", LEAVING, "--wait=false"])
        .await?;
    let mut asked = false;
    eventually(DEADLINE * 2, "the namespace of the Reconciler is gone", async || {
        let namespaces = product::get(cluster, &["namespaces"]).await?.to_string();
        if !namespaces.contains(&format!("\"name\":\"{LEAVING}\"")) {
            return Ok(());
        }
        let reconcilers = product::get(cluster, &["reconcilers", "-n", LEAVING])
            .await?
            .to_string();
        if !asked && reconcilers.contains("`windlass release hostile -n leaving`") {
            asked = true;
            let release = ["release", "hostile", "-n", LEAVING, "--yes"];
            let done = Command::new(PROGRAM)
                .args(release)
                .env("KUBECONFIG", cluster.kubeconfig())
                .output()?;
            ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
        anyhow::bail!("it is there; Reconcilers: {reconcilers}")
    })
    .await?;
    println!("a person had to release it: {asked}");
    let four = product::get(cluster, &["hostiles.hostile.windlass.test", "four", "-n", STAYING]).await?;
    ensure!(
        four["metadata"]["finalizers"].is_null(),
        "no finalizer of ours is left: {four}"
    );
    let children = product::get(
        cluster,
        &["configmaps", "-n", STAYING, "-l", "windlass.dev/reconciler=hostile"],
    )
    .await?;
    ensure!(
        children["items"].as_array().is_some_and(|items| !items.is_empty()),
        "children stay: {children}"
    );
    Ok(())
}

fn finalizing(cluster: &ControlPlane) -> Result<String> {
    let file = cluster.directory().join("finalizing.yaml");
    std::fs::write(&file, "finalizes: true")?;
    Ok(file.display().to_string())
}

/// What a namespace that brings modules gives the host.
fn sources_are_readable() -> Value {
    let metadata = json!({"namespace": LEAVING, "name": "windlass"});
    let group = "rbac.authorization.k8s.io";
    let role = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": metadata,
        "rules": [{"apiGroups": [""], "resources": ["configmaps", "serviceaccounts"], "verbs": ["get", "list", "watch"]}],
    });
    let binding = json!({
        "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "windlass"},
        "subjects": [{"kind": "ServiceAccount", "namespace": product::NAMESPACE, "name": "windlass"}],
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [role, binding]})
}
