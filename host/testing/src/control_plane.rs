//! Starts a control plane of its own for a test and ends it with the test.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::identities;
use crate::{AuditLog, InClusterEnvironment, Mark};

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/control-plane");

/// A running control plane, empty at first.
///
/// # Expected flow
/// [`ControlPlane::start`] builds what is missing (once on a machine, a quarter of an hour), takes about 5 s, and gives
/// a cluster in which a Deployment gets running pods.
///
/// # Guarantees
/// Nothing of it outlives this value or the test process: `run.sh` ends everything when its standard input ends.
/// Whatever the host did on it is in the table of [`identities`]: dropping it panics otherwise.
///
/// # Caveats
/// It takes about 600 MB of memory and both cores while it starts. Tests that do without cluster-wide state share one,
/// see [`ControlPlane::shared`].
#[derive(Debug)]
pub struct ControlPlane {
    directory: PathBuf,
    kubeconfig: PathBuf,
    /// None for one that somebody else started and will end.
    script: Option<Child>,
    /// Up to where the audit log was compared with the table of identities.
    compared: Mutex<Mark>,
}

impl ControlPlane {
    /// Starts a whole control plane: API server, controller manager, scheduler, and a node whose pods become Running.
    ///
    /// # Errors
    /// When something could not be built or started, with the end of the log of what is to blame.
    pub async fn start() -> Result<Self> {
        Self::start_with(&[]).await
    }

    /// Starts etcd and the API server alone: objects are stored and watched, and nothing acts on them.
    ///
    /// # Errors
    /// Like [`ControlPlane::start`].
    pub async fn start_api_only() -> Result<Self> {
        Self::start_with(&["--only-api"]).await
    }

    /// One that runs already in a directory, such as the development cluster; it is not ended from here.
    ///
    /// # Errors
    /// When there is none.
    pub fn attach(directory: impl Into<PathBuf>) -> Result<Self> {
        let directory = directory.into();
        let kubeconfig = directory.join("kubeconfig");
        if !kubeconfig.exists() {
            bail!("no control plane runs in {}", directory.display());
        }
        Ok(Self {
            kubeconfig,
            directory,
            script: None,
            compared: Mutex::new(Mark::BEGINNING),
        })
    }

    /// The same with an admission plugin that is off unless somebody asks for it.
    ///
    /// # Errors
    /// Like [`ControlPlane::start`].
    pub async fn start_api_only_with(admission_plugin: &str) -> Result<Self> {
        Self::start_with(&["--only-api", "--admission-plugin", admission_plugin]).await
    }

    /// The one whole control plane that all tests of this test process share, started by the first that asks.
    ///
    /// Each test keeps to namespaces of its own there. It ends with the process and is not dropped: whoever uses it asks
    /// [`ControlPlane::check_identities`] at the end.
    ///
    /// # Errors
    /// Like [`ControlPlane::start`].
    pub async fn shared() -> Result<&'static Self> {
        static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
        SHARED.get_or_try_init(Self::start).await
    }

    async fn start_with(options: &[&str]) -> Result<Self> {
        let build = Path::new(SCRIPTS).join("build.sh");
        // Its progress goes to the test's standard error, which the test harness does not hold back.
        let built = Command::new(&build).stdin(Stdio::null()).status().await;
        let built = built.with_context(|| format!("starting {}", build.display()))?;
        if !built.success() {
            bail!("{} failed ({built}), its output is above", build.display());
        }
        // Not removed from here: run.sh does that, also when this process is killed.
        let directory = tempfile::Builder::new()
            .prefix("windlass-control-plane-")
            .tempdir()?
            .keep();
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        tokio::task::spawn_blocking(move || Self::run(directory, &options)).await?
    }

    fn run(directory: PathBuf, options: &[String]) -> Result<Self> {
        let program = Path::new(SCRIPTS).join("run.sh");
        // A file and not a pipe: it can be written to for as long as the control plane runs, though nobody reads it.
        let messages = directory.join("run.log");
        let mut script = std::process::Command::new(&program)
            .arg("--dir")
            .arg(&directory)
            .arg("--temporary")
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&messages)?)
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let mut line = String::new();
        if let Some(output) = script.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let said = std::fs::read_to_string(&messages).unwrap_or_default();
        let Some(kubeconfig) = line.trim_end().strip_prefix("ready KUBECONFIG=") else {
            drop(script.stdin.take());
            let status = script.wait()?;
            bail!(
                "the control plane did not start ({status}), logs are in {}:\n{said}",
                directory.display()
            );
        };
        Ok(Self {
            kubeconfig: kubeconfig.into(),
            directory,
            script: Some(script),
            compared: Mutex::new(Mark::BEGINNING),
        })
    }

    /// The admin's kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Where the logs are, in `logs`, and whatever else the control plane keeps.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The log of what ServiceAccounts did, the host's among them.
    #[must_use]
    pub fn audit(&self) -> AuditLog {
        AuditLog::at(self.directory.join("audit.log"))
    }

    /// Compares what the host did since this was asked last with the table of [`identities`].
    ///
    /// # Errors
    /// When a request is in no row of the table, with all such requests.
    pub fn check_identities(&self) -> Result<()> {
        let mut compared = self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        identities::check(&self.audit().take_since(&mut compared)?)
    }

    /// A client with the admin's rights.
    ///
    /// # Errors
    /// When the kubeconfig cannot be read.
    pub async fn client(&self) -> Result<kube::Client> {
        let kubeconfig = Kubeconfig::read_from(&self.kubeconfig)?;
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(kube::Client::try_from(config)?)
    }

    /// Runs kubectl as admin and gives its standard output.
    ///
    /// # Errors
    /// When it fails, with the command and its standard error.
    pub async fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        self.kubectl_with_input(arguments, "").await
    }

    /// Runs kubectl with another kubeconfig, such as one that leads through a proxy.
    ///
    /// # Errors
    /// Like [`ControlPlane::kubectl`].
    pub async fn kubectl_with(&self, kubeconfig: &Path, arguments: &[&str]) -> Result<String> {
        self.run_kubectl(kubeconfig, arguments, "").await
    }

    /// Runs kubectl as admin with this text as standard input.
    ///
    /// # Errors
    /// Like [`ControlPlane::kubectl`].
    pub async fn kubectl_with_input(&self, arguments: &[&str], input: &str) -> Result<String> {
        self.run_kubectl(&self.kubeconfig, arguments, input).await
    }

    async fn run_kubectl(&self, kubeconfig: &Path, arguments: &[&str], input: &str) -> Result<String> {
        let mut kubectl = Command::new(self.directory.join("kubectl"));
        kubectl.arg("--kubeconfig").arg(kubeconfig).args(arguments);
        // Otherwise it keeps what it learned about an API server in the home folder, for ports that others reuse.
        kubectl.arg("--cache-dir").arg(self.directory.join("kubectl-cache"));
        output(kubectl, input).await
    }

    /// Applies these manifests server-side as admin, taking over what conflicts.
    ///
    /// # Errors
    /// Like [`ControlPlane::kubectl`].
    pub async fn apply(&self, yaml: &str) -> Result<String> {
        self.kubectl_with_input(&["apply", "--server-side", "--force-conflicts", "-f", "-"], yaml)
            .await
    }

    /// A token of this ServiceAccount, good for an hour.
    ///
    /// # Errors
    /// When there is no such ServiceAccount.
    pub async fn service_account_token(&self, namespace: &str, name: &str) -> Result<String> {
        let token = self
            .kubectl(&["create", "token", name, "--namespace", namespace])
            .await?;
        Ok(token.trim().to_owned())
    }

    /// Writes into `directory` what a pod of this ServiceAccount would find, and tells how to run a process with it.
    ///
    /// # Errors
    /// When there is no such ServiceAccount, or the files cannot be written.
    pub async fn in_cluster_environment(
        &self,
        namespace: &str,
        name: &str,
        directory: &Path,
    ) -> Result<InClusterEnvironment> {
        let token = self.service_account_token(namespace, name).await?;
        let authority = std::fs::read_to_string(self.directory.join("pki/ca.crt"))?;
        let server = self.kubectl(&[
            "config",
            "view",
            "--minify",
            "--output=jsonpath={.clusters[0].cluster.server}",
        ]);
        InClusterEnvironment::prepare(directory, &server.await?, &authority, namespace, &token)
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // The end of its standard input ends run.sh and everything below it.
        if self.script.is_none() {
            return;
        }
        let compared = self.check_identities();
        let Some(script) = &mut self.script else { return };
        drop(script.stdin.take());
        if let Err(error) = script.wait() {
            eprintln!(
                "the control plane in {} could not be awaited: {error}",
                self.directory.display()
            );
        }
        match compared {
            Err(error) if !std::thread::panicking() => panic!("{error:#}"),
            _ => {}
        }
    }
}

async fn output(mut command: Command, input: &str) -> Result<String> {
    let words: Vec<_> = command.as_std().get_args().map(OsStr::to_string_lossy).collect();
    // The first two and the last two words say where the cluster and the cache are.
    let shown = format!("kubectl {}", words[2..words.len() - 2].join(" "));
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn().with_context(|| format!("starting {shown}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A kubectl that ends early without reading is reported by its own words below.
        let _ = stdin.write_all(input.as_bytes()).await;
    }
    let output = child
        .wait_with_output()
        .await
        .with_context(|| format!("running {shown}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{shown}: {}: {}", output.status, said.trim_end());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{shown} printed something else than text"))
}
