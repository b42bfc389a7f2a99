//! A cluster in memory, on which `windlass simulate` and the pipeline tests run.
//!
//! It behaves like the API server where the host can tell the difference: resourceVersion, uid, generation, status
//! subresource, finalizers, preconditions, server-side apply with field ownership, watches. What the cluster's
//! controllers do some moments after a write (garbage collection, emptying a Namespace) is done here before the write
//! returns, so that runs are repeatable. Nothing reads the time or a random number by itself.
//!
//! Namespaces: a write through the port into a Namespace that is not there fails, as on the API server. The methods for
//! people and tests, and [`MemoryCluster::load`], make it. `default` and `kube-system` are there from the start.
//!
//! Known differences: controllers run no workloads (no pods come from a Deployment); Pods go at once when deleted; of the
//! builtin kinds' schemas only what the files `check`, `normal` and `shape` say is known; `pattern`, `oneOf` and CEL
//! rules of CRDs are not checked; `generateName` and Secret `stringData` are not turned into what they stand for;
//! versions of a CRD are served as with conversion strategy None.

use self::attempt::{Attempt, Force, Operation};
use self::history::Author;
use self::store::{Place, Shared, State};
use self::watch::WatchStream;
use super::{Cluster, ReadError, WatchEvent, WatchKey};
use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;
use windlass_core::kind::{KindInfo, KindRef};
use windlass_core::object::Object;
use windlass_core::rights::Access;
use windlass_core::schema::Served;
use windlass_core::write::{Identity, Request, Target, Write, WriteError};

mod kinds;
mod store;
mod attempt;
mod write;
mod change;
mod delete;
mod watch;
mod review;
mod history;
mod people;

mod check;
mod normal;
mod schema;
mod typed;
mod fields;
mod compare;
mod writer;
mod managed;
#[cfg(test)]
mod tests;

pub use self::history::{Author as WriteAuthor, Recorded, Verb};
pub use self::normal::canonical_quantity;
pub use self::review::AccessPattern;

/// A cluster in memory. Clones are the same cluster.
#[derive(Clone)]
pub struct MemoryCluster {
    shared: Arc<Shared>,
}

impl MemoryCluster {
    /// A cluster whose clock stands at `start` until it is [advanced](Self::advance).
    pub fn starting_at(start: Timestamp) -> Self {
        Self::with_clock(move || start)
    }

    /// A cluster that takes the time from a function.
    pub fn with_clock(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        let cluster = Self {
            shared: Arc::new(Shared::new(State::new(Box::new(now)))),
        };
        for name in ["default", "kube-system"] {
            cluster.ensure_namespace(name);
        }
        cluster
    }

    /// Moves the clock on.
    pub fn advance(&self, by: SignedDuration) {
        self.shared.with(|state| state.advance(by));
    }

    /// Serves a kind that is known by somebody's word only, without a schema, such as a module's.
    pub fn declare(&self, kind: KindInfo) {
        self.shared.with(|state| {
            state.kinds.declare(kind);
            state.refresh_watches();
        });
    }

    /// Lets the next writes through the port fail.
    pub fn fail_next_writes(&self, count: usize, error: WriteError) {
        self.shared
            .with(|state| state.failures.extend(std::iter::repeat_n(error, count)));
    }

    /// Breaks every watch; each says so, and lists again.
    pub fn break_watches(&self) {
        self.shared
            .with(|state| state.break_watches("too old resource version"));
    }

    /// Refuses an identity what the pattern touches.
    pub fn deny(&self, identity: Identity, pattern: AccessPattern) {
        self.shared.with(|state| {
            state.rights.deny(identity, pattern);
            state.refresh_watches();
        });
    }

    /// Leaves an identity only what these rules grant.
    pub fn restrict(&self, identity: Identity, rules: Vec<AccessPattern>) {
        self.shared.with(|state| {
            state.rights.restrict(identity, rules);
            state.refresh_watches();
        });
    }

    /// Allows an identity everything again.
    pub fn lift(&self, identity: &Identity) {
        self.shared.with(|state| {
            state.rights.lift(identity);
            state.refresh_watches();
        });
    }

    /// How many watches are open.
    pub fn open_watches(&self) -> usize {
        self.shared.with(|state| state.watches.len())
    }

    /// Whether the consumer of every open watch has taken all events and come back for more, so that whatever it does
    /// with an event before it asks for the next is done.
    pub fn is_drained(&self) -> bool {
        self.shared.with(|state| state.watches.drained())
    }

    /// Waits until [`is_drained`](Self::is_drained).
    pub async fn delivered(&self) {
        loop {
            let taken = self.shared.taken.notified();
            tokio::pin!(taken);
            taken.as_mut().enable();
            if self.is_drained() {
                return;
            }
            taken.await;
        }
    }

    /// How many writes there were; what [`writes_since`](Self::writes_since) starts from.
    pub fn mark(&self) -> usize {
        self.shared.with(|state| state.history.len())
    }

    /// The writes since a mark, refused ones and the cluster's own included, in their order.
    pub fn writes_since(&self, mark: usize) -> Vec<Recorded> {
        self.shared
            .with(|state| state.history.get(mark..).map(<[Recorded]>::to_vec).unwrap_or_default())
    }

    fn write(&self, attempt: &Attempt<'_>) -> Result<Option<Object>, WriteError> {
        self.shared.with(|state| state.write(attempt))
    }
}

/// What the port's request is here.
fn operation(request: &Request) -> Operation<'_> {
    match request {
        Request::Create(object) => Operation::Create(object),
        Request::Apply { object, force } => Operation::Apply(object, if *force { Force::Yes } else { Force::No }),
        Request::JsonPatch(operations) => Operation::JsonPatch(operations),
        Request::MergePatch(patch) => Operation::MergePatch(patch),
        Request::Delete {
            uid,
            resource_version,
            propagation,
        } => Operation::Delete {
            uid,
            resource_version,
            propagation: *propagation,
        },
    }
}

#[async_trait]
impl Cluster for MemoryCluster {
    async fn discover(&self, kind: &KindRef) -> Result<Option<Served>, ReadError> {
        Ok(self
            .shared
            .with(|state| state.kinds.find(kind))
            .map(|kind| kind.served.clone()))
    }

    fn watch(&self, key: WatchKey) -> BoxStream<'static, WatchEvent> {
        let id = self.shared.with(|state| state.open_watch(key));
        WatchStream {
            shared: self.shared.clone(),
            id,
        }
        .boxed()
    }

    async fn get(&self, target: &Target) -> Result<Option<Object>, ReadError> {
        let place = Place::new(&target.kind.of, target.namespace.as_deref(), &target.name);
        self.shared.with(|state| {
            let access = Access {
                verb: "get".into(),
                group: target.kind.of.group.clone(),
                resource: target.kind.plural.clone(),
                namespace: target.namespace.clone(),
            };
            if !state.rights.allows(&Identity::Host, &access) {
                return Err(ReadError::Forbidden(review::refusal(
                    &Identity::Host,
                    &access,
                    &target.name,
                )));
            }
            Ok(state.read(&place, &target.kind.of))
        })
    }

    async fn apply(&self, write: &Write) -> Result<Option<Object>, WriteError> {
        let attempt = Attempt {
            author: Author::Through(write.identity.clone()),
            target: &write.target,
            subresource: write.subresource,
            manager: &write.manager,
            operation: operation(&write.request),
        };
        self.shared.with(|state| match state.failures.pop_front() {
            Some(error) => state.refuse(&attempt, error),
            None => state.write(&attempt),
        })
    }

    async fn review(&self, identity: &Identity, access: &Access) -> Result<bool, ReadError> {
        Ok(self.shared.with(|state| state.rights.allows(identity, access)))
    }
}
