//! Puts the product's own files into a cluster as a user would, and looks at what is there.

use crate::{ControlPlane, HostCommand, InClusterEnvironment, eventually};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long anything may take that a person would wait for.
pub const DEADLINE: Duration = Duration::from_secs(60);
/// The host's namespace and ServiceAccount, as the shipped manifests name them.
pub const NAMESPACE: &str = "windlass-system";
/// The user that the audit log names for the host.
pub const HOST_USER: &str = "system:serviceaccount:windlass-system:windlass";
const ACCOUNT: &str = "windlass";

/// A file of this repository.
pub fn file(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

/// Applies a file of this repository.
pub async fn apply_file(cluster: &ControlPlane, path: &str) -> Result<()> {
    let text = std::fs::read_to_string(file(path)).with_context(|| format!("{path} cannot be read"))?;
    cluster
        .apply(&text)
        .await
        .with_context(|| format!("{path} was not taken"))?;
    Ok(())
}

/// Makes the host's namespace, account and roles; gives what its pod would have.
pub async fn account(cluster: &ControlPlane) -> Result<InClusterEnvironment> {
    for path in ["namespace.yaml", "serviceaccount.yaml", "roles.yaml", "admission.yaml"] {
        apply_file(cluster, &format!("deploy/kustomize/{path}")).await?;
    }
    cluster
        .in_cluster_environment(NAMESPACE, ACCOUNT, &cluster.directory().join("host-account"))
        .await
}

/// Drops a module in: a ConfigMap with a label, and nothing else.
pub async fn drop_in(cluster: &ControlPlane, name: &str, module: &[u8], settings: &str) -> Result<()> {
    use base64::Engine;
    let data = if settings.is_empty() {
        Value::Null
    } else {
        serde_json::json!({"settings.yaml": settings})
    };
    let config_map = serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": NAMESPACE, "name": name, "labels": {"windlass.dev/module": "true"}},
        "binaryData": {"module.wasm": base64::engine::general_purpose::STANDARD.encode(module)},
        "data": data,
    });
    cluster.apply(&config_map.to_string()).await?;
    Ok(())
}

/// One object as JSON.
pub async fn get(cluster: &ControlPlane, arguments: &[&str]) -> Result<Value> {
    let arguments: Vec<&str> = ["get"].iter().chain(arguments).copied().chain(["-o", "json"]).collect();
    Ok(serde_json::from_str(&cluster.kubectl(&arguments).await?)?)
}

/// Waits until a value of an object is this one.
pub async fn await_value(
    cluster: &ControlPlane,
    arguments: &[&str],
    pointer: &str,
    wanted: impl Into<Value>,
) -> Result<Value> {
    let wanted = wanted.into();
    let what = format!("{} has {wanted} at {pointer}", arguments.join(" "));
    eventually(DEADLINE, &what, async || {
        let object = get(cluster, arguments).await?;
        let found = object.pointer(pointer).cloned().unwrap_or(Value::Null);
        ensure!(found == wanted, "{pointer} is {found} of {}", object["status"]);
        Ok(object)
    })
    .await
}

/// The status of a condition of a Reconciler.
pub fn condition(object: &Value, type_: &str) -> String {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let mut found = conditions.filter(|condition| condition["type"] == type_);
    found
        .next()
        .and_then(|condition| condition["status"].as_str())
        .unwrap_or("missing")
        .to_owned()
}

/// Waits until a Reconciler has a condition.
pub async fn await_reconciler(cluster: &ControlPlane, name: &str, type_: &str, wanted: &str) -> Result<Value> {
    eventually(
        DEADLINE,
        &format!("Reconciler {name} has {type_}={wanted}"),
        async || {
            let object = get(cluster, &["reconciler", "-n", NAMESPACE, name]).await?;
            let found = condition(&object, type_);
            ensure!(found == wanted, "{type_} is {found} in {}", object["status"]);
            Ok(object)
        },
    )
    .await
}

/// Waits until something is gone.
pub async fn await_gone(cluster: &ControlPlane, arguments: &[&str]) -> Result<()> {
    eventually(DEADLINE, &format!("{} is gone", arguments.join(" ")), async || {
        let arguments: Vec<&str> = ["get"]
            .iter()
            .chain(arguments)
            .copied()
            .chain(["--ignore-not-found", "-o", "name"])
            .collect();
        let left = cluster.kubectl(&arguments).await?;
        ensure!(left.trim().is_empty(), "still there: {}", left.trim());
        Ok(())
    })
    .await
}

/// Waits until so many pods with a label run.
pub async fn await_running(cluster: &ControlPlane, label: &str, count: usize) -> Result<()> {
    eventually(DEADLINE, &format!("{count} pods with {label} run"), async || {
        let pods = get(cluster, &["pods", "-l", label]).await?;
        let pods = pods["items"].as_array().cloned().unwrap_or_default();
        let running = pods.iter().filter(|pod| pod["status"]["phase"] == "Running").count();
        ensure!(
            pods.len() == count && running == count,
            "{running} of {} run",
            pods.len()
        );
        Ok(())
    })
    .await
}

/// Applies the account and the roles of a module with these settings, as `windlass rbac` prints them.
///
/// # Errors
/// When the module is refused, or the roles are.
pub async fn grant(cluster: &ControlPlane, program: &Path, name: &str, module: &Path, settings: &str) -> Result<()> {
    let file = cluster.directory().join(format!("settings-of-{name}.yaml"));
    std::fs::write(&file, settings)?;
    let output = tokio::process::Command::new(program)
        .args(["rbac", "--name", name, "--settings"])
        .args([&file, module])
        .output()
        .await?;
    ensure!(
        output.status.success(),
        "windlass rbac: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    cluster.apply(&String::from_utf8(output.stdout)?).await?;
    Ok(())
}

/// The host, run as in a pod: its account's token and the in-cluster variables, and nothing else.
pub fn host(program: &Path, environment: &InClusterEnvironment, log: &str) -> HostCommand {
    HostCommand::new(program, log_file(log))
        .arguments(["run", "--listen", "127.0.0.1:0"])
        .in_cluster(environment)
}

/// Where a host's log is. It outlives the control plane's directory, so that it can be read after a failure.
pub fn log_file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("windlass-{}-{name}", std::process::id()))
}
