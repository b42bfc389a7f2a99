//! Measures what loaded guests cost: fresh processes that hold as many as they are told, loaded as the host does.

use crate::comparison::Comparison;
use crate::effort::Effort;
use crate::loading::Loading;
use crate::modules::Guest;
use crate::quantity::{Memory, Quantity, bytes};
use crate::smaps::{memory_at_rest, memory_of};
use anyhow::{Context, Result};
use serde_json::json;
use std::path::Path;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use windlass::guest::{DESCRIBE_TIME, Limits};

/// What a process says when it has loaded everything.
const LOADED: &str = "loaded";

/// Measures one fresh process for each number of guests, all with the same cache, which the first fills.
///
/// # Errors
/// If a process does not load its guests.
pub(crate) async fn measure(effort: &Effort, windlass: &Path) -> Result<Vec<Comparison>> {
    let cache = tempfile::tempdir()?;
    let most = effort.guests.last().copied().unwrap_or_default();
    let mut compiled = process(most, windlass, cache.path()).await?;
    let mut lines = vec![line(most, "compiled", compiled.measured().await?)];
    compiled.end().await?;
    let mut before = None;
    for &guests in &effort.guests {
        let mut process = process(guests, windlass, cache.path()).await?;
        let memory = process.measured().await?;
        process.end().await?;
        lines.push(line(guests, "from the cache", memory));
        lines.extend(each("loader alone", guests, memory, before));
        before = Some((guests, memory));
    }
    Ok(lines)
}

fn line(guests: u32, how: &str, memory: Memory) -> Comparison {
    Comparison::of(
        format!("loader alone: {guests} guests, {how}"),
        Quantity::Memory(memory),
    )
}

/// What each guest cost that came since fewer were measured, in a process of the same kind.
pub(crate) fn each(of: &str, guests: u32, memory: Memory, before: Option<(u32, Memory)>) -> Option<Comparison> {
    let (fewer, less) = before?;
    let growth = memory.growth_since(less, u64::from(guests.saturating_sub(fewer)));
    let what = format!("{of}: each guest more, from {fewer} to {guests}");
    Some(Comparison::of(what, Quantity::Memory(growth)))
}

/// A process that holds guests until it is told to end.
struct Holding {
    child: tokio::process::Child,
}

impl Holding {
    async fn measured(&self) -> Result<Memory> {
        memory_at_rest(self.child.id().context("it has ended")?).await
    }

    /// Ends it by closing what it reads.
    async fn end(&mut self) -> Result<()> {
        drop(self.child.stdin.take());
        self.child.wait().await?;
        Ok(())
    }
}

async fn process(guests: u32, windlass: &Path, cache: &Path) -> Result<Holding> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("hold")
        .args(["--guests", &guests.to_string()])
        .arg("--cache")
        .arg(cache)
        .arg("--windlass")
        .arg(windlass)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let output = child.stdout.take().context("it has no output")?;
    let mut lines = BufReader::new(output).lines();
    let said = lines.next_line().await?;
    anyhow::ensure!(
        said.as_deref() == Some(LOADED),
        "the process that holds guests has ended: {said:?}"
    );
    Ok(Holding { child })
}

/// What such a process does: loads its guests, says so, and holds them until nobody reads any more.
///
/// # Errors
/// If a guest does not load.
pub(crate) async fn hold(guests: u32, windlass: &Path, cache: &Path) -> Result<()> {
    let loading = Loading::new(windlass, cache)?;
    let limits = Limits::default().with_time(DESCRIBE_TIME);
    let mut modules = Vec::new();
    for number in 0..guests {
        let module = loading.load(Guest::Nginx.variant(number)).await?;
        let described = module.describe(&json!({}), &limits).await;
        let manifest = described.map_err(|refusal| anyhow::anyhow!("{refusal}"))?;
        modules.push((module.guest(&manifest, &limits), module));
    }
    let mut output = tokio::io::stdout();
    output.write_all(format!("{LOADED}\n").as_bytes()).await?;
    output.flush().await?;
    let mut input = BufReader::new(tokio::io::stdin()).lines();
    while input.next_line().await?.is_some() {}
    // For whoever looks at the process from outside.
    eprintln!(
        "held {} guests in {}",
        modules.len(),
        bytes(memory_of(std::process::id())?.rss)
    );
    Ok(())
}
