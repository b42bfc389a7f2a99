//! Is a cluster for whoever only looks: reads with a person's rights, and writes nothing.

use crate::cluster::{Cluster, ReadError, WatchEvent, WatchKey};
use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use windlass_core::kind::{KindInfo, KindRef};
use windlass_core::manifest::Projection;
use windlass_core::object::Object;
use windlass_core::rights::{Access, in_words};
use windlass_core::schema::Served;
use windlass_core::write::{Identity, Target, Write, WriteError};

/// Where somebody looks at.
pub(super) struct Looking {
    cluster: Arc<dyn Cluster>,
    /// Rights of the account that the person may not ask for, and that it is taken to have.
    believed: Mutex<BTreeSet<Believed>>,
}

/// Verb, group, resource, namespace: an access that has an order.
type Believed = (String, String, String, Option<String>);

impl Looking {
    pub(super) fn new(cluster: Arc<dyn Cluster>) -> Self {
        Self {
            cluster,
            believed: Mutex::default(),
        }
    }

    /// All objects of a kind with these labels.
    ///
    /// # Errors
    /// A sentence that names what cannot be listed, and why.
    pub(super) async fn list(&self, key: WatchKey) -> Result<Vec<Object>, String> {
        let place = key.namespace.clone();
        let place = place.map_or_else(String::new, |namespace| format!(" in namespace {namespace}"));
        let what = format!("{}{place}", key.kind.plural);
        // What a watch brings first is all that is there.
        match self.cluster.watch(key).next().await {
            Some(WatchEvent::Listed(objects)) => Ok(objects),
            Some(WatchEvent::Failed(words)) => Err(format!("{what} cannot be listed: {words}")),
            _ => Err(format!("{what} cannot be listed")),
        }
    }

    /// The metadata of all objects of a kind in a namespace.
    pub(super) async fn list_metadata(&self, kind: KindInfo, namespace: &str) -> Result<Vec<Object>, String> {
        let key = WatchKey {
            kind,
            namespace: Some(namespace.into()),
            selector: String::new(),
            projection: Projection::Metadata,
        };
        self.list(key).await
    }

    /// One object whole; none if it is not there.
    ///
    /// # Errors
    /// A sentence that names it, and why it cannot be read.
    pub(super) async fn find(&self, target: &Target) -> Result<Option<Object>, String> {
        let found = self.cluster.get(target).await;
        found.map_err(|error| format!("{} cannot be read: {error}", target.reference()))
    }

    /// The rights of the account that were believed, in words.
    pub(super) fn believed(&self) -> Vec<String> {
        let believed = self.believed.lock().unwrap_or_else(PoisonError::into_inner);
        let access = |(verb, group, resource, namespace): &Believed| Access {
            verb: verb.clone(),
            group: group.clone(),
            resource: resource.clone(),
            namespace: namespace.clone(),
        };
        in_words(&believed.iter().map(access).collect::<Vec<_>>())
    }
}

#[async_trait]
impl Cluster for Looking {
    async fn discover(&self, kind: &KindRef) -> Result<Option<Served>, ReadError> {
        self.cluster.discover(kind).await
    }

    fn watch(&self, key: WatchKey) -> BoxStream<'static, WatchEvent> {
        self.cluster.watch(key)
    }

    async fn get(&self, target: &Target) -> Result<Option<Object>, ReadError> {
        self.cluster.get(target).await
    }

    async fn apply(&self, _: &Write) -> Result<Option<Object>, WriteError> {
        Err(WriteError::Forbidden("nothing is written here".into()))
    }

    /// Few people may act as the account. For everybody else it is taken to have what it needs: the host asks at each
    /// decision, and a right that is missing is in the status.
    async fn review(&self, identity: &Identity, access: &Access) -> Result<bool, ReadError> {
        match self.cluster.review(identity, access).await {
            Err(ReadError::Forbidden(_)) => {
                let Access {
                    verb,
                    group,
                    resource,
                    namespace,
                } = access.clone();
                let mut believed = self.believed.lock().unwrap_or_else(PoisonError::into_inner);
                believed.insert((verb, group, resource, namespace));
                Ok(true)
            }
            answer => answer,
        }
    }
}
