//! Gives a scenario what it needs on one of the two clusters: people's acts, waits with a deadline, and looks.

use super::observe;
use super::stage::{Stage, kind, reference};
use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use windlass_core::kind::ObjectRef;
use windlass_testing::eventually;

/// How long a state may take to come.
const DEADLINE: Duration = Duration::from_secs(40);
/// How long until something is gone: a real garbage collector looks for new kinds every 30 s only.
const COLLECTED: Duration = Duration::from_secs(90);
/// How long what was seen may take to be as it was seen elsewhere: Events and managers follow a state.
const AGREEMENT: Duration = Duration::from_secs(10);

/// One scenario on one cluster.
pub(crate) struct Play {
    pub(crate) stage: &'static dyn Stage,
    /// The namespace of this scenario.
    pub(crate) namespace: String,
    /// What was seen elsewhere, by the name of the look.
    wanted: Option<Value>,
    seen: Mutex<Map<String, Value>>,
}

impl Play {
    pub(crate) fn new(stage: &'static dyn Stage, scenario: &str, wanted: Option<Value>) -> Self {
        let namespace = scenario.replace('_', "-");
        Self {
            stage,
            namespace: namespace
                .chars()
                .take(60)
                .collect::<String>()
                .trim_end_matches('-')
                .into(),
            wanted,
            seen: Mutex::default(),
        }
    }

    /// All that was put down.
    pub(crate) fn seen(&self) -> Value {
        Value::Object(self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Puts something down.
    pub(crate) fn note(&self, what: &str, seen: impl Into<Value>) {
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(what.into(), seen.into());
    }

    /// Puts down all that is in the namespace of the scenario.
    pub(crate) async fn look(&self, what: &str) {
        self.look_into(what, &self.namespace).await;
    }

    /// Puts down all that is in a namespace.
    pub(crate) async fn look_into(&self, what: &str, namespace: &str) {
        self.stage.settle().await;
        let wanted = self.wanted.as_ref().and_then(|wanted| wanted.get(what));
        let mut last = observe::namespace(self.stage, namespace).await;
        if let Some(wanted) = wanted {
            // Where it does not come to agree, the difference of the files is what is shown.
            let _ = eventually(AGREEMENT, what, async || {
                last = observe::namespace(self.stage, namespace).await;
                ensure!(last == *wanted, "it is different");
                Ok(())
            })
            .await;
        }
        self.note(what, last);
    }

    /// An object of this scenario.
    pub(crate) fn at(&self, of: &str, name: &str) -> ObjectRef {
        reference(of, &self.namespace, name)
    }

    /// One of the kinds of this repository, with this spec.
    pub(crate) fn object(&self, of: &str, name: &str, spec: &Value) -> Value {
        json!({
            "apiVersion": kind(of).of.api_version(), "kind": of,
            "metadata": {"namespace": self.namespace, "name": name}, "spec": spec,
        })
    }

    /// Creates an Nginx and waits until it is ready.
    pub(crate) async fn nginx(&self, name: &str, replicas: i64) -> Result<()> {
        self.create(&self.object("Nginx", name, &json!({"replicas": replicas})))
            .await?;
        self.reconciled("Nginx", name).await?;
        Ok(())
    }

    pub(crate) async fn create(&self, object: &Value) -> Result<Value> {
        self.stage.create(object).await.map_err(anyhow::Error::msg)
    }

    pub(crate) async fn patch(&self, object: &ObjectRef, patch: Value) -> Result<Value> {
        self.stage.patch(object, &patch).await.map_err(anyhow::Error::msg)
    }

    pub(crate) async fn delete(&self, object: &ObjectRef) -> Result<()> {
        self.stage.delete(object).await.map_err(anyhow::Error::msg)
    }

    pub(crate) async fn get(&self, object: &ObjectRef) -> Result<Value> {
        self.stage
            .get(object)
            .await
            .with_context(|| format!("{object} is not there"))
    }

    /// Waits until a value of an object is this one.
    pub(crate) async fn until(&self, object: &ObjectRef, pointer: &str, wanted: impl Into<Value>) -> Result<Value> {
        let wanted = wanted.into();
        eventually(DEADLINE, &format!("{object} has {wanted} at {pointer}"), async || {
            let found = self.get(object).await?;
            let value = found.pointer(pointer).cloned().unwrap_or_default();
            ensure!(value == wanted, "it is {value}; the status is {}", found["status"]);
            Ok(found)
        })
        .await
    }

    /// Waits until the last decision about the present generation was carried out whole.
    pub(crate) async fn reconciled(&self, of: &str, name: &str) -> Result<Value> {
        self.told(of, name, "Reconciled").await
    }

    /// Waits until the host gives a reason for the present generation.
    pub(crate) async fn told(&self, of: &str, name: &str, reason: &str) -> Result<Value> {
        let object = self.at(of, name);
        eventually(DEADLINE, &format!("{object} is told {reason}"), async || {
            let found = self.get(&object).await?;
            let said = condition(&found, "Reconciled");
            ensure!(said["reason"] == reason, "the status is {}", found["status"]);
            ensure!(
                said["observedGeneration"] == found["metadata"]["generation"],
                "that was of an older generation: {}",
                found["status"]
            );
            Ok(found)
        })
        .await
    }

    /// Waits until an object is gone.
    pub(crate) async fn gone(&self, object: &ObjectRef) -> Result<()> {
        eventually(COLLECTED, &format!("{object} is gone"), async || {
            let left = self.stage.get(object).await;
            ensure!(left.is_none(), "it is there: {left:?}");
            Ok(())
        })
        .await
    }
}

/// A condition of an object, null if it has none of that type.
pub(crate) fn condition(object: &Value, type_: &str) -> Value {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let mut found = conditions
        .into_iter()
        .flatten()
        .filter(|condition| condition["type"] == type_);
    found.next().cloned().unwrap_or_default()
}
