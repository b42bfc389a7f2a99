//! Lets a component of a control plane stand still, such as the garbage collector.

use crate::ControlPlane;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::process::Command;

/// A component that stands still until this value is dropped.
#[derive(Debug)]
#[must_use = "it goes on when this is dropped"]
pub struct Paused {
    pid: u32,
}

impl ControlPlane {
    /// Stops a component of this control plane, such as `kube-controller-manager`, where it stands.
    ///
    /// # Errors
    /// When it does not run.
    pub fn pause(&self, component: &str) -> Result<Paused> {
        let directory = self.directory().display().to_string();
        let runs = |pid: u32| {
            // Its words are separated by zeros, and name this control plane's directory.
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).into_owned();
            let program = words.split('\0').next().unwrap_or_default();
            program.ends_with(&format!("/{component}")) && words.contains(&directory)
        };
        let pids = fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let pid = pids.into_iter().find(|pid| runs(*pid));
        let pid = pid.with_context(|| format!("no {component} of {directory} runs"))?;
        signal(pid, "STOP")?;
        Ok(Paused { pid })
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        if let Err(error) = signal(self.pid, "CONT") {
            eprintln!("process {} still stands: {error}", self.pid);
        }
    }
}

fn signal(pid: u32, name: &str) -> Result<()> {
    let status = Command::new("sh")
        .args(["-c", &format!("kill -{name} {pid}")])
        .status()?;
    ensure!(
        status.success(),
        "SIG{name} could not be sent to process {pid}: {status}"
    );
    Ok(())
}
