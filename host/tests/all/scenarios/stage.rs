//! Names what a person can do to a cluster, whichever it is: the one in memory, or a real one.

use async_trait::async_trait;
use serde_json::Value;
use windlass_core::kind::{KindInfo, ObjectRef};
use windlass_core::write::Subresource;

/// A cluster on which the host runs with the reference guests and the hostile one.
#[async_trait]
pub(crate) trait Stage: Send + Sync {
    /// Whose fault it is when something is not as it must be.
    fn name(&self) -> &'static str;

    /// Whether Deployments get pods here.
    fn runs_workloads(&self) -> bool;

    /// Creates an object, as `kubectl create`.
    async fn create(&self, object: &Value) -> Result<Value, String>;

    /// Applies an object, taking over what others own, as `kubectl apply --server-side --force-conflicts`.
    async fn apply(&self, object: &Value) -> Result<Value, String>;

    /// Changes an object by a merge patch, as `kubectl patch --type=merge`.
    async fn patch(&self, object: &ObjectRef, patch: &Value) -> Result<Value, String>;

    /// Does `kubectl scale`.
    async fn scale(&self, object: &ObjectRef, replicas: i64) -> Result<(), String>;

    /// Deletes an object; its dependents go in the background.
    async fn delete(&self, object: &ObjectRef) -> Result<(), String>;

    /// One object, if it is there.
    async fn get(&self, object: &ObjectRef) -> Option<Value>;

    /// Applies an object under a field manager, to its status alone if so wanted, and never by force.
    async fn apply_as(&self, manager: &str, object: &Value, part: Subresource) -> Result<Value, String>;

    /// The verbs of all writes about an object that were made through the host, refused ones included.
    async fn writes_to(&self, object: &ObjectRef) -> Vec<String>;

    /// All objects of a kind in a namespace.
    async fn list(&self, kind: &KindInfo, namespace: &str) -> Vec<Value>;

    /// Returns when nothing waits to be done, where that can be known.
    async fn settle(&self);
}

/// The kinds of the scenarios, by their plural.
const KINDS: [(&str, &str, &str, &str); 13] = [
    ("stable.underneathall.com", "v1", "Nginx", "nginx"),
    (
        "mycustomresources.poc.test.domain",
        "v1",
        "MyCustomResource",
        "mycustomresources",
    ),
    ("hostile.windlass.test", "v1", "Hostile", "hostiles"),
    ("told.windlass.test", "v1", "Told", "tolds"),
    ("told.windlass.test", "v1", "Tale", "tales"),
    ("", "v1", "Service", "services"),
    ("apps", "v1", "ReplicaSet", "replicasets"),
    ("apps", "v1", "Deployment", "deployments"),
    ("", "v1", "ConfigMap", "configmaps"),
    ("", "v1", "Secret", "secrets"),
    ("", "v1", "Pod", "pods"),
    ("events.k8s.io", "v1", "Event", "events"),
    ("windlass.dev", "v1alpha1", "Reconciler", "reconcilers"),
];

/// A kind by its name.
pub(crate) fn kind(name: &str) -> KindInfo {
    let cluster_scoped = [
        (
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
        ),
        ("", "v1", "Namespace", "namespaces"),
    ];
    let found = |kinds: &[(&'static str, &'static str, &'static str, &'static str)]| {
        kinds.iter().copied().find(|(_, _, kind, _)| *kind == name)
    };
    if let Some((group, version, kind, plural)) = found(&KINDS) {
        return KindInfo::namespaced(group, version, kind, plural);
    }
    let (group, version, kind, plural) = found(&cluster_scoped).unwrap_or_else(|| panic!("no scenario knows {name}"));
    KindInfo::cluster_scoped(group, version, kind, plural)
}

/// An object by the name of its kind.
pub(crate) fn reference(of: &str, namespace: &str, name: &str) -> ObjectRef {
    let kind = kind(of);
    ObjectRef {
        namespace: kind.namespaced.then(|| namespace.to_owned()),
        of: kind.of,
        name: name.into(),
    }
}
