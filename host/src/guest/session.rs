//! Runs one decision in one fresh instance, and says what went wrong in it.
//!
//! Nothing is kept between decisions. An instance that returned an error, or whose call was given up half way, is dropped
//! before anything else can reach it (E-07).

use super::bindings::{Reconciler, manifest};
use super::convert;
use super::limits::Limits;
use super::module::Loaded;
use super::runtime::Share;
use super::sandbox::Sandbox;
use super::state::{Lines, OutOfTime, State};
use super::text::one_line;
use crate::decide::{Decide, Decision};
use async_trait::async_trait;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;
use wasmtime::{PoolConcurrencyLimitError, Store, Trap, UpdateDeadline};
use windlass_core::decision::{Entry, Fault, FaultKind, Reply, Request};

/// How often, and after which pause, an instance is tried again that finds no slot: ten seconds in all.
const SLOT_TRIES: u32 = 1_000;
const SLOT_RETRY: Duration = Duration::from_millis(10);

/// What decisions of one Reconciler need: the module, who it is, and its limits.
#[derive(Clone)]
pub(super) struct Guest {
    pub(super) loaded: Arc<Loaded>,
    /// Name and version, for messages.
    pub(super) name: Arc<str>,
    pub(super) limits: Limits,
}

#[async_trait]
impl Decide for Guest {
    async fn begin(&self, seed: &[u8]) -> Result<Box<dyn Decision>, Fault> {
        let share = self.share().await?;
        Ok(Box::new(Session {
            guest: self.clone(),
            stage: Stage::New {
                share,
                seed: seed.to_vec(),
            },
        }))
    }
}

/// One decision.
struct Session {
    guest: Guest,
    stage: Stage,
}

/// How far a decision is.
enum Stage {
    /// Nothing was called. The instance is made at the first call, when the clock is known.
    New { share: Share, seed: Vec<u8> },
    /// The instance has answered, and can be called again.
    Live(Box<Live>),
    /// The instance is gone, because of this.
    Over(Fault),
}

/// An instance with all that it uses. Held by value during a call, so that giving the call up drops it.
pub(super) struct Live {
    store: Store<State>,
    reconciler: Reconciler,
    /// After the store: the slot of the pool is free once the store is gone.
    _share: Share,
}

#[async_trait]
impl Decision for Session {
    async fn call(&mut self, entry: Entry, request: &Request) -> Result<Reply, Fault> {
        // Until the call has returned whole, this is what a later one would find.
        let given_up = Stage::Over(
            self.guest
                .fault(FaultKind::GuestTimedOut, "was given up before it answered"),
        );
        let live = match std::mem::replace(&mut self.stage, given_up) {
            Stage::New { share, seed } => self.guest.start(share, seed, request.now).await,
            Stage::Live(live) => Ok(live),
            Stage::Over(fault) => Err(fault),
        };
        let answered = match live {
            Ok(live) => self.guest.call(live, entry, request).await,
            Err(fault) => Err(fault),
        };
        let (stage, result) = match answered {
            Ok((live, reply)) => (Stage::Live(live), Ok(reply)),
            Err(fault) => (Stage::Over(fault.clone()), Err(fault)),
        };
        self.stage = stage;
        result
    }
}

impl Guest {
    /// Waits for a turn.
    pub(super) async fn share(&self) -> Result<Share, Fault> {
        let runtime = &self.loaded.runtime;
        runtime
            .share(&self.limits)
            .await
            .map_err(|_| self.fault(FaultKind::GuestTimedOut, "cannot begin: the host stops"))
    }

    /// Makes an instance. A pool without a free slot is the host's matter: it is tried again, and no decision is lost by
    /// it (E-11).
    pub(super) async fn start(&self, share: Share, seed: Vec<u8>, now: u64) -> Result<Box<Live>, Fault> {
        for _ in 0..SLOT_TRIES {
            let mut store = self.store(seed.clone(), now)?;
            match self.instantiate(&mut store).await {
                Ok(reconciler) => {
                    return Ok(Box::new(Live {
                        store,
                        reconciler,
                        _share: share,
                    }));
                }
                Err(error) if error.is::<PoolConcurrencyLimitError>() => {
                    drop(store);
                    self.loaded.runtime.metrics().slot_retries.inc();
                    tokio::time::sleep(SLOT_RETRY).await;
                }
                Err(error) => return Err(self.explain(&error, &store)),
            }
        }
        Err(self.fault(FaultKind::InternalError, "found no free slot in the host's pool"))
    }

    /// All that an instance may use.
    fn store(&self, seed: Vec<u8>, now: u64) -> Result<Store<State>, Fault> {
        let runtime = &self.loaded.runtime;
        let limits = &self.limits;
        let lines = Lines::new(Arc::clone(&self.name), Arc::clone(&self.loaded.digest), limits);
        let denials = runtime.metrics().memory_denied.clone();
        let state = State::new(limits, runtime.ticks(limits), lines, denials, Sandbox::new(seed, now));
        let mut store = Store::new(runtime.engine(), state);
        store.limiter(|state| &mut state.usage);
        store.set_hostcall_fuel(limits.output);
        store.epoch_deadline_callback(|mut context| {
            context.data_mut().usage.tick().map_err(wasmtime::Error::new)?;
            Ok(UpdateDeadline::Yield(1))
        });
        store.set_epoch_deadline(1);
        if let Some(fuel) = runtime.fuel(limits)
            && let Err(error) = store.set_fuel(fuel)
        {
            return Err(self.explain(&error, &store));
        }
        Ok(store)
    }

    async fn instantiate(&self, store: &mut Store<State>) -> wasmtime::Result<Reconciler> {
        let yielded = Arc::clone(&store.data().usage.yielded);
        let _running = self.loaded.runtime.running();
        unless_waiting(&yielded, self.loaded.pre.instantiate_async(store)).await
    }

    /// Calls an instance, which is gone if that fails.
    async fn call(&self, mut live: Box<Live>, entry: Entry, request: &Request) -> Result<(Box<Live>, Reply), Fault> {
        let request = convert::request(request);
        live.store.set_epoch_deadline(1);
        let yielded = Arc::clone(&live.store.data().usage.yielded);
        let running = self.loaded.runtime.running();
        let Live { store, reconciler, .. } = &mut *live;
        let guest = reconciler.windlass_reconciler_guest();
        let reply = match entry {
            Entry::Reconcile => unless_waiting(&yielded, guest.call_reconcile(&mut *store, &request))
                .await
                .map(convert::reply),
            Entry::Finalize => unless_waiting(&yielded, guest.call_finalize(&mut *store, &request))
                .await
                .map(convert::final_reply),
        };
        drop(running);
        match reply {
            Ok(Ok(reply)) => Ok((live, reply)),
            Ok(Err(why)) => Err(self.fault(
                FaultKind::GuestOutputRejected,
                &format!("gave an answer that is refused: {why}"),
            )),
            Err(error) => Err(self.explain(&error, &live.store)),
        }
    }

    /// Asks an instance about itself.
    pub(super) async fn describe(
        &self,
        mut live: Box<Live>,
        settings: String,
    ) -> Result<Result<manifest::Manifest, String>, Fault> {
        live.store.set_epoch_deadline(1);
        let yielded = Arc::clone(&live.store.data().usage.yielded);
        let _running = self.loaded.runtime.running();
        let Live { store, reconciler, .. } = &mut *live;
        let guest = reconciler.windlass_reconciler_guest();
        match unless_waiting(&yielded, guest.call_describe(&mut *store, &settings)).await {
            Ok(described) => Ok(described),
            Err(error) => Err(self.explain(&error, &live.store)),
        }
    }

    /// A fault of this guest.
    fn fault(&self, kind: FaultKind, what: &str) -> Fault {
        Fault {
            kind,
            message: format!("Guest {} {what}.", self.name),
        }
    }

    /// Says which rule or limit an error of wasmtime stands for.
    fn explain(&self, error: &wasmtime::Error, store: &Store<State>) -> Fault {
        let state = store.data();
        if state.usage.was_denied() {
            let limit = state.usage.memory_limit() >> 20;
            return self.fault(
                FaultKind::GuestOutOfMemory,
                &format!(
                    "wanted more memory than its limit of {limit} MiB, or more table entries, and did not go on without"
                ),
            );
        }
        if error.is::<OutOfTime>() || error.downcast_ref::<Trap>() == Some(&Trap::OutOfFuel) {
            return self.fault(
                FaultKind::GuestTimedOut,
                &format!("used up its running time of {} ms", self.limits.time.as_millis()),
            );
        }
        if error.is::<Waits>() {
            return self.fault(
                FaultKind::GuestTimedOut,
                "waited for something outside, which never comes: a decision waits for nothing",
            );
        }
        if let Some(trap) = error.downcast_ref::<Trap>() {
            let words = state
                .lines
                .last_error
                .as_deref()
                .map_or_else(String::new, |line| format!("; it said: {line}"));
            return self.fault(FaultKind::GuestTrapped, &format!("trapped: {}{words}", named(*trap)));
        }
        if let Some(exit) = error.downcast_ref::<wasmtime_wasi::I32Exit>() {
            return self.fault(FaultKind::GuestTrapped, &format!("trapped: it called exit({})", exit.0));
        }
        let text = one_line(&format!("{error:#}"), 1024);
        if text.contains("fuel allocated for hostcalls") {
            let limit = self.limits.output >> 10;
            return self.fault(
                FaultKind::GuestOutputRejected,
                &format!("returned more than its limit of {limit} KiB"),
            );
        }
        self.fault(
            FaultKind::GuestOutputRejected,
            &format!("broke the rules of its interface: {text}"),
        )
    }
}

/// The kind of a trap, in words that people look for.
fn named(trap: Trap) -> String {
    match trap {
        Trap::StackOverflow => "stack exhausted, probably by endless recursion".into(),
        Trap::UnreachableCodeReached => "unreachable code reached, probably a panic".into(),
        Trap::MemoryOutOfBounds => {
            "memory accessed out of bounds, often a stack that ran over by deep recursion".into()
        }
        other => other.to_string().trim_start_matches("wasm trap: ").to_owned(),
    }
}

/// The guest waits for something other than its turn.
#[derive(Debug, thiserror::Error)]
#[error("waits for something outside")]
pub(super) struct Waits;

/// Drives a call to its end. Its only reason to pause is a tick, after which it lets others run; a pause for any other
/// reason would be a wait in real time, which no running time counts (E-02).
pub(super) async fn unless_waiting<T>(
    yielded: &AtomicBool,
    call: impl Future<Output = wasmtime::Result<T>>,
) -> wasmtime::Result<T> {
    let mut call = pin!(call);
    poll_fn(|context| match call.as_mut().poll(context) {
        Poll::Pending if !yielded.swap(false, Ordering::Relaxed) => Poll::Ready(Err(wasmtime::Error::new(Waits))),
        poll => poll,
    })
    .await
}
