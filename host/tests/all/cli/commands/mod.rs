//! Runs the commands of people against real API servers: one with a host that answers, one on which nobody does.

mod push;
mod modules;
mod rollback;
mod approve;
mod release;
mod uninstall;
mod explain;

use crate::scenarios::RUNTIME;
use crate::scenarios::real::PROGRAM;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Output;
use tokio::sync::OnceCell;
use windlass_testing::product::{self, DEADLINE, NAMESPACE};
use windlass_testing::{ControlPlane, HostProcess};

/// An API server with the CRDs, and somebody at a terminal.
pub(crate) struct Desk {
    cluster: ControlPlane,
    files: PathBuf,
    /// Ends with this value at the latest.
    _host: Option<HostProcess>,
}

static WITH_HOST: OnceCell<Result<Desk>> = OnceCell::const_new();
static WITHOUT_HOST: OnceCell<Result<Desk>> = OnceCell::const_new();

/// One where a host runs, for all tests of this process.
async fn with_host() -> &'static Desk {
    let desk = WITH_HOST.get_or_init(|| Desk::new(true)).await;
    desk.as_ref().unwrap_or_else(|error| panic!("no desk: {error:#}"))
}

/// One where none does, for all tests of this process.
async fn without_host() -> &'static Desk {
    let desk = WITHOUT_HOST.get_or_init(|| Desk::new(false)).await;
    desk.as_ref().unwrap_or_else(|error| panic!("no desk: {error:#}"))
}

/// Plays at a desk.
fn play(test: impl AsyncFnOnce() -> Result<()>) {
    RUNTIME.block_on(async {
        let mut played = test().await;
        for desk in [&WITH_HOST, &WITHOUT_HOST]
            .into_iter()
            .filter_map(OnceCell::get)
            .flatten()
        {
            played = played.and_then(|()| desk.cluster.check_identities());
        }
        played.unwrap_or_else(|error| panic!("{error:#}"));
    });
}

impl Desk {
    /// Nothing is on it yet.
    async fn empty() -> Result<Self> {
        let cluster = ControlPlane::start_api_only().await?;
        let files = cluster.directory().to_owned();
        let _host = None;
        Ok(Self { cluster, files, _host })
    }

    async fn new(has_host: bool) -> Result<Self> {
        let mut desk = Self::empty().await?;
        desk.install().await?;
        if has_host {
            desk._host = Some(desk.host("host-of-commands.log").await?);
        }
        Ok(desk)
    }

    /// The CRDs and the host's namespace, account and roles.
    async fn install(&self) -> Result<()> {
        product::account(&self.cluster).await?;
        for file in [
            "deploy/crds/reconcilers.yaml",
            "deploy/samples/nginx/crd.yaml",
            "guests/hostile/crd.yaml",
        ] {
            product::apply_file(&self.cluster, file).await?;
        }
        Ok(())
    }

    /// Starts a host.
    async fn host(&self, log: &str) -> Result<HostProcess> {
        let environment = product::account(&self.cluster).await?;
        let mut host = product::host(Path::new(PROGRAM), &environment, log).start()?;
        host.ready(DEADLINE).await?;
        Ok(host)
    }

    /// Runs the program on this cluster as admin.
    async fn run(&self, line: &str) -> Result<Output> {
        self.run_as(self.cluster.kubeconfig(), line).await
    }

    /// Runs the program with another kubeconfig.
    async fn run_as(&self, kubeconfig: &Path, line: &str) -> Result<Output> {
        let mut command = tokio::process::Command::new(PROGRAM);
        command
            .args(line.split_whitespace())
            .env("KUBECONFIG", kubeconfig)
            .env("RUST_BACKTRACE", "1")
            .current_dir(&self.files)
            .stdin(std::process::Stdio::null())
            .kill_on_drop(true);
        Ok(tokio::time::timeout(DEADLINE * 2, command.output())
            .await
            .with_context(|| format!("{line} does not end"))??)
    }

    /// A kubeconfig of a ServiceAccount.
    async fn kubeconfig_of(&self, namespace: &str, name: &str) -> Result<String> {
        let token = self.cluster.service_account_token(namespace, name).await?;
        let all = self
            .cluster
            .kubectl(&["config", "view", "--minify", "--raw", "-o", "json"])
            .await?;
        let mut all: Value = serde_json::from_str(&all)?;
        all["users"][0]["user"] = json!({"token": token});
        Ok(all.to_string())
    }

    /// What it prints, if it succeeds.
    async fn done(&self, line: &str) -> Result<String> {
        let output = self.run(line).await?;
        ensure!(output.status.success(), "{line}: {}", err(&output));
        ensure!(!err(&output).contains("panicked"), "{line}: {}", err(&output));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// What it says on standard error, which ends with an error and a failure.
    async fn refused(&self, line: &str) -> Result<String> {
        let output = self.run(line).await?;
        let said = err(&output);
        ensure!(
            output.status.code() == Some(1),
            "{line} ended with {}: {said}",
            output.status
        );
        let last = said.lines().rfind(|line| line.starts_with("error: "));
        ensure!(last.is_some() && !said.contains("panicked"), "{line}: {said}");
        Ok(said)
    }

    /// One object, none if it is not there.
    async fn get(&self, arguments: &str) -> Result<Option<Value>> {
        let all: Vec<&str> = ["get", "-o", "json", "--ignore-not-found", "--show-managed-fields"]
            .into_iter()
            .chain(arguments.split_whitespace())
            .collect();
        let text = self.cluster.kubectl(&all).await?;
        Ok(if text.trim().is_empty() {
            None
        } else {
            Some(serde_json::from_str(&text)?)
        })
    }

    async fn there(&self, arguments: &str) -> Result<Value> {
        self.get(arguments)
            .await?
            .with_context(|| format!("{arguments} is not there"))
    }

    async fn namespace(&self, name: &str) -> Result<()> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.cluster.apply(&namespace.to_string()).await?;
        Ok(())
    }

    /// Writes the status of a Reconciler as a host would.
    async fn status(&self, namespace: &str, name: &str, status: &Value) -> Result<()> {
        let patch = json!({"status": status}).to_string();
        let arguments = [
            "patch",
            "reconciler",
            name,
            "-n",
            namespace,
            "--subresource=status",
            "--type=merge",
            "-p",
            &patch,
        ];
        self.cluster.kubectl(&arguments).await?;
        Ok(())
    }

    /// The account and the roles that a module needs.
    async fn grant(&self, name: &str, module: &str) -> Result<()> {
        product::grant(&self.cluster, Path::new(PROGRAM), name, Path::new(module), "").await
    }
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A Reconciler as somebody would write it.
fn reconciler(namespace: &str, name: &str, spec: Value) -> Value {
    let mut all = json!({"source": {"configMap": {"name": name}}, "serviceAccountName": name});
    all.as_object_mut()
        .unwrap()
        .extend(spec.as_object().cloned().unwrap_or_default());
    json!({
        "apiVersion": "windlass.dev/v1alpha1", "kind": "Reconciler",
        "metadata": {"namespace": namespace, "name": name}, "spec": all,
    })
}
