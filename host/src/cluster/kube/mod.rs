//! Talks to a real API server.
//!
//! Everything here works on untyped JSON: what is sent is a [`http::Request`] made by hand from a [`Write`] or a
//! [`WatchKey`], what comes back is an [`Object`]. Of the kube crate only what `connect` and `transport` name is used:
//! how a kubeconfig or a pod's token becomes a connection.
//!
//! Guarantees: nothing is retried except a watch; every request has a deadline; an answer is judged by its code and its
//! reason, never by its words; after an answer with `Retry-After` the same request is not sent before that time.

use super::{Cluster, ReadError, WatchEvent, WatchKey};
use async_trait::async_trait;
use futures::stream::BoxStream;
use std::sync::Arc;
use windlass_core::kind::KindRef;
use windlass_core::object::Object;
use windlass_core::rights::Access;
use windlass_core::schema::Served;
use windlass_core::write::{Identity, Target, Write, WriteError};

mod connect;
mod timing;
mod request;
mod error;
mod throttle;
mod transport;
mod apply;
mod decode;
mod list;
mod watch;
mod discovery;
mod kinds;
mod review;
#[cfg(test)]
mod tests;

pub use connect::ConnectError;
pub use kinds::Resource;
pub use timing::Timing;

use transport::Transport;

/// A connection to one API server, shared by everything in the process; cloning it is cheap.
#[derive(Clone)]
pub struct KubeCluster {
    transport: Transport,
    timing: Arc<Timing>,
    default_namespace: String,
    server: String,
    /// The kubeconfig impersonates somebody already. Its groups would be added to those of a ServiceAccount, which would
    /// then be stronger than it is; so nothing is sent as a ServiceAccount over such a connection.
    impersonates: bool,
}

impl KubeCluster {
    /// The same connection with other deadlines and delays.
    #[must_use]
    pub fn with_timing(self, timing: Timing) -> Self {
        Self {
            transport: self.transport.with_deadline(timing.request),
            timing: Arc::new(timing),
            ..self
        }
    }

    /// The namespace that is meant where none is given: the kubeconfig's, or the pod's own.
    pub fn default_namespace(&self) -> &str {
        &self.default_namespace
    }

    /// Address of the API server, for messages.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Everything the cluster serves that can be listed and watched, in the server's order of preference.
    ///
    /// # Errors
    /// Where the server does not answer, or may not be asked.
    pub async fn resources(&self) -> Result<Vec<Resource>, ReadError> {
        kinds::resources(&self.transport).await
    }

    /// The objects that a watch of this key would begin with.
    ///
    /// # Errors
    /// Where the server does not answer, or does not allow it.
    pub async fn list(&self, key: &WatchKey) -> Result<Vec<Object>, ReadError> {
        Ok(list::all(&self.transport, key).await.map_err(ReadError::from)?.objects)
    }

    /// Those of them that are wanted, so that a kind with very many objects can be looked through.
    ///
    /// # Errors
    /// Where the server does not answer, or does not allow it.
    pub async fn list_only(
        &self,
        key: &WatchKey,
        wanted: &(dyn Fn(&Object) -> bool + Sync),
    ) -> Result<Vec<Object>, ReadError> {
        let listed = list::only(&self.transport, key, wanted).await;
        Ok(listed.map_err(ReadError::from)?.objects)
    }

    /// Refuses to act as a ServiceAccount where the connection would add rights to it.
    fn admits(&self, identity: &Identity) -> Result<(), String> {
        match identity {
            Identity::ServiceAccount { .. } if self.impersonates => Err(
                "the kubeconfig in use impersonates somebody (`as`), so that nobody else can be impersonated over it; \
                     use one without"
                    .into(),
            ),
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl Cluster for KubeCluster {
    async fn discover(&self, kind: &KindRef) -> Result<Option<Served>, ReadError> {
        discovery::served(&self.transport, kind).await
    }

    fn watch(&self, key: WatchKey) -> BoxStream<'static, WatchEvent> {
        watch::follow(self.transport.clone(), Arc::clone(&self.timing), key)
    }

    async fn get(&self, target: &Target) -> Result<Option<Object>, ReadError> {
        apply::get(&self.transport, target).await
    }

    async fn apply(&self, write: &Write) -> Result<Option<Object>, WriteError> {
        self.admits(&write.identity).map_err(WriteError::Forbidden)?;
        apply::apply(&self.transport, write).await
    }

    async fn review(&self, identity: &Identity, access: &Access) -> Result<bool, ReadError> {
        self.admits(identity).map_err(ReadError::Forbidden)?;
        review::allowed(&self.transport, identity, access).await
    }
}
