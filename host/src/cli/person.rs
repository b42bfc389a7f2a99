//! Reads and writes the cluster with the rights of whoever runs the command.

use crate::api::reconciler_kind;
use crate::cluster::kube::{KubeCluster, Resource};
use crate::cluster::{Cluster, ReadError, WatchEvent, WatchKey};
use anyhow::{Context, anyhow, bail};
use futures::stream::BoxStream;
use windlass_core::decision::Propagation;
use windlass_core::key::ReconcilerId;
use windlass_core::kind::KindInfo;
use windlass_core::manifest::Projection;
use windlass_core::object::Object;
use windlass_core::write::{Identity, Request, Subresource, Target, Write, WriteError};

/// Field manager of what people write through these commands.
pub(super) const MANAGER: &str = "windlass-cli";

/// ConfigMaps, in which modules are.
pub(super) fn config_maps() -> KindInfo {
    KindInfo::namespaced("", "v1", "ConfigMap", "configmaps")
}

/// Where an object is.
pub(super) fn target(kind: &KindInfo, namespace: &str, name: &str) -> Target {
    Target {
        kind: kind.clone(),
        namespace: kind.namespaced.then(|| namespace.to_owned()),
        name: name.into(),
    }
}

/// Somebody with a kubeconfig.
pub(super) struct Person {
    cluster: KubeCluster,
}

impl Person {
    /// Connects to the cluster that kubectl would use.
    ///
    /// # Errors
    /// Where none is configured.
    pub(super) async fn connect() -> anyhow::Result<Self> {
        let cluster = KubeCluster::connect().await?;
        Ok(Self { cluster })
    }

    /// Makes sure that there are Reconcilers at all.
    ///
    /// # Errors
    /// Where the CRD is missing, with the command that installs it.
    pub(super) async fn require_reconcilers(&self) -> anyhow::Result<()> {
        if self.serves_reconcilers().await? {
            return Ok(());
        }
        bail!(
            "the cluster at {} has no Reconcilers: the CRD is missing. Install it with \
             `windlass crds | kubectl apply --server-side -f -`, and start a host",
            self.cluster.server()
        )
    }

    /// Whether the CRD is there.
    pub(super) async fn serves_reconcilers(&self) -> anyhow::Result<bool> {
        self.serves(&reconciler_kind()).await
    }

    /// Whether there can be objects of this kind.
    pub(super) async fn serves(&self, kind: &KindInfo) -> anyhow::Result<bool> {
        let served = self.cluster.discover(&kind.of).await;
        Ok(served.map_err(|error| self.unread("what is served", error))?.is_some())
    }

    /// Address of the API server, for messages.
    pub(super) fn server(&self) -> &str {
        self.cluster.server()
    }

    /// One object, whole; none if it is not there.
    pub(super) async fn get(&self, target: &Target) -> anyhow::Result<Option<Object>> {
        let found = self.cluster.get(target).await;
        found.map_err(|error| self.unread(&target.reference().to_string(), error))
    }

    /// A Reconciler that has to be there.
    ///
    /// # Errors
    /// Says what is missing: the CRD, or this one.
    pub(super) async fn reconciler(&self, id: &ReconcilerId) -> anyhow::Result<Object> {
        if let Some(found) = self.get(&target(&reconciler_kind(), &id.namespace, &id.name)).await? {
            return Ok(found);
        }
        self.require_reconcilers().await?;
        bail!("there is no Reconciler {id}; `kubectl get reconcilers -A` lists those that are there")
    }

    /// All objects of a kind with these labels, cut to a projection.
    pub(super) async fn list(
        &self,
        kind: &KindInfo,
        namespace: Option<&str>,
        selector: &str,
        projection: Projection,
    ) -> anyhow::Result<Vec<Object>> {
        let key = key(kind, namespace, selector, projection);
        let listed = self.cluster.list(&key).await;
        listed.map_err(|error| self.unread(&kind.plural, error))
    }

    /// The metadata of those objects of a kind that are wanted, however many there are.
    pub(super) async fn search(
        &self,
        kind: &KindInfo,
        namespace: Option<&str>,
        wanted: &(dyn Fn(&Object) -> bool + Sync),
    ) -> anyhow::Result<Vec<Object>> {
        let key = key(kind, namespace, "", Projection::Metadata);
        let found = self.cluster.list_only(&key, wanted).await;
        found.map_err(|error| self.unread(&kind.plural, error))
    }

    /// Follows all objects of a kind in a namespace.
    pub(super) fn watch(&self, kind: &KindInfo, namespace: &str) -> BoxStream<'static, WatchEvent> {
        self.cluster.watch(key(kind, Some(namespace), "", Projection::Full))
    }

    /// All kinds that are served.
    pub(super) async fn resources(&self) -> anyhow::Result<Vec<Resource>> {
        let served = self.cluster.resources().await;
        served.map_err(|error| self.unread("what is served", error))
    }

    /// One write, as the person.
    pub(super) async fn write(&self, target: &Target, request: Request) -> Result<Option<Object>, WriteError> {
        let write = Write {
            identity: Identity::Host,
            target: target.clone(),
            subresource: Subresource::None,
            manager: MANAGER.into(),
            request,
        };
        self.cluster.apply(&write).await
    }

    /// One write that has to succeed; gives what is there then.
    ///
    /// # Errors
    /// Names the object and why it could not be written.
    pub(super) async fn change(&self, target: &Target, request: Request) -> anyhow::Result<Object> {
        let has_tests = matches!(request, Request::JsonPatch(_));
        let written = self.write(target, request).await.map_err(|error| match error {
            // A test that fails is answered like content that is refused.
            WriteError::Invalid(words) | WriteError::Refused(words) if has_tests => WriteError::Stale(words),
            error => error,
        });
        let object = written.map_err(|error| self.unwritten(target, &error))?;
        object.with_context(|| format!("{} went while it was written", target.reference()))
    }

    /// Deletes what was seen, if it is still there; dependents go in the background.
    ///
    /// # Errors
    /// Names the object and why it could not be deleted.
    pub(super) async fn delete(&self, kind: &KindInfo, seen: &Object) -> anyhow::Result<()> {
        let at = Target::of(kind, seen);
        let request = Request::Delete {
            uid: seen.uid().into(),
            resource_version: String::new(),
            propagation: Propagation::Background,
        };
        match self.write(&at, request).await {
            Ok(_) | Err(WriteError::NotFound(_)) => Ok(()),
            Err(error) => Err(self.unwritten(&at, &error)),
        }
    }

    /// A write that failed, in words.
    pub(super) fn unwritten(&self, target: &Target, error: &WriteError) -> anyhow::Error {
        let advice = match error {
            WriteError::Forbidden(_) => "; this is done with the rights of your kubeconfig",
            WriteError::Conflict(_) | WriteError::Stale(_) => {
                "; if somebody changed it meanwhile, run the command again"
            }
            WriteError::NotFound(_) if target.namespace.is_some() => "; does its namespace exist?",
            _ => "",
        };
        anyhow!("{} cannot be written: {error}{advice}", target.reference())
    }

    fn unread(&self, what: &str, error: ReadError) -> anyhow::Error {
        match error {
            ReadError::Unavailable(words) => anyhow!(
                "the cluster at {} does not say {what}: {words}; is it running, and does KUBECONFIG name the right one?",
                self.cluster.server()
            ),
            ReadError::Forbidden(words) => {
                anyhow!("{what} cannot be read with the rights of your kubeconfig: {words}")
            }
            refused => anyhow!("{what} cannot be read: {refused}"),
        }
    }
}

fn key(kind: &KindInfo, namespace: Option<&str>, selector: &str, projection: Projection) -> WatchKey {
    WatchKey {
        kind: kind.clone(),
        namespace: namespace.map(Into::into),
        selector: selector.into(),
        projection,
    }
}
