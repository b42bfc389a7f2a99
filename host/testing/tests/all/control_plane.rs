//! Starts a whole control plane, uses all that the crate offers on it, and looks that nothing is left.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use windlass_testing::{ControlPlane, HostCommand, InClusterEnvironment, eventually};

const LONG_ENOUGH: Duration = Duration::from_secs(60);

const HOST: &str = "system:serviceaccount:windlass-system:windlass";
const GUEST: &str = "system:serviceaccount:windlass-system:nginx";

const ACCOUNTS_AND_RIGHTS: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: windlass-system}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: windlass, namespace: windlass-system}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: nginx, namespace: windlass-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: as-nginx, namespace: windlass-system}
rules:
- {apiGroups: [''], resources: [serviceaccounts], verbs: [impersonate], resourceNames: [nginx]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: as-nginx, namespace: windlass-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: as-nginx}
subjects: [{kind: ServiceAccount, name: windlass, namespace: windlass-system}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: nginx, namespace: default}
rules:
- {apiGroups: [''], resources: [configmaps], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: nginx, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: nginx}
subjects: [{kind: ServiceAccount, name: nginx, namespace: windlass-system}]
";

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'nginx:1.7.9'}]}
";

#[tokio::test]
async fn a_control_plane_runs_pods_counts_writes_and_leaves_nothing_behind() -> Result<()> {
    let control_plane = ControlPlane::start().await?;
    let directory = control_plane.directory().to_owned();

    a_deployment_gets_running_pods_and_goes_again(&control_plane).await?;
    what_a_service_account_does_is_counted(&control_plane).await?;
    let error = control_plane
        .kubectl(&["get", "pod", "nobody"])
        .await
        .unwrap_err()
        .to_string();
    ensure!(
        error.contains("kubectl get pod nobody") && error.contains("not found"),
        "{error}"
    );
    let version = control_plane.client().await?.apiserver_version().await?;
    ensure!(version.git_version.starts_with("v1."), "{version:?}");

    ensure!(
        !processes_naming(&directory)?.is_empty(),
        "the processes cannot be seen in /proc"
    );
    drop(control_plane);
    let left = processes_naming(&directory)?;
    ensure!(left.is_empty(), "still running: {left:#?}");
    ensure!(!directory.exists(), "{} is still there", directory.display());
    Ok(())
}

async fn a_deployment_gets_running_pods_and_goes_again(control_plane: &ControlPlane) -> Result<()> {
    control_plane.apply(DEPLOYMENT).await?;
    eventually(LONG_ENOUGH, "the Deployment is 2/2", async || {
        let ready = control_plane
            .kubectl(&["get", "deployment", "web", "-o=jsonpath={.status.readyReplicas}"])
            .await?;
        ensure!(ready == "2", "{ready:?} replicas are ready");
        Ok(())
    })
    .await?;
    control_plane
        .kubectl(&["delete", "deployment", "web", "--wait=false"])
        .await?;
    eventually(LONG_ENOUGH, "its pods are gone", async || {
        let pods = control_plane.kubectl(&["get", "pods", "-o=name"]).await?;
        ensure!(pods.is_empty(), "{pods}");
        Ok(())
    })
    .await
}

/// A process with nothing but its ServiceAccount writes as itself (refused) and as an account that it may act as.
async fn what_a_service_account_does_is_counted(control_plane: &ControlPlane) -> Result<()> {
    control_plane.apply(ACCOUNTS_AND_RIGHTS).await?;
    let files = tempfile::tempdir()?;
    let environment = control_plane
        .in_cluster_environment("windlass-system", "windlass", files.path())
        .await?;
    eprintln!("the ServiceAccount's files: {:?}", environment.mounting());
    let kubectl = control_plane.directory().join("kubectl");
    let log = files.path().join("log");

    let mark = control_plane.audit().mark()?;
    let as_itself = run(
        &kubectl,
        &environment,
        &log,
        &["create", "configmap", "a", "-n=default"],
    )
    .await?;
    ensure!(
        as_itself.contains(HOST) && as_itself.contains("forbidden"),
        "{as_itself}"
    );
    // kubectl stops looking for a pod's files once it is to act as somebody else.
    let kubeconfig = format!("--kubeconfig={}", environment.kubeconfig().display());
    let as_guest = ["create", "configmap", "b", "-n=default", "--as", GUEST, &kubeconfig];
    let as_guest = run(&kubectl, &environment, &log, &as_guest).await?;
    ensure!(as_guest.contains("configmap/b created"), "{as_guest}");

    let writes = eventually(LONG_ENOUGH, "both writes are in the audit log", async || {
        let writes = control_plane.audit().writes_since(mark)?;
        ensure!(writes.count() >= 2, "{writes}");
        Ok(writes)
    })
    .await?;
    ensure!(
        writes.by(HOST).verbs(&["create"]).resource("configmaps").count() == 2,
        "{writes}"
    );
    ensure!(
        writes.impersonating(GUEST).filter(|write| write.code == 201).count() == 1,
        "{writes}"
    );
    ensure!(
        control_plane
            .audit()
            .writes_since(control_plane.audit().mark()?)?
            .is_empty(),
        "{writes}"
    );
    Ok(())
}

async fn run(program: &Path, environment: &InClusterEnvironment, log: &Path, arguments: &[&str]) -> Result<String> {
    let mut process = HostCommand::new(program, log)
        .arguments(arguments)
        .in_cluster(environment)
        .start()?;
    eventually(LONG_ENOUGH, "kubectl has ended", async || {
        process.exited()?.context("it is running")
    })
    .await?;
    process.logs()
}

#[tokio::test]
async fn an_api_server_alone_stores_objects_and_ends_when_its_holder_is_killed() -> Result<()> {
    let control_plane = ControlPlane::start_api_only().await?;
    control_plane.apply(DEPLOYMENT).await?;
    let directory = control_plane.directory().to_owned();
    // What the kernel does when a test process is killed: the script is gone, and everything with it.
    let script = control_plane
        .kubectl(&["get", "namespaces"])
        .await
        .map(|_| script_of(&directory))??;
    ensure!(
        Command::new("sh")
            .args(["-c", &format!("kill -KILL {script}")])
            .status()?
            .success(),
        "kill failed"
    );
    eventually(LONG_ENOUGH, "nothing runs any more", async || {
        let left = processes_naming(&directory)?;
        ensure!(left.is_empty(), "{left:#?}");
        Ok(())
    })
    .await?;
    std::fs::remove_dir_all(directory)?;
    Ok(())
}

/// The pid of run.sh for this directory.
fn script_of(directory: &Path) -> Result<u32> {
    let processes = processes_naming(directory)?;
    let script = processes.iter().find(|(_, command)| command.contains("run.sh"));
    Ok(script.with_context(|| format!("no run.sh among {processes:?}"))?.0)
}

/// Every running process with this directory in its command line.
fn processes_naming(directory: &Path) -> Result<Vec<(u32, String)>> {
    let directory = directory.display().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let Ok(pid) = entry?.file_name().to_string_lossy().parse() else {
            continue;
        };
        // A process may end between the listing and the look.
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&words).replace('\0', " ");
        if command.contains(&directory) {
            found.push((pid, command));
        }
    }
    Ok(found)
}
