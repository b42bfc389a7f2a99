//! Holds the parts of a running host together: the port, the store, the queues, and what runs for each Reconciler.

use crate::cluster::Cluster;
use crate::guest::{CacheKey, Loader, Module, Refusal};
use crate::kinds::Kinds;
use crate::metrics::Metrics;
use crate::modules::Modules;
use crate::permissions::Permissions;
use crate::queue::Queue;
use crate::reconcilers::Slots;
use crate::running::{Activation, Running, Standing};
use crate::seed;
use crate::settings::Settings;
use crate::store::Store;
use crate::store::watches::Watches;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::task::JoinSet;
use tokio::time::Instant;
use windlass_core::backoff::Backoff;
use windlass_core::change::Change;
use windlass_core::key::{Key, PrimaryName, ReconcilerId};
use windlass_core::reason::Reason;

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
    pub running: Running,
    /// What settling remembers of each Reconciler.
    pub slots: Slots,
    /// When it was put together.
    pub started: Instant,
    /// Counts and times.
    pub metrics: Metrics,
    /// What runs, until it is stopped.
    pub(crate) workers: Mutex<JoinSet<()>>,
    seed_key: OnceCell<Vec<u8>>,
}

/// How soon after a decision the counts on the Reconciler follow; many decisions make one write.
const COUNTS_DELAY: Duration = Duration::from_secs(1);
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

impl Host {
    /// Puts a host together; nothing runs yet.
    pub fn new(settings: Settings, cluster: Arc<dyn Cluster>, loader: Loader) -> Arc<Self> {
        let store = Arc::new(Store::default());
        Arc::new(Self {
            watches: Watches::new(Arc::clone(&cluster), Arc::clone(&store)),
            kinds: Kinds::default(),
            permissions: Permissions::believed_for(settings.rights_believed),
            modules: Modules::default(),
            decisions: Queue::new(DECISION_BACKOFF),
            settling: Queue::new(SETTLING_BACKOFF),
            running: Running::default(),
            slots: Slots::default(),
            started: Instant::now(),
            metrics: Metrics::new(&loader),
            workers: Mutex::new(JoinSet::new()),
            seed_key: OnceCell::new(),
            settings,
            cluster,
            store,
            loader,
        })
    }

    /// Whether nothing waits to be done now; what waits for a later time does not count.
    pub fn is_idle(&self) -> bool {
        self.settling.is_idle() && self.decisions.is_idle()
    }

    /// Has the rights of a Reconciler asked for again, since one of them was missed.
    pub fn note_a_no(&self, id: &ReconcilerId) {
        self.slots.note_a_no(id);
        self.settling.add(id.clone());
    }

    /// Notes how a primary stands after a decision, and lets the counts on its Reconciler follow; gives what was noted
    /// before.
    pub fn note(&self, id: &ReconcilerId, primary: PrimaryName, standing: &Standing) -> Option<Standing> {
        let before = self.running.note(id, primary, standing.clone());
        if standing.reason == Reason::ApplyForbidden {
            self.slots.note_a_no(id);
        }
        if before.as_ref() != Some(standing) {
            self.settling.add_after(id.clone(), COUNTS_DELAY);
        }
        before
    }

    /// Forgets the primaries that went, and lets the counts on their Reconciler follow.
    pub fn note_primaries(&self, activation: &Activation, changes: &[&Change]) {
        for change in changes {
            if let (Some(old), None) = (&change.old, &change.new) {
                self.running.forget_primary(&activation.id, &PrimaryName::of(old));
            }
        }
        if changes
            .iter()
            .any(|change| change.old.is_none() || change.new.is_none())
        {
            self.settling.add_after(activation.id.clone(), COUNTS_DELAY);
        }
    }

    /// The time, from the only place that asks for it.
    pub fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::now()
    }

    /// A number in 0..1 that spreads delays; without randomness the longest delay.
    pub fn jitter(&self) -> f64 {
        getrandom::u32().map_or(1.0, |random| f64::from(random) / f64::from(u32::MAX))
    }

    /// Takes a module up, with what was compiled before if the loader has a cache.
    ///
    /// # Errors
    /// A [`Refusal`] with the step that the module did not pass.
    pub async fn load(&self, bytes: Vec<u8>) -> Result<Module, Refusal> {
        if !self.loader.has_cache() {
            return self.loader.load(bytes).await;
        }
        match self.seed_key().await {
            Ok(key) => self.loader.load_cached(bytes, CacheKey::derive(&key)).await,
            Err(error) => {
                tracing::warn!("compiled without the cache, which needs the host's key: {error}");
                self.loader.load(bytes).await
            }
        }
    }

    /// The host's key for seeds and for compiled code, read once.
    ///
    /// # Errors
    /// A sentence, if it can neither be read nor made.
    pub async fn seed_key(&self) -> Result<Vec<u8>, String> {
        self.seed_key
            .get_or_try_init(|| seed::key(&*self.cluster, &self.settings.namespace))
            .await
            .cloned()
    }
}
