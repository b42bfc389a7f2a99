//! Names the kinds and writes the objects that the behaviours use.

use serde_json::{Value, json};
use windlass_sdk::Kind;

use crate::Primary;

pub(crate) const HOSTILES: Kind = Kind::namespaced("hostile.windlass.test", "v1", "Hostile", "hostiles");
pub(crate) const CONFIG_MAPS: Kind = Kind::namespaced("", "v1", "ConfigMap", "configmaps");
pub(crate) const SECRETS: Kind = Kind::namespaced("", "v1", "Secret", "secrets");
pub(crate) const NODES: Kind = Kind::cluster_scoped("", "v1", "Node", "nodes");
pub(crate) const ROLE_BINDINGS: Kind =
    Kind::namespaced("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings");
pub(crate) const CLUSTER_ROLES: Kind =
    Kind::cluster_scoped("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles");
pub(crate) const CLUSTER_ROLE_BINDINGS: Kind = Kind::cluster_scoped(
    "rbac.authorization.k8s.io",
    "v1",
    "ClusterRoleBinding",
    "clusterrolebindings",
);
pub(crate) const WIDGETS: Kind = Kind::namespaced("nowhere.windlass.test", "v1", "Widget", "widgets");

/// Kinds with which a guest could give itself rights.
pub(crate) const MUCH: [Kind; 3] = [
    Kind::cluster_scoped("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles"),
    Kind::cluster_scoped(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    ),
    Kind::namespaced("windlass.dev", "v1alpha1", "Reconciler", "reconcilers"),
];

/// A ConfigMap in the primary's namespace with `text` under `data.text`.
pub(crate) fn config_map(primary: &Primary, name: &str, text: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": primary.metadata.namespace},
        "data": {"text": text},
    })
}

/// A Secret, which the manifest does not declare.
pub(crate) fn secret(primary: &Primary) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": primary.metadata.name, "namespace": primary.metadata.namespace},
        "stringData": {"text": "forbidden"},
    })
}
