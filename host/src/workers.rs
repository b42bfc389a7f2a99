//! Starts and stops the work of a host: its watches, and the workers that empty its queues.

use crate::control;
use crate::host::Host;
use crate::queue::Ended;
use crate::reconcile::{panicked, reconcile};
use crate::reconcilers::settle;
use crate::router::Router;
use futures::FutureExt;
use std::fmt::Display;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// How many Reconcilers are looked at at once; those that wait for a compiler do not delay the others.
const SETTLING_WORKERS: usize = 8;
/// How long running decisions may take to end when the host stops.
const STOP_DEADLINE: Duration = Duration::from_secs(15);

impl Host {
    /// Opens the host's own watches and starts its workers. Returns at once: nothing at the start waits for a cluster,
    /// a CRD or a module (F-01).
    pub fn start(self: &Arc<Self>) {
        self.watches.observed_by(Arc::new(Router::new(Arc::downgrade(self))));
        control::watch(self);
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..self.settings.workers {
            let host = Arc::clone(self);
            workers.spawn(async move {
                while let Some(key) = host.decisions.next().await {
                    let ended = guarded(&key, reconcile(&host, &key)).await;
                    if ended.is_none() {
                        host.metrics.panics.inc();
                        guarded(&key, panicked(&host, &key)).await;
                    }
                    host.decisions
                        .ended(&key, ended.unwrap_or(Ended::Failed), host.jitter());
                }
            });
        }
        for _ in 0..SETTLING_WORKERS {
            let host = Arc::clone(self);
            workers.spawn(async move {
                while let Some(id) = host.settling.next().await {
                    let ended = guarded(&id, Box::pin(settle(&host, &id))).await;
                    host.settling.ended(&id, ended.unwrap_or(Ended::Failed), host.jitter());
                }
            });
        }
    }

    /// Stops: takes no new work, lets what runs come to its end, and closes every watch.
    pub async fn stop(&self) {
        self.decisions.close();
        self.settling.close();
        let mut workers = std::mem::take(&mut *self.workers.lock().unwrap_or_else(PoisonError::into_inner));
        let ended = tokio::time::timeout(STOP_DEADLINE, async { while workers.join_next().await.is_some() {} }).await;
        if ended.is_err() {
            tracing::warn!(deadline = ?STOP_DEADLINE, "some decisions did not end in time; they are dropped");
        }
        self.watches.close();
    }
}

/// Runs to the end or to a panic, which stops at this one key (G-07); none after a panic.
async fn guarded(key: &impl Display, run: impl Future<Output = Ended>) -> Option<Ended> {
    match AssertUnwindSafe(run).catch_unwind().await {
        Ok(ended) => Some(ended),
        Err(_) => {
            tracing::error!(%key, "a fault of the host's own ended this run; it is tried again later");
            None
        }
    }
}
