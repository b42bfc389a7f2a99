//! Measures the memory of a real host with as many guests as there are: fresh processes of the program itself.

use crate::cluster::Cluster;
use crate::comparison::{Comparison, Target};
use crate::effort::Effort;
use crate::memory::each;
use crate::modules::Guest;
use crate::quantity::{Memory, Quantity};
use crate::smaps::memory_at_rest;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::time::Duration;
use windlass_testing::{HostProcess, eventually};

/// What a host may have without guests.
const IDLE: Target = Target::Bytes(30 << 20);
/// What each guest may add.
const EACH: Target = Target::Bytes(512 << 10);
/// What a host with a hundred guests may have.
const HUNDRED: Target = Target::Bytes(80 << 20);
/// How long a host may take until it runs what it ran before.
const AGAIN: Duration = Duration::from_secs(120);

/// Adds guests to a cluster; for each number of them measures the host that took them up, and one started afterwards.
///
/// # Errors
/// If a host does not take its guests up.
pub(crate) async fn measure(effort: &Effort, windlass: &Path) -> Result<Vec<Comparison>> {
    let cluster = Cluster::start(windlass).await?;
    let mut lines = Vec::new();
    let (mut before, mut present) = (None, 0);
    for &guests in &effort.guests {
        let mut first = cluster.host().await?;
        add(&cluster, present..guests).await?;
        present = guests;
        cluster.all_ready(guests as usize).await?;
        let compiled = memory_at_rest(first.pid()).await?;
        first.terminate(AGAIN).await?;
        let mut again = cluster.host().await?;
        running(&again, guests).await?;
        let memory = memory_at_rest(again.pid()).await?;
        again.terminate(AGAIN).await?;
        lines.extend(of(guests, compiled, memory, before));
        before = Some((guests, memory));
    }
    Ok(lines)
}

fn of(guests: u32, compiled: Memory, memory: Memory, before: Option<(u32, Memory)>) -> Vec<Comparison> {
    let line = |how: &str, memory| Comparison::of(format!("host with {guests} guests{how}"), Quantity::Memory(memory));
    let mut lines = vec![match guests {
        0 => line("", memory).target(IDLE),
        100 => line("", memory).target(HUNDRED),
        _ => line("", memory),
    }];
    lines.extend(each("host", guests, memory, before).map(|line| line.target(EACH)));
    if guests > 0 {
        lines.push(line(", which compiled the newest", compiled));
    }
    lines
}

/// Guests of numbers in this range, each a module, an account and a Reconciler of its own.
async fn add(cluster: &Cluster, numbers: std::ops::Range<u32>) -> Result<()> {
    let names: Vec<_> = numbers.clone().map(|number| format!("guest-{number}")).collect();
    if !names.is_empty() {
        cluster.grant(&names, &Guest::Nginx.module()).await?;
    }
    for (number, name) in numbers.zip(&names) {
        // Each has a namespace of its own, since no two may write the status of the same primaries.
        cluster.reconciler(name).await?;
        cluster.drop_in(name, Guest::Nginx.variant(number)).await?;
    }
    Ok(())
}

/// Waits until a host says that it runs so many guests.
async fn running(host: &HostProcess, guests: u32) -> Result<()> {
    eventually(AGAIN, &format!("{guests} guests run"), async || {
        let metrics = host.ask("/metrics").await?;
        let taken_up = count(&metrics, "windlass_swaps_total").context("it does not count")?;
        ensure!(taken_up == guests, "{taken_up} do");
        Ok(())
    })
    .await
}

/// The value of a counter without labels.
fn count(metrics: &str, name: &str) -> Option<u32> {
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_found_by_its_whole_name() {
        let metrics = "# HELP windlass_swaps Modules taken up.\nwindlass_swaps_total_x 1\nwindlass_swaps_total 12\n";
        assert_eq!(count(metrics, "windlass_swaps_total"), Some(12));
        assert_eq!(count(metrics, "windlass_swaps"), None);
    }

    #[test]
    fn a_hundred_guests_have_a_target_in_all_and_each() {
        let memory = |rss| Memory { rss, pss: rss };
        let met = |lines: Vec<Comparison>| lines.iter().map(Comparison::met).collect::<Vec<_>>();
        let before = Some((10, memory(34 << 20)));
        assert_eq!(
            met(of(100, memory(0), memory(81 << 20), before)),
            [Some(false), Some(false), None]
        );
        assert_eq!(met(of(0, memory(0), memory(29 << 20), None)), [Some(true)]);
    }
}
