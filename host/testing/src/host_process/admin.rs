//! Asks a running host what its probes and metrics say.

use super::HostProcess;
use crate::eventually;
use crate::product::NAMESPACE;
use anyhow::{Context, Result, bail, ensure};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

impl HostProcess {
    /// Waits until it says that it is ready.
    ///
    /// # Errors
    /// When it has ended, or does not say so in time.
    pub async fn ready(&mut self, deadline: Duration) -> Result<()> {
        eventually(deadline, "the host is ready", async || {
            if let Some(status) = self.exited()? {
                bail!("the host has ended with {status}: {}", self.logs()?);
            }
            let said = self.ask("/readyz").await?;
            ensure!(said.trim_end().ends_with("\r\n\r\nok"), "it says: {said}");
            Ok(())
        })
        .await
    }

    /// What its admin server answers, headers included.
    ///
    /// # Errors
    /// When it does not listen yet, or not any more.
    pub async fn ask(&self, path: &str) -> Result<String> {
        let address = self.admin_address()?;
        let mut stream = TcpStream::connect(&address).await?;
        stream
            .write_all(format!("GET {path} HTTP/1.1\r\nHost: host\r\nConnection: close\r\n\r\n").as_bytes())
            .await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }

    /// How many decisions it has taken for a Reconciler of its namespace since it was started.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn decisions(&self, reconciler: &str) -> Result<u64> {
        let metrics = self.ask("/metrics").await?;
        let of_reconciler = format!("reconciler=\"{NAMESPACE}/{reconciler}\"");
        let lines = metrics
            .lines()
            .filter(|line| line.starts_with("windlass_decisions_total") && line.contains(&of_reconciler));
        Ok(lines
            .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
            .sum())
    }

    /// Where it listens, from its log in either format.
    fn admin_address(&self) -> Result<String> {
        let logs = self.logs()?;
        let last = logs.lines().filter_map(address).next_back();
        last.map(ToOwned::to_owned).context("the host does not listen yet")
    }
}

fn address(line: &str) -> Option<&str> {
    let (_, rest) = line
        .split_once("address=")
        .or_else(|| line.split_once("\"address\":\""))?;
    rest.split(|character: char| character.is_whitespace() || character == '"')
        .next()
}
