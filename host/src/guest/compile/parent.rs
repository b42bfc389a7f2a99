//! Runs the child that compiles, and tells its ways to end apart.

use super::child::REFUSED;
use super::{CompileBudget, TrustedCode, exceeded, invalid};
use crate::guest::refusal::{Refusal, Step};
use serde_json::Value;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

/// Largest machine code; a guest has one or two MiB.
///
/// Stops: a module that compiles to more than the host has memory for.
const MAX_CODE: u64 = 256 << 20;
/// How much of what the child says is read.
///
/// Stops: filling the host with error text.
const MAX_SAID: u64 = 16 << 10;
/// Longest text of the compiler that a refusal quotes, in characters.
const MAX_QUOTED: usize = 1_000;
/// The signal for running out of running time.
const SIGXCPU: i32 = 24;

/// Compiles in a child; it is killed if this is dropped.
pub(super) async fn compile(program: &Path, budget: CompileBudget, component: &[u8]) -> Result<TrustedCode, Refusal> {
    let mut child = spawn(program, budget).map_err(|error| unavailable(&error))?;
    let (Some(mut stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(unavailable(&std::io::Error::other("it has no pipes")));
    };
    let feed = async move {
        // A child that ends before it read all says why by its end.
        let _ = stdin.write_all(component).await;
    };
    let ((), code, said) = tokio::join!(feed, read(stdout, MAX_CODE), read(stderr, MAX_SAID));
    let status = child.wait().await.map_err(|error| unavailable(&error))?;
    if code.len() as u64 > MAX_CODE {
        return Err(exceeded(&format!("gives more than {} MiB of code", MAX_CODE >> 20)));
    }
    if status.success() {
        return Ok(TrustedCode::compiled(code));
    }
    Err(ended(status, &String::from_utf8_lossy(&said), budget))
}

fn spawn(program: &Path, budget: CompileBudget) -> std::io::Result<Child> {
    Command::new(program)
        .arg0("windlass")
        .arg("compile-module")
        .arg(format!("--memory={}", budget.memory))
        .arg(format!("--seconds={}", budget.processor.as_secs().max(1)))
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

/// Reads at most one byte more than may be there. Whoever writes on finds the pipe closed.
async fn read(from: impl AsyncRead + Unpin, limit: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What a broken pipe cuts off shows in how the child ended.
    let _ = from.take(limit + 1).read_to_end(&mut bytes).await;
    bytes
}

/// What the end of a child that gave no code says about the module.
fn ended(status: ExitStatus, said: &str, budget: CompileBudget) -> Refusal {
    let refused = serde_json::from_str::<Value>(said.trim()).ok();
    let message = refused.as_ref().and_then(|refused| refused["message"].as_str());
    let out_of_memory = ["memory allocation of", "out of memory", "Cannot allocate memory"]
        .iter()
        .any(|sign| said.contains(sign));
    if out_of_memory {
        return exceeded(&format!("wants more than {} MiB of memory", budget.memory >> 20));
    }
    if status.signal() == Some(SIGXCPU) {
        return exceeded(&format!("took longer than {} s", budget.processor.as_secs().max(1)));
    }
    if let (Some(code), Some(message)) = (status.code(), message)
        && code == i32::from(REFUSED)
    {
        return invalid(&message.chars().take(MAX_QUOTED).collect::<String>());
    }
    let last: String = said
        .trim()
        .lines()
        .last()
        .unwrap_or_default()
        .chars()
        .take(MAX_QUOTED)
        .collect();
    Refusal::new(
        Step::Compile,
        "CompilerCrashed",
        format!("The module brings the compiler down ({status}: {last}). Please report it with the module."),
    )
}

/// The host's own trouble, which another try may not meet.
fn unavailable(error: &std::io::Error) -> Refusal {
    Refusal::new(
        Step::Compile,
        Refusal::HOST,
        format!("The process that compiles modules cannot be run: {error}. It is tried again."),
    )
}
