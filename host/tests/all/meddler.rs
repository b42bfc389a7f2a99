//! Stands between a host and its cluster, and does what a test says at the moment a test chooses.

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;
use windlass::cluster::memory::MemoryCluster;
use windlass::cluster::{Cluster, ReadError, WatchEvent, WatchKey};
use windlass_core::kind::KindRef;
use windlass_core::object::Object;
use windlass_core::rights::Access;
use windlass_core::schema::Served;
use windlass_core::write::{Identity, Target, Write, WriteError};

type Step = Box<dyn FnMut(&Write) -> Verdict + Send>;

/// What becomes of a write.
pub(crate) enum Verdict {
    /// It goes on to the cluster.
    Pass,
    /// Another goes on in its place, as if a webhook had changed it.
    Instead(Box<Write>),
    /// It fails like this, and never reaches the cluster.
    Fail(WriteError),
    /// It is done, and its answer never comes.
    Swallow,
}

/// A cluster in memory with somebody in between. Clones are the same.
#[derive(Clone)]
pub(crate) struct Meddler {
    cluster: MemoryCluster,
    before: Arc<Mutex<Option<Step>>>,
    /// The kind whose watches are behind until this is another.
    behind: Arc<watch::Sender<Option<KindRef>>>,
    /// The kind whose objects cannot be read one by one.
    unreadable: Arc<Mutex<Option<KindRef>>>,
}

impl Meddler {
    pub(crate) fn new(cluster: &MemoryCluster) -> Self {
        Self {
            cluster: cluster.clone(),
            before: Arc::default(),
            behind: Arc::new(watch::Sender::new(None)),
            unreadable: Arc::default(),
        }
    }

    /// Sees every write from now on before the cluster does.
    pub(crate) fn before_writes(&self, step: impl FnMut(&Write) -> Verdict + Send + 'static) {
        *self.before.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(step));
    }

    /// Lets everything pass again.
    pub(crate) fn let_pass(&self) {
        *self.before.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.behind.send_replace(None);
        *self.unreadable.lock().unwrap() = None;
    }

    /// Lets no object of a kind be read.
    pub(crate) fn fail_reads_of(&self, kind: KindRef) {
        *self.unreadable.lock().unwrap() = Some(kind);
    }

    /// Lets everything be read again.
    pub(crate) fn let_reads_pass(&self) {
        *self.unreadable.lock().unwrap() = None;
    }

    /// Holds back what the watches of a kind have to say.
    pub(crate) fn hold_back(&self, kind: KindRef) {
        self.behind.send_replace(Some(kind));
    }
}

#[async_trait]
impl Cluster for Meddler {
    async fn discover(&self, kind: &KindRef) -> Result<Option<Served>, ReadError> {
        self.cluster.discover(kind).await
    }

    fn watch(&self, key: WatchKey) -> BoxStream<'static, WatchEvent> {
        let behind = self.behind.subscribe();
        let of = key.kind.of.clone();
        let in_time = move |event| {
            let (mut behind, of) = (behind.clone(), of.clone());
            async move {
                let _ = behind.wait_for(|behind| behind.as_ref() != Some(&of)).await;
                event
            }
        };
        self.cluster.watch(key).then(in_time).boxed()
    }

    async fn get(&self, target: &Target) -> Result<Option<Object>, ReadError> {
        if self.unreadable.lock().unwrap().as_ref() == Some(&target.kind.of) {
            return Err(ReadError::Unavailable("there is no connection".into()));
        }
        self.cluster.get(target).await
    }

    async fn apply(&self, write: &Write) -> Result<Option<Object>, WriteError> {
        let verdict = self
            .before
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_mut()
            .map(|step| step(write));
        match verdict {
            Some(Verdict::Fail(error)) => Err(error),
            Some(Verdict::Instead(other)) => self.cluster.apply(&other).await,
            Some(Verdict::Swallow) => {
                // Whatever it was.
                let _ = self.cluster.apply(write).await;
                Err(WriteError::Unanswered("no answer within 30 s".into()))
            }
            Some(Verdict::Pass) | None => self.cluster.apply(write).await,
        }
    }

    async fn review(&self, identity: &Identity, access: &Access) -> Result<bool, ReadError> {
        self.cluster.review(identity, access).await
    }
}
