//! Moves the epoch on while guests run, on an operating system thread of its own.
//!
//! A task of the executor could not do it: the guest that has to be stopped holds the executor's thread (E-03).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use wasmtime::Engine;

/// What the thread and its handles share.
#[derive(Debug, Default)]
struct Shared {
    /// Calls that run now; nothing ticks while there are none, so an idle host sleeps.
    running: AtomicUsize,
    /// Whether the thread sleeps until it is woken. Set by the thread, cleared by who wakes it.
    asleep: AtomicBool,
    /// Whether the thread has to end.
    closed: AtomicBool,
}

/// Handle of the thread, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

/// Keeps the epoch moving as long as it lives.
#[derive(Debug)]
pub(super) struct Running<'a>(&'a Ticker);

impl Ticker {
    /// Starts the thread, which moves the epoch of `engine` on every `tick`.
    pub(super) fn start(engine: &Engine, tick: Duration) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let engine = engine.weak();
        let theirs = Arc::clone(&shared);
        let handle = thread::Builder::new().name("guest-ticker".into()).spawn(move || {
            while !theirs.closed.load(Ordering::SeqCst) {
                if theirs.sleeps_while_idle() {
                    continue;
                }
                wait(tick);
                match engine.upgrade() {
                    // One step however late it is: after a stall no burst of ticks ends guests that were not running.
                    Some(engine) => engine.increment_epoch(),
                    None => break,
                }
            }
        })?;
        Ok(Self {
            shared,
            thread: handle.thread().clone(),
        })
    }

    /// Says that a guest runs from now on.
    pub(super) fn running(&self) -> Running<'_> {
        self.shared.running.fetch_add(1, Ordering::SeqCst);
        if self.shared.asleep.swap(false, Ordering::SeqCst) {
            self.thread.unpark();
        }
        Running(self)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.shared.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Shared {
    /// Sleeps until woken if nothing runs; says whether it did.
    fn sleeps_while_idle(&self) -> bool {
        if self.running.load(Ordering::SeqCst) > 0 {
            return false;
        }
        self.asleep.store(true, Ordering::SeqCst);
        // Looked at again after saying so: a call that began in between has not seen that this thread sleeps.
        if self.running.load(Ordering::SeqCst) == 0 && !self.closed.load(Ordering::SeqCst) {
            thread::park();
        }
        self.asleep.store(false, Ordering::SeqCst);
        true
    }
}

/// Waits for the whole time, however often it is woken.
fn wait(time: Duration) {
    let end = Instant::now() + time;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::park_timeout(left);
    }
}
