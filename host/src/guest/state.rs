//! Counts what one instance uses, and takes its log lines.

use super::bindings::{log, types};
use super::limits::{Limits, MAX_HANDLES};
use super::sandbox::Sandbox;
use super::text::one_line;
use prometheus_client::metrics::counter::Counter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wasmtime::ResourceLimiter;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtxView, WasiView};

/// What the host keeps for one instance.
pub(super) struct State {
    /// What it may use, and has used.
    pub(super) usage: Usage,
    /// Its log lines.
    pub(super) lines: Lines,
    /// Stand-ins for WASI, which a strict guest never reaches.
    sandbox: Sandbox,
    table: ResourceTable,
}

/// What an instance has used.
#[derive(Debug)]
pub(super) struct Usage {
    memory_limit: usize,
    memory: usize,
    table_limit: usize,
    table_entries: usize,
    /// More memory or table entries were asked for than may be used. Remembered, since all that a guest sees is a -1,
    /// and what it makes of that looks like another fault (E-06).
    denied: bool,
    /// Counts the calls in which that happened, whatever became of them.
    denials: Counter,
    ticks_left: u64,
    /// Set at each tick, taken by who polls the call: it yielded for others, and does not wait for anything.
    pub(super) yielded: Arc<AtomicBool>,
}

/// The running time is used up.
#[derive(Debug, thiserror::Error)]
#[error("the running time is used up")]
pub(super) struct OutOfTime;

/// Log lines of one decision, counted.
#[derive(Debug)]
pub(super) struct Lines {
    /// Name and version of the guest, or the digest before it has said so.
    guest: Arc<str>,
    digest: Arc<str>,
    /// One more than may be written: the last says that some are missing.
    left: u32,
    length: usize,
    /// The last line at level error: what a panic says before it traps.
    pub(super) last_error: Option<String>,
}

impl State {
    /// For a new instance; `denials` counts those that wanted more memory than they may have.
    pub(super) fn new(limits: &Limits, ticks: u64, lines: Lines, denials: Counter, sandbox: Sandbox) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        Self {
            usage: Usage {
                memory_limit: limits.memory,
                memory: 0,
                table_limit: limits.table_entries,
                table_entries: 0,
                denied: false,
                denials,
                ticks_left: ticks,
                yielded: Arc::default(),
            },
            lines,
            sandbox,
            table,
        }
    }
}

impl Usage {
    /// Counts a tick of running time.
    pub(super) fn tick(&mut self) -> Result<(), OutOfTime> {
        self.ticks_left = self.ticks_left.saturating_sub(1);
        if self.ticks_left == 0 {
            return Err(OutOfTime);
        }
        self.yielded.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Remembers that more was wanted, and says that it may not be.
    fn deny(&mut self) -> bool {
        if !self.denied {
            self.denied = true;
            self.denials.inc();
        }
        false
    }

    /// Whether more memory or table entries were wanted than may be.
    pub(super) fn was_denied(&self) -> bool {
        self.denied
    }

    /// Bytes of memory it may have.
    pub(super) fn memory_limit(&self) -> usize {
        self.memory_limit
    }
}

impl ResourceLimiter for Usage {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        match grown(self.memory, current, desired, self.memory_limit) {
            Some(memory) => self.memory = memory,
            None => return Ok(self.deny()),
        }
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        match grown(self.table_entries, current, desired, self.table_limit) {
            Some(entries) => self.table_entries = entries,
            None => return Ok(self.deny()),
        }
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        self.deny();
        Ok(())
    }

    fn table_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        self.deny();
        Ok(())
    }
}

/// The sum of all after one growth, none if that is more than may be.
fn grown(sum: usize, current: usize, desired: usize, limit: usize) -> Option<usize> {
    let sum = sum.saturating_sub(current).saturating_add(desired);
    (sum <= limit).then_some(sum)
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: self.sandbox.context(),
            table: &mut self.table,
        }
    }
}

impl types::Host for State {}
impl super::bindings::manifest::Host for State {}
impl super::bindings::decision::Host for State {}

impl log::Host for State {
    fn write(&mut self, level: log::Level, message: String) {
        self.lines.write(level, &message);
    }
}

impl Lines {
    /// For one decision of `guest`.
    pub(super) fn new(guest: Arc<str>, digest: Arc<str>, limits: &Limits) -> Self {
        Self {
            guest,
            digest,
            left: limits.log_lines.saturating_add(1),
            length: limits.log_line,
            last_error: None,
        }
    }

    fn write(&mut self, level: log::Level, message: &str) {
        let line = one_line(message, self.length);
        if matches!(level, log::Level::Error) {
            self.last_error = Some(line.clone());
        }
        let (guest, digest) = (&*self.guest, &*self.digest);
        match self.left {
            0 => return,
            1 => {
                tracing::warn!(target: "windlass::guest", guest, digest, "more log lines than a decision may write; the rest is left out")
            }
            _ => match level {
                log::Level::Debug => tracing::debug!(target: "windlass::guest", guest, digest, "{line}"),
                log::Level::Info => tracing::info!(target: "windlass::guest", guest, digest, "{line}"),
                log::Level::Warn => tracing::warn!(target: "windlass::guest", guest, digest, "{line}"),
                log::Level::Error => tracing::error!(target: "windlass::guest", guest, digest, "{line}"),
            },
        }
        self.left -= 1;
    }
}
