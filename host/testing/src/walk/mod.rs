//! Plays the whole product once on a real control plane, as `make demo` shows it and a test asserts it.

mod steps;

use crate::product::{self, DEADLINE};
use crate::{ControlPlane, HostProcess, InClusterEnvironment};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The files of the modules that the walk drops in.
#[derive(Clone, Debug)]
pub struct Modules {
    /// The reference guest for `Nginx`.
    pub nginx: PathBuf,
    /// A second version of it, with another image.
    pub nginx_next: PathBuf,
    /// The reference guest for `MyCustomResource`.
    pub friend: PathBuf,
    /// A guest that behaves as its settings say, which is badly.
    pub hostile: PathBuf,
}

/// Names of the host's logs, before and after it was killed.
const LOGS: [&str; 2] = ["host.log", "host-again.log"];

/// A walk on a control plane: each step leaves the cluster as the next one needs it.
///
/// # Expected flow
/// [`Walk::begin`], then [`Walk::play`]; or the steps one by one, in their order.
///
/// # Errors
/// Every step ends with the first thing that is not as it must be.
pub struct Walk<'a> {
    cluster: &'a ControlPlane,
    program: PathBuf,
    modules: Modules,
    environment: InClusterEnvironment,
    host: HostProcess,
    say: Box<dyn FnMut(&str) + Send + 'a>,
}

impl<'a> Walk<'a> {
    /// Starts the host with nothing but its ServiceAccount's token, before any CRD or module is there.
    ///
    /// `say` is told what happens, line by line.
    ///
    /// # Errors
    /// When the host's account cannot be made, or the host does not become ready.
    pub async fn begin(
        cluster: &'a ControlPlane,
        program: &Path,
        modules: Modules,
        say: impl FnMut(&str) + Send + 'a,
    ) -> Result<Self> {
        let environment = product::account(cluster).await?;
        let host = product::host(program, &environment, "host.log").start()?;
        let mut walk = Self {
            cluster,
            program: program.into(),
            modules,
            environment,
            host,
            say: Box::new(say),
        };
        walk.title("1. The host starts before any CRD or module is there");
        walk.host.ready(DEADLINE).await?;
        walk.tell("the host is ready");
        Ok(walk)
    }

    /// Plays every step.
    ///
    /// # Errors
    /// Ends with the first thing that is not as it must be; the host's log is named in the error.
    pub async fn play(&mut self) -> Result<()> {
        let played = self.steps().await;
        played.with_context(|| format!("the host's log is {}", self.host.log_path().display()))
    }

    async fn steps(&mut self) -> Result<()> {
        self.drop_in().await?;
        self.nginx().await?;
        self.friends().await?;
        self.swap().await?;
        self.restart().await?;
        self.drift().await?;
        self.commands().await
    }

    /// Ends the host, and removes its logs, which are of no use when everything went well.
    ///
    /// # Errors
    /// When it cannot be ended.
    pub fn end(mut self) -> Result<()> {
        self.host.kill()?;
        for name in LOGS {
            let _ = std::fs::remove_file(product::log_file(name));
        }
        Ok(())
    }

    /// The host's process, for tests that do more with it.
    pub fn host(&mut self) -> &mut HostProcess {
        &mut self.host
    }

    fn title(&mut self, text: &str) {
        (self.say)("");
        (self.say)(text);
    }

    fn tell(&mut self, text: &str) {
        text.lines().for_each(|line| (self.say)(&format!("   {line}")));
    }
}
