//! Is the stage in memory: the host runs in this process.

use super::stage::Stage;
use crate::things::object;
use crate::world::{SYSTEM, World};
use async_trait::async_trait;
use serde_json::Value;
use windlass::cluster::Cluster;
use windlass::cluster::memory::{Verb, WriteAuthor};
use windlass::settings::Settings;
use windlass_core::decision::Propagation;
use windlass_core::kind::{KindInfo, ObjectRef};
use windlass_core::object::Object;
use windlass_core::write::{Identity, Request, Subresource, Target, Write, WriteError};

/// A host on a cluster in memory.
pub(crate) struct Memory {
    pub(crate) world: World,
}

impl Memory {
    pub(crate) async fn new() -> Self {
        // As the host on the real stage, which is told nothing.
        let world = World::with(Settings::new(SYSTEM));
        for crd in super::CRDS {
            world.create_file(crd);
        }
        for (name, guest, settings) in super::guests() {
            world.install(name, guest, settings).await;
        }
        Self { world }
    }
}

#[async_trait]
impl Stage for Memory {
    fn name(&self) -> &'static str {
        "the cluster in memory"
    }

    fn runs_workloads(&self) -> bool {
        false
    }

    async fn create(&self, object_: &Value) -> Result<Value, String> {
        said(self.world.cluster.create(&object(object_.clone())))
    }

    async fn apply(&self, object_: &Value) -> Result<Value, String> {
        said(
            self.world
                .cluster
                .apply_by_force_as("kubectl", &object(object_.clone())),
        )
    }

    async fn patch(&self, object: &ObjectRef, patch: &Value) -> Result<Value, String> {
        said(self.world.cluster.patch(object, patch).map(Option::unwrap_or_default))
    }

    async fn scale(&self, object: &ObjectRef, replicas: i64) -> Result<(), String> {
        said(
            self.world
                .cluster
                .scale(object, replicas)
                .map(Option::unwrap_or_default),
        )
        .map(drop)
    }

    async fn delete(&self, object: &ObjectRef) -> Result<(), String> {
        let left = self.world.cluster.delete(object, Propagation::Background);
        said(left.map(Option::unwrap_or_default)).map(drop)
    }

    async fn get(&self, object: &ObjectRef) -> Option<Value> {
        self.world.cluster.find(object).map(Object::into_value)
    }

    async fn apply_as(&self, manager: &str, object_: &Value, subresource: Subresource) -> Result<Value, String> {
        let object = object(object_.clone());
        let write = Write {
            identity: Identity::Host,
            target: Target::of(&super::stage::kind(&object.kind().kind), &object),
            subresource,
            manager: manager.into(),
            request: Request::Apply { object, force: false },
        };
        said(self.world.cluster.apply(&write).await.map(Option::unwrap_or_default))
    }

    async fn writes_to(&self, object: &ObjectRef) -> Vec<String> {
        let all = self.world.cluster.writes_since(0).into_iter();
        let through_host = all.filter(|write| {
            write.target.reference() == *object
                && matches!(write.author, WriteAuthor::Through(Identity::ServiceAccount { .. }))
        });
        through_host
            .map(|write| match write.verb {
                Verb::Apply => "patch".to_owned(),
                verb => format!("{verb:?}").to_lowercase(),
            })
            .collect()
    }

    async fn list(&self, kind: &KindInfo, namespace: &str) -> Vec<Value> {
        if kind.of.kind == "Event" {
            let mut events = self.world.all_events();
            events.retain(|event| event["metadata"]["namespace"] == namespace);
            return events;
        }
        let all = self.world.cluster.list(&kind.of).into_iter();
        all.filter(|object| object.namespace() == Some(namespace))
            .map(Object::into_value)
            .collect()
    }

    async fn settle(&self) {
        self.world.quiet().await;
    }
}

/// The server's words alone, as the real one sends them.
fn said(result: Result<Object, WriteError>) -> Result<Value, String> {
    result.map(Object::into_value).map_err(|error| match error {
        WriteError::AlreadyExists => error.to_string(),
        WriteError::Conflict(words)
        | WriteError::Stale(words)
        | WriteError::NotFound(words)
        | WriteError::Forbidden(words)
        | WriteError::Invalid(words)
        | WriteError::Dropped(words)
        | WriteError::Refused(words)
        | WriteError::Unavailable(words)
        | WriteError::Busy { words, .. }
        | WriteError::Unanswered(words) => words,
    })
}
