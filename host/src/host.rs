//! Holds the parts of a running host together: the port, the store, the queues, and what runs for each Reconciler.

use crate::cluster::Cluster;
use crate::control;
use crate::guest::Loader;
use crate::kinds::Kinds;
use crate::metrics::Metrics;
use crate::modules::Modules;
use crate::permissions::Permissions;
use crate::queue::{Ended, Queue};
use crate::reconcile::reconcile;
use crate::reconcilers::{Reconcilers, settle};
use crate::router::Router;
use crate::seed;
use crate::settings::Settings;
use crate::store::Store;
use crate::store::watches::{Observe, Watches};
use futures::FutureExt;
use std::fmt::Display;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::task::JoinSet;
use windlass_core::backoff::Backoff;
use windlass_core::key::{Key, ReconcilerId};

/// A running host.
///
/// Expected flow: [`Host::new`], [`Host::start`], and when it is to end [`Host::stop`].
pub struct Host {
    /// What the host was told at its start.
    pub settings: Settings,
    /// The only way to the cluster.
    pub cluster: Arc<dyn Cluster>,
    /// What the watches brought.
    pub store: Arc<Store>,
    /// The watches that are open.
    pub watches: Watches,
    /// Which kinds are served, and how.
    pub kinds: Kinds,
    /// Which account may do what.
    pub permissions: Permissions,
    /// Turns bytes into modules.
    pub loader: Loader,
    /// Modules in use, shared by digest.
    pub modules: Modules,
    /// Primaries that want a decision.
    pub decisions: Queue<Key>,
    /// Reconcilers that want to be looked at.
    pub settling: Queue<ReconcilerId>,
    /// What runs for each Reconciler.
    pub reconcilers: Reconcilers,
    /// Counts and times.
    pub metrics: Metrics,
    observer: OnceLock<Arc<dyn Observe>>,
    workers: Mutex<JoinSet<()>>,
    seed_key: OnceCell<Vec<u8>>,
}

/// Delays of a failing primary: from one second to half a minute (G-02).
const DECISION_BACKOFF: Backoff = Backoff {
    first: Duration::from_secs(1),
    factor: 2.0,
    cap: Duration::from_secs(30),
};
/// Delays of a Reconciler that waits for something that no watch shows, such as a role binding.
const SETTLING_BACKOFF: Backoff = Backoff {
    first: Duration::from_millis(500),
    factor: 1.6,
    cap: Duration::from_secs(10),
};
/// How many Reconcilers are looked at at once; one that compiles does not delay the others.
const SETTLING_WORKERS: usize = 4;
/// How long running decisions may take to end when the host stops.
const STOP_DEADLINE: Duration = Duration::from_secs(15);

impl Host {
    /// Puts a host together; nothing runs yet.
    pub fn new(settings: Settings, cluster: Arc<dyn Cluster>, loader: Loader) -> Arc<Self> {
        let store = Arc::new(Store::default());
        let host = Arc::new(Self {
            watches: Watches::new(Arc::clone(&cluster), Arc::clone(&store)),
            kinds: Kinds::default(),
            permissions: Permissions::default(),
            modules: Modules::default(),
            decisions: Queue::new(DECISION_BACKOFF),
            settling: Queue::new(SETTLING_BACKOFF),
            reconcilers: Reconcilers::default(),
            metrics: Metrics::default(),
            observer: OnceLock::new(),
            workers: Mutex::new(JoinSet::new()),
            seed_key: OnceCell::new(),
            settings,
            cluster,
            store,
            loader,
        });
        let router: Arc<dyn Observe> = Arc::new(Router::new(Arc::downgrade(&host)));
        host.observer.get_or_init(|| router);
        host
    }

    /// Opens the host's own watches and starts its workers. Returns at once: nothing at the start waits for a cluster,
    /// a CRD or a module (F-01).
    pub fn start(self: &Arc<Self>) {
        control::watch(self);
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..self.settings.workers {
            let host = Arc::clone(self);
            workers.spawn(async move {
                while let Some(key) = host.decisions.next().await {
                    let ended = guarded(&key, reconcile(&host, &key)).await;
                    if ended.is_none() {
                        host.metrics.panics.inc();
                    }
                    host.decisions.ended(&key, ended.unwrap_or(Ended::Failed), jitter());
                }
            });
        }
        for _ in 0..SETTLING_WORKERS {
            let host = Arc::clone(self);
            workers.spawn(async move {
                while let Some(id) = host.settling.next().await {
                    let ended = guarded(&id, settle(&host, &id)).await;
                    host.settling.ended(&id, ended.unwrap_or(Ended::Failed), jitter());
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

    /// Whether nothing waits to be done now; what waits for a later time does not count.
    pub fn is_idle(&self) -> bool {
        self.settling.is_idle() && self.decisions.is_idle()
    }

    /// Whoever is told what watches brought.
    pub fn observer(&self) -> Arc<dyn Observe> {
        Arc::clone(
            self.observer
                .get_or_init(|| Arc::new(Router::new(std::sync::Weak::new()))),
        )
    }

    /// The time, from the only place that asks for it.
    pub fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::now()
    }

    /// The host's key for seeds, read once.
    ///
    /// # Errors
    /// A sentence, if it can neither be read nor made.
    pub async fn seed_key(&self) -> Result<Vec<u8>, String> {
        self.seed_key.get_or_try_init(|| seed::key(self)).await.cloned()
    }
}

/// A number in 0..1 that spreads delays; without randomness the longest delay.
fn jitter() -> f64 {
    getrandom::u32().map_or(1.0, |random| f64::from(random) / f64::from(u32::MAX))
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
