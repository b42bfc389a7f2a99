//! Wants roles and bindings, for itself and for everybody.

use serde_json::{Value, json};
use windlass_sdk::{Child, Outcome, Stop};

use crate::Primary;

const VERSION: &str = "rbac.authorization.k8s.io/v1";

/// A ClusterRole.
pub(crate) fn cluster_role(primary: &Primary) -> Result<Outcome, Stop> {
    one(&json!({"apiVersion": VERSION, "kind": "ClusterRole", "metadata": metadata(primary), "rules": []}))
}

/// The accounts of the primary's namespace as cluster admins, everywhere.
pub(crate) fn cluster_role_binding(primary: &Primary) -> Result<Outcome, Stop> {
    one(&bound(primary, "ClusterRoleBinding"))
}

/// The same in the primary's namespace.
pub(crate) fn role_binding(primary: &Primary) -> Result<Outcome, Stop> {
    one(&bound(primary, "RoleBinding"))
}

fn bound(primary: &Primary, kind: &str) -> Value {
    let everybody = format!("system:serviceaccounts:{}", primary.metadata.namespace);
    json!({
        "apiVersion": VERSION, "kind": kind, "metadata": metadata(primary),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": everybody}],
    })
}

fn metadata(primary: &Primary) -> Value {
    json!({"name": primary.metadata.name})
}

fn one(child: &Value) -> Result<Outcome, Stop> {
    Ok(Outcome::exactly([Child::new(child)]))
}
