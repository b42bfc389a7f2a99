//! Stands in for WASI: nothing is there, the clock stands, random numbers come from the seed, nothing waits.

use super::limits::MAX_RANDOM;
use super::state::State;
use async_trait::async_trait;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use sha2::{Digest, Sha256};
use std::time::Duration;
use wasmtime::component::{HasData, Linker, Resource, ResourceTable};
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock;
use wasmtime_wasi::p2::{DynPollable, Pollable, add_to_linker_async, subscribe};
use wasmtime_wasi::{HostWallClock, WasiCtx, WasiView};

/// The closed world of one instance, made when it is first looked at: a strict guest never does.
pub(super) struct Sandbox {
    seed: Vec<u8>,
    now: Duration,
    context: Option<Box<WasiCtx>>,
}

impl Sandbox {
    /// A world whose clock stands at `now`, milliseconds since the Unix epoch.
    pub(super) fn new(seed: Vec<u8>, now: u64) -> Self {
        Self {
            seed,
            now: Duration::from_millis(now),
            context: None,
        }
    }

    /// What the functions of wasmtime-wasi work on.
    pub(super) fn context(&mut self) -> &mut WasiCtx {
        let (seed, now) = (&self.seed, self.now);
        self.context.get_or_insert_with(|| Box::new(context(seed, now)))
    }
}

/// No arguments, environment, files, network or streams: what is not named here is closed by default.
fn context(seed: &[u8], now: Duration) -> WasiCtx {
    let hash_seed = derived(seed, b"hash");
    let hash_seed = hash_seed.first_chunk().copied().map_or(0, u128::from_le_bytes);
    WasiCtx::builder()
        .secure_random(ChaCha20Rng::from_seed(derived(seed, b"secure")))
        .insecure_random(ChaCha20Rng::from_seed(derived(seed, b"insecure")))
        .insecure_random_seed(hash_seed)
        .max_random_size(MAX_RANDOM)
        .wall_clock(StandingClock(now))
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .build()
}

/// A key of its own for each purpose, so that no number tells anything about another, or about the seed.
fn derived(seed: &[u8], purpose: &[u8]) -> [u8; 32] {
    Sha256::new()
        .chain_update(b"windlass random ")
        .chain_update(purpose)
        .chain_update([0])
        .chain_update(seed)
        .finalize()
        .into()
}

/// A clock that stands.
struct StandingClock(Duration);

impl HostWallClock for StandingClock {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        self.0
    }
}

/// Adds everything of WASI 0.2, with a clock on which nobody waits.
pub(super) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    add_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    monotonic_clock::add_to_linker::<State, NoWait>(linker, |state| NoWaitView(state.ctx().table))?;
    linker.allow_shadowing(false);
    Ok(())
}

/// The monotonic clock without waiting: every point in time asked for has come already (E-02).
struct NoWait;

struct NoWaitView<'a>(&'a mut ResourceTable);

impl HasData for NoWait {
    type Data<'a> = NoWaitView<'a>;
}

impl monotonic_clock::Host for NoWaitView<'_> {
    /// A monotonic clock has no origin; this one stands at its own.
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(0)
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(1_000_000)
    }

    fn subscribe_instant(&mut self, _: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.at_once()
    }

    fn subscribe_duration(&mut self, _: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.at_once()
    }
}

impl NoWaitView<'_> {
    fn at_once(&mut self) -> wasmtime::Result<Resource<DynPollable>> {
        let come = self.0.push(Come)?;
        subscribe(self.0, come)
    }
}

/// A point in time that has come.
struct Come;

#[async_trait]
impl Pollable for Come {
    async fn ready(&mut self) {}
}
