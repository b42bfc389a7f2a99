//! Counts what the host does, for /metrics; labels are Reconcilers and short lists of words, never names of other objects.

use crate::guest::{Loader, Runtime};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::time::Duration;
use windlass_core::decision::{Decided, FailureKind, FaultKind};
use windlass_core::key::ReconcilerId;
use windlass_core::report::requeue;
use windlass_core::write::{Request, WriteError};

/// What a decision can come to.
const RESULTS: [&str; 9] = [
    "Decided",
    "Waiting",
    "Invalid",
    "FinalizeSkipped",
    "GuestTrapped",
    "GuestTimedOut",
    "GuestOutOfMemory",
    "GuestOutputRejected",
    "InternalError",
];

/// Reconciler and result of a decision.
///
/// Never the name that a guest gives itself: each change of its settings could make it another one, and a new counter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabels {
    /// Namespace and name.
    reconciler: String,
    result: &'static str,
}

/// Verb and result of a write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WriteLabels {
    verb: &'static str,
    result: &'static str,
}

/// Why a module was refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: String,
}

/// What came of a look into the cache of compiled code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CacheLabels {
    result: &'static str,
}

/// How instances are allocated.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ModeLabels {
    mode: &'static str,
}

/// What is counted where guests run. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct GuestMetrics {
    /// Calls in which a guest wanted more memory or table entries than it may have, also those that went on without.
    pub memory_denied: Counter,
    /// Instances that found no slot at first, and got one later (E-11).
    pub slot_retries: Counter,
}

/// What is counted where modules are compiled. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct CompileMetrics {
    /// Modules compiled.
    pub compiles: Counter,
    cache: Family<CacheLabels, Counter>,
}

impl CompileMetrics {
    /// Counts a look into the cache, or a write that failed; the result is one of a fixed list.
    pub fn cache(&self, result: &'static str) {
        self.cache.get_or_create(&CacheLabels { result }).inc();
    }

    /// How often a result was counted.
    pub fn cache_count(&self, result: &'static str) -> u64 {
        self.cache.get_or_create(&CacheLabels { result }).get()
    }
}

/// Everything that is counted.
pub struct Metrics {
    decisions: Family<DecisionLabels, Counter>,
    requeues_clamped: Counter,
    /// Events of guests that were not written, since there were too many about one primary.
    pub events_dropped: Counter,
    decision_seconds: Histogram,
    writes: Family<WriteLabels, Counter>,
    modules_refused: Family<ReasonLabels, Counter>,
    /// Modules taken up.
    pub swaps: Counter,
    /// Runs that a fault of the host's own ended.
    pub panics: Counter,
    /// Times that a guest was paused, or once more.
    pub pauses: Counter,
    queue_depth: Gauge,
    reconcilers_active: Gauge,
    reconcilers_paused: Gauge,
    watches: Gauge,
    tasks: Gauge,
    guest_calls_in_flight: Gauge,
    runtime: Runtime,
    registry: Registry,
}

/// What is counted at the moment of asking.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauges {
    /// Primaries that wait for a decision.
    pub queue_depth: usize,
    /// Reconcilers whose module runs.
    pub reconcilers_active: usize,
    /// Reconcilers whose guest is paused.
    pub reconcilers_paused: usize,
    /// Watches that are open.
    pub watches: usize,
    /// Tasks of the executor.
    pub tasks: usize,
}

impl Metrics {
    /// Starts at zero, but for what the loader and its runtime counted already.
    pub fn new(loader: &Loader) -> Self {
        let (compile, runtime) = (loader.metrics(), loader.runtime());
        let mut metrics = Self {
            decisions: Family::default(),
            requeues_clamped: Counter::default(),
            events_dropped: Counter::default(),
            decision_seconds: Histogram::new(exponential_buckets(0.000_05, 4.0, 10)),
            writes: Family::default(),
            modules_refused: Family::default(),
            swaps: Counter::default(),
            panics: Counter::default(),
            pauses: Counter::default(),
            queue_depth: Gauge::default(),
            reconcilers_active: Gauge::default(),
            reconcilers_paused: Gauge::default(),
            watches: Gauge::default(),
            tasks: Gauge::default(),
            guest_calls_in_flight: Gauge::default(),
            runtime: runtime.clone(),
            registry: Registry::with_prefix("windlass"),
        };
        metrics.register();
        metrics
            .registry
            .register("compiles", "Modules compiled", compile.compiles.clone());
        metrics.registry.register(
            "compile_cache",
            "Looks into the cache of compiled code, and failed writes to it, by result",
            compile.cache.clone(),
        );
        metrics.register_guests();
        metrics
    }

    /// What the runtime counts, and how it is set up.
    fn register_guests(&mut self) {
        let guests = self.runtime.metrics();
        self.registry.register(
            "guest_memory_denied",
            "Guest calls that wanted more memory or table entries than they may have, also those that went on without",
            guests.memory_denied.clone(),
        );
        self.registry.register(
            "guest_slot_retries",
            "Instances that found no free slot in the pool, and were made again a moment later",
            guests.slot_retries.clone(),
        );
        self.registry.register(
            "guest_calls_in_flight",
            "Decisions and descriptions for which an instance is held now",
            self.guest_calls_in_flight.clone(),
        );
        let mode = Family::<ModeLabels, Gauge>::default();
        let labels = ModeLabels {
            mode: self.runtime.capacity().allocation.name(),
        };
        mode.get_or_create(&labels).set(1);
        self.registry
            .register("pool_mode", "How instances are allocated: 1 for the mode in use", mode);
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "decisions",
            "Decisions taken, by Reconciler and result",
            self.decisions.clone(),
        );
        registry.register(
            "requeues_clamped",
            "Decisions whose wish to be decided again was shorter or longer than the host allows",
            self.requeues_clamped.clone(),
        );
        registry.register(
            "events_dropped",
            "Events of guests that were not written, since there were too many about one primary",
            self.events_dropped.clone(),
        );
        registry.register(
            "decision_seconds",
            "Time of a decision, answers included",
            self.decision_seconds.clone(),
        );
        registry.register("writes", "Writes sent, by verb and result", self.writes.clone());
        registry.register(
            "modules_refused",
            "Modules refused, by reason",
            self.modules_refused.clone(),
        );
        registry.register("swaps", "Modules taken up", self.swaps.clone());
        registry.register(
            "reconcile_panics",
            "Runs that a fault of the host's own ended",
            self.panics.clone(),
        );
        registry.register(
            "pauses",
            "Times that a guest was paused since it faulted on one primary after the other",
            self.pauses.clone(),
        );
        registry.register(
            "reconcilers_paused",
            "Reconcilers whose guest is paused now",
            self.reconcilers_paused.clone(),
        );
        registry.register(
            "queue_depth",
            "Primaries that wait for a decision now",
            self.queue_depth.clone(),
        );
        registry.register(
            "reconcilers_active",
            "Reconcilers whose module runs",
            self.reconcilers_active.clone(),
        );
        registry.register("watches", "Watches that are open", self.watches.clone());
        registry.register("tasks", "Tasks of the executor", self.tasks.clone());
    }

    /// Counts a decision.
    pub fn decided(&self, reconciler: &ReconcilerId, decided: &Decided, time: Duration) {
        self.decisions.get_or_create(&labels(reconciler, result(decided))).inc();
        self.decision_seconds.observe(time.as_secs_f64());
        if let Decided::Outcome(outcome) | Decided::Proceed(outcome) = decided
            && outcome.requeue_after.is_some_and(|asked| requeue(asked) != asked)
        {
            self.requeues_clamped.inc();
        }
    }

    /// Forgets a Reconciler that is gone.
    ///
    /// Stops: whoever makes and deletes Reconcilers filling the host's memory, and the monitoring's, with counters.
    pub fn forget(&self, reconciler: &ReconcilerId) {
        for result in RESULTS {
            self.decisions.remove(&labels(reconciler, result));
        }
    }

    /// Counts a write.
    pub fn wrote(&self, request: &Request, error: Option<&WriteError>) {
        let verb = match request {
            Request::Create(_) => "create",
            Request::Apply { .. } => "apply",
            Request::JsonPatch(_) | Request::MergePatch(_) => "patch",
            Request::Delete { .. } => "delete",
        };
        let result = match error {
            None => "Done",
            Some(WriteError::AlreadyExists) => "AlreadyExists",
            Some(WriteError::Conflict(_)) => "Conflict",
            Some(WriteError::Stale(_)) => "Stale",
            Some(WriteError::NotFound(_)) => "NotFound",
            Some(WriteError::Forbidden(_)) => "Forbidden",
            Some(WriteError::Invalid(_)) => "Invalid",
            Some(WriteError::Refused(_)) => "Refused",
            Some(WriteError::Unavailable(_)) => "Unavailable",
            Some(WriteError::Dropped(_)) => "Dropped",
            Some(WriteError::Busy { .. }) => "Busy",
            Some(WriteError::Unanswered(_)) => "Unanswered",
        };
        self.writes.get_or_create(&WriteLabels { verb, result }).inc();
    }

    /// Counts a refused module; the reason is one of a fixed list.
    pub fn module_refused(&self, reason: &str) {
        self.modules_refused
            .get_or_create(&ReasonLabels { reason: reason.into() })
            .inc();
    }

    /// Everything in the Prometheus text format, with the gauges as they are now.
    pub fn text(&self, now: &Gauges) -> String {
        for (gauge, value) in [
            (&self.queue_depth, now.queue_depth),
            (&self.reconcilers_active, now.reconcilers_active),
            (&self.reconcilers_paused, now.reconcilers_paused),
            (&self.watches, now.watches),
            (&self.tasks, now.tasks),
            (&self.guest_calls_in_flight, self.runtime.calls_in_flight()),
        ] {
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        let mut text = String::new();
        match encode(&mut text, &self.registry) {
            Ok(()) => text,
            Err(error) => format!("# metrics could not be written: {error}\n"),
        }
    }
}

fn labels(reconciler: &ReconcilerId, result: &'static str) -> DecisionLabels {
    DecisionLabels {
        reconciler: reconciler.to_string(),
        result,
    }
}

/// One of [`RESULTS`]; of a fault, the same word as in the primary's status.
fn result(decided: &Decided) -> &'static str {
    match decided {
        Decided::Outcome(_) | Decided::Proceed(_) | Decided::Done | Decided::Leaving => "Decided",
        Decided::Skipped(_) => "FinalizeSkipped",
        Decided::Failed(failure) if failure.kind == FailureKind::Waiting => "Waiting",
        Decided::Failed(_) => "Invalid",
        Decided::Faulted(fault) => match fault.kind {
            FaultKind::GuestTrapped => "GuestTrapped",
            FaultKind::GuestTimedOut => "GuestTimedOut",
            FaultKind::GuestOutOfMemory => "GuestOutOfMemory",
            FaultKind::GuestOutputRejected => "GuestOutputRejected",
            FaultKind::InternalError => "InternalError",
        },
    }
}

#[cfg(test)]
mod tests;
