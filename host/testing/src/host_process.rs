//! Runs a `windlass` process for a test, keeps its log, and ends it with the test.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use crate::{InClusterEnvironment, eventually};

/// Becomes the program, and leaves a watcher behind that kills it when standard input ends: when this process is gone.
const LIFELINE: &str = "exec 3<&0; (cat <&3 >/dev/null; kill -KILL $$) 2>/dev/null & exec 3<&- \"$@\" </dev/null";

/// What to run, and how.
#[derive(Debug)]
pub struct HostCommand {
    program: PathBuf,
    log: PathBuf,
    prefix: Vec<String>,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
}

impl HostCommand {
    /// Runs `program`, with both its outputs appended to the file `log`.
    pub fn new(program: impl Into<PathBuf>, log: impl Into<PathBuf>) -> Self {
        let (program, log) = (program.into(), log.into());
        Self {
            program,
            log,
            prefix: Vec::new(),
            arguments: Vec::new(),
            variables: Vec::new(),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.arguments
            .extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn variable(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.variables
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Runs it as if in a pod of that ServiceAccount. Without this (or a `KUBECONFIG` variable) it finds no cluster.
    #[must_use]
    pub fn in_cluster(mut self, environment: &InClusterEnvironment) -> Self {
        self.prefix = environment.prefix();
        environment
            .variables()
            .into_iter()
            .fold(self, |command, (name, value)| command.variable(name, value))
    }

    /// Starts it.
    ///
    /// # Errors
    /// When the program or the folder of the log is not there.
    pub fn start(&self) -> Result<HostProcess> {
        let program = self.program.display();
        // Checked here, since the shell that becomes the program could only say so in the log.
        if !self.program.is_file() {
            bail!("there is no program at {program}");
        }
        let log = fs::OpenOptions::new().create(true).append(true).open(&self.log);
        let log = log.with_context(|| format!("opening {}", self.log.display()))?;
        let child = Command::new("sh")
            .args(["-c", LIFELINE, "sh"])
            .args(&self.prefix)
            .arg(&self.program)
            .args(&self.arguments)
            .env_remove("KUBECONFIG")
            .env_remove("KUBERNETES_SERVICE_HOST")
            .env_remove("KUBERNETES_SERVICE_PORT")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {program}"))?;
        Ok(HostProcess {
            child,
            log: self.log.clone(),
        })
    }
}

/// A running host. Killed when dropped, and when the test process dies.
#[derive(Debug)]
pub struct HostProcess {
    child: Child,
    log: PathBuf,
}

impl HostProcess {
    /// The process id of the host itself.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it has ended, if it has.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn exited(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Kills it outright, as a machine that fails would.
    ///
    /// # Errors
    /// When the system does not let it.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to stop, as the kubelet would (SIGTERM), and gives how it ended.
    ///
    /// # Errors
    /// When it has not ended within `deadline`; it is then still running.
    pub async fn terminate(&mut self, deadline: Duration) -> Result<ExitStatus> {
        let pid = self.pid();
        // Not reaped before this returns, so the number cannot be somebody else's.
        let status = match self.exited()? {
            Some(status) => return Ok(status),
            None => Command::new("sh").args(["-c", &format!("kill -TERM {pid}")]).status()?,
        };
        if !status.success() {
            bail!("SIGTERM could not be sent to the host (process {pid}): {status}");
        }
        eventually(deadline, "the host has ended after SIGTERM", async || {
            self.exited()?
                .ok_or_else(|| anyhow!("process {pid} is running, log in {}", self.log.display()))
        })
        .await
    }

    /// All that it has written so far, and what earlier ones wrote into the same file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn logs(&self) -> Result<String> {
        let bytes = fs::read(&self.log).with_context(|| format!("reading {}", self.log.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Where its log is.
    #[must_use]
    pub fn log_path(&self) -> &Path {
        &self.log
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        // Both fail only for a process that has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

mod admin;
#[cfg(test)]
mod tests;
