//! Sets the wasm engine up, once for the whole process: what it allows, how it allocates, what guests may import.

use super::bindings::Reconciler;
use super::limits::{Limits, MAX_STACK};
use super::sandbox;
use super::state::State;
use super::ticker::{Running, Ticker};
use crate::metrics::GuestMetrics;
use clap::ValueEnum;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig};

/// Core instances, memories and tables that one component may consist of; one made from one core module has 4, 1 and 2.
///
/// Stops: one guest taking the slots of all others in the pool.
const CORE_INSTANCES: u32 = 16;
const MEMORIES: u32 = 2;
const TABLES: u32 = 8;
/// Stack of one call with everything: the guest's share and the host functions that it calls.
const CALL_STACK: usize = 2 * MAX_STACK;

/// Bytes of each memory and table of a slot that stay in memory with [`Allocation::Pooling`].
///
/// Stops: a guest that once wrote all it may keeping that from everybody else for ever (E-05).
const KEPT: usize = 256 << 10;

/// How much the engine can do at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Decisions that can be under way at once; more wait for their turn, and never see an error of the pool (E-11).
    pub decisions: u32,
    /// Most memory that any guest can be allowed, which is what address space is reserved for.
    pub memory: usize,
    /// Bytes that all decisions under way may use together: each counts with its limit, and waits for its turn.
    ///
    /// Stops: guests that each stay within their limit, and all together take the memory of the host's pod (E-05).
    pub memory_of_all: usize,
    /// Length of a tick: how soon a running guest lets others run, and how exactly its time is counted.
    pub tick: Duration,
    /// Time that taking up one module may take, compiling included (F-08).
    pub compile: Duration,
    /// Address space of the child that compiles, in bytes.
    pub compile_memory: u64,
    /// Where instances lie.
    pub allocation: Allocation,
    /// What stops a guest whose running time is used up.
    pub interruption: Interruption,
}

/// Where instances lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Allocation {
    /// In slots for which address space is reserved at the start
    ///
    /// Nothing is mapped for a decision, and their number is bounded (E-11). Pages that a guest wrote are wiped and kept
    /// for the next decision in that slot, as many as `KEPT` (Linux 6.7 and later; given back before).
    #[default]
    Pooling,
    /// As before, and pages are given back after each decision. Only for measuring: `windlass-bench` compares them.
    #[value(skip)]
    PoolingGivenBack,
    /// Mapped for each decision and unmapped after it: slower, for where so much address space cannot be had
    OnDemand,
}

impl Allocation {
    /// One word for it, as in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pooling => "pooling",
            Self::PoolingGivenBack => "pooling-given-back",
            Self::OnDemand => "on-demand",
        }
    }
}

/// What stops a guest whose running time is used up. Only for measuring is there a choice: `windlass-bench` compares
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interruption {
    /// A clock that the guest looks at: it measures time, and costs next to nothing.
    #[default]
    Epoch,
    /// The guest counts what it executes. Never yields to others, and takes an operation for a nanosecond. Code that
    /// counts is other code, which [`Compiler::Child`](super::Compiler::Child) does not make: only
    /// [`Compiler::InProcess`](super::Compiler::InProcess) goes with it.
    Fuel,
}

impl Default for Capacity {
    fn default() -> Self {
        Self {
            decisions: 64,
            memory: 1 << 30,
            memory_of_all: 512 << 20,
            tick: Duration::from_millis(10),
            compile: Duration::from_secs(30),
            compile_memory: 512 << 20,
            allocation: Allocation::default(),
            interruption: Interruption::default(),
        }
    }
}

/// Why the engine could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// Mostly address space (`ulimit -v`): there is no silent way back to slower allocation (E-12).
    #[error(
        "cannot set up the wasm engine for {decisions} decisions at once of up to {memory} bytes each; allow more address \
         space, or fewer decisions or less memory: {reason}"
    )]
    Engine {
        /// [`Capacity::decisions`].
        decisions: u32,
        /// [`Capacity::memory`].
        memory: usize,
        /// What the engine says.
        reason: String,
    },
    /// The thread that limits running time could not be started.
    #[error("cannot start the thread that limits the running time of guests")]
    Ticker(#[source] std::io::Error),
}

/// The engine with everything that all guests share. Cheap to clone.
#[derive(Clone)]
pub struct Runtime(Arc<Shared>);

/// Behind [`Runtime`].
struct Shared {
    engine: Engine,
    linker: Linker<State>,
    ticker: Ticker,
    decisions: Arc<Semaphore>,
    /// In MiB.
    memory: Arc<Semaphore>,
    capacity: Capacity,
    metrics: GuestMetrics,
}

/// What a decision holds of what all guests share, until it is dropped.
pub(super) struct Share {
    _decision: OwnedSemaphorePermit,
    _memory: OwnedSemaphorePermit,
}

fn mebibytes(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1 << 20)).unwrap_or(u32::MAX).max(1)
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Runtime").field(&self.0.capacity).finish()
    }
}

impl Runtime {
    /// Sets the engine up and starts its ticker.
    ///
    /// # Errors
    /// A [`RuntimeError`] if the address space for [`Capacity`] or a thread cannot be had.
    pub fn new(capacity: Capacity) -> Result<Self, RuntimeError> {
        let (decisions, memory) = (capacity.decisions, capacity.memory);
        let failed = |why: wasmtime::Error| RuntimeError::Engine {
            decisions,
            memory,
            reason: format!("{why:#}"),
        };
        let engine = Engine::new(&config(&capacity)).map_err(failed)?;
        let linker = linker(&engine).map_err(failed)?;
        let ticker = Ticker::start(&engine, capacity.tick).map_err(RuntimeError::Ticker)?;
        let decisions = Arc::new(Semaphore::new(decisions as usize));
        let mebibytes = mebibytes(capacity.memory_of_all);
        let memory = Arc::new(Semaphore::new(mebibytes as usize));
        Ok(Self(Arc::new(Shared {
            engine,
            linker,
            ticker,
            decisions,
            memory,
            capacity,
            metrics: GuestMetrics::default(),
        })))
    }

    /// How many more decisions could begin right now.
    pub fn free_decisions(&self) -> usize {
        self.0.decisions.available_permits()
    }

    /// How many decisions are under way, descriptions included: never more than [`Capacity::decisions`].
    pub fn calls_in_flight(&self) -> usize {
        (self.0.capacity.decisions as usize).saturating_sub(self.free_decisions())
    }

    /// What it counts.
    pub fn metrics(&self) -> &GuestMetrics {
        &self.0.metrics
    }

    /// What it was set up for.
    pub fn capacity(&self) -> &Capacity {
        &self.0.capacity
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.0.engine
    }

    pub(super) fn linker(&self) -> &Linker<State> {
        &self.0.linker
    }

    /// Keeps the clock moving that a guest looks at while it runs.
    pub(super) fn running(&self) -> Option<Running<'_>> {
        (self.0.capacity.interruption == Interruption::Epoch).then(|| self.0.ticker.running())
    }

    /// What a guest may execute within `limits`, if that is counted.
    pub(super) fn fuel(&self, limits: &Limits) -> Option<u64> {
        let fuel = || u64::try_from(limits.time.as_nanos()).unwrap_or(u64::MAX);
        (self.0.capacity.interruption == Interruption::Fuel).then(fuel)
    }

    /// Waits for one of the decisions at once, and for memory up to the limit of one guest; for all there is where that is
    /// less.
    pub(super) async fn share(&self, limits: &Limits) -> Result<Share, AcquireError> {
        let of_all = mebibytes(self.0.capacity.memory_of_all);
        let decision = Arc::clone(&self.0.decisions).acquire_owned().await?;
        let memory = Arc::clone(&self.0.memory)
            .acquire_many_owned(mebibytes(limits.memory).min(of_all))
            .await?;
        Ok(Share {
            _decision: decision,
            _memory: memory,
        })
    }

    #[cfg(test)]
    pub(super) fn decisions(&self) -> &Arc<Semaphore> {
        &self.0.decisions
    }

    /// How many ticks make the running time of `limits`; the first is only a part of one.
    pub(super) fn ticks(&self, limits: &Limits) -> u64 {
        let ticks = limits.time.as_nanos().div_ceil(self.0.capacity.tick.as_nanos().max(1));
        u64::try_from(ticks).unwrap_or(u64::MAX).saturating_add(1)
    }
}

/// An engine whose code fits a [`Runtime`]'s, and that reserves nothing to run it in.
pub(super) fn compiling_engine() -> wasmtime::Result<Engine> {
    Engine::new(&code_config())
}

/// A [`code_config`] with room to run guests in.
fn config(capacity: &Capacity) -> Config {
    let mut config = code_config();
    config.allocation_strategy(match capacity.allocation {
        Allocation::PoolingGivenBack => InstanceAllocationStrategy::Pooling(pool(capacity)),
        Allocation::Pooling => {
            let mut pool = pool(capacity);
            pool.linear_memory_keep_resident(KEPT)
                .table_keep_resident(KEPT)
                .pagemap_scan(Enabled::Auto);
            InstanceAllocationStrategy::Pooling(pool)
        }
        Allocation::OnDemand => InstanceAllocationStrategy::OnDemand,
    });
    if capacity.interruption == Interruption::Fuel {
        config.epoch_interruption(false).consume_fuel(true);
    }
    config
}

/// What every guest runs under: nothing that differs between machines or runs, and nothing that is not needed.
fn code_config() -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .epoch_interruption(true)
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .wasm_memory64(false)
        .cranelift_opt_level(OptLevel::Speed)
        .generate_address_map(false)
        .wasm_backtrace_max_frames(None)
        .max_wasm_stack(MAX_STACK)
        .async_stack_size(CALL_STACK);
    config
}

/// Slots for as many instances as there can be decisions. What is reserved is address space, not memory.
fn pool(capacity: &Capacity) -> PoolingAllocationConfig {
    let count = capacity.decisions;
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(count)
        .total_core_instances(count.saturating_mul(CORE_INSTANCES))
        .total_memories(count.saturating_mul(MEMORIES))
        .total_tables(count.saturating_mul(TABLES))
        .total_stacks(count)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .table_elements(Limits::default().table_entries)
        .max_memory_size(capacity.memory);
    pool
}

/// Everything that a guest can import: the log, and closed stand-ins for WASI.
fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    Reconciler::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    sandbox::add_to_linker(&mut linker)?;
    Ok(linker)
}
