//! The port through which everything of the host sees and changes a cluster: the real API server, or one in memory.

use async_trait::async_trait;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use windlass_core::kind::{KindInfo, KindRef};
use windlass_core::manifest::Projection;
use windlass_core::object::Object;
use windlass_core::rights::Access;
use windlass_core::schema::Served;
use windlass_core::write::{Identity, Target, Write, WriteError};

pub mod kube;
pub mod memory;

/// Which objects a watch brings, and how much of each. Equal keys share one watch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WatchKey {
    /// The kind.
    pub kind: KindInfo,
    /// One namespace, or none for all of them and for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// Label selector in kubectl's syntax; empty selects all.
    pub selector: String,
    /// How much of each object is kept.
    pub projection: Projection,
}

/// What a watch brings. Objects are already cut to the key's projection, with our own managedFields entries.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// The complete list: what is stored and not in it is gone. Comes first, and again after every break.
    Listed(Vec<Object>),
    /// Came or changed.
    Applied(Object),
    /// Went; the last state.
    Deleted(Object),
    /// The watch broke and will be tried again; the server's words. What was known stays.
    Failed(String),
}

/// Why a question to the cluster has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The identity may not read this.
    #[error("forbidden: {0}")]
    Forbidden(String),
    /// The request itself is refused: a wrong selector, or credentials that are not accepted.
    #[error("refused by the API server: {0}")]
    Refused(String),
    /// No connection, overload, time-out.
    #[error("API server unavailable: {0}")]
    Unavailable(String),
}

/// A cluster, as the host uses it.
///
/// Guarantees: a write is sent exactly as given or fails; nothing is retried inside. A watch never ends.
#[async_trait]
pub trait Cluster: Send + Sync + 'static {
    /// How a kind is served now; none if it is not.
    async fn discover(&self, kind: &KindRef) -> Result<Option<Served>, ReadError>;

    /// Lists and follows, as the host itself, for ever; breaks are reported and mended inside, with growing delays.
    fn watch(&self, key: WatchKey) -> BoxStream<'static, WatchEvent>;

    /// One object whole and live, as the host itself; none if it is not there.
    async fn get(&self, target: &Target) -> Result<Option<Object>, ReadError>;

    /// Carries out one write; gives the object as it is then, none where nothing is left of it. The words of an error about
    /// a Secret quote none of its values (I-06).
    async fn apply(&self, write: &Write) -> Result<Option<Object>, WriteError>;

    /// Whether an identity may do something, from the cluster's own authorizer.
    async fn review(&self, identity: &Identity, access: &Access) -> Result<bool, ReadError>;
}
