//! Makes the objects that the tests speak of, and names their kinds.

use crate::world::{SYSTEM, TEAM};
use serde_json::{Value, json};
use windlass_core::kind::{KindRef, ObjectRef};
use windlass_core::object::Object;
use windlass_core::write::Identity;

pub(crate) fn deployments() -> KindRef {
    KindRef::new("apps", "v1", "Deployment")
}

pub(crate) fn config_maps() -> KindRef {
    KindRef::new("", "v1", "ConfigMap")
}

pub(crate) fn nginxes() -> KindRef {
    KindRef::new("stable.underneathall.com", "v1", "Nginx")
}

pub(crate) fn friends() -> KindRef {
    KindRef::new("mycustomresources.poc.test.domain", "v1", "MyCustomResource")
}

pub(crate) fn hostiles() -> KindRef {
    KindRef::new("hostile.windlass.test", "v1", "Hostile")
}

pub(crate) fn reconcilers() -> KindRef {
    windlass::api::reconciler_kind().of
}

pub(crate) fn nginx(name: &str, replicas: i64) -> Value {
    json!({
        "apiVersion": "stable.underneathall.com/v1", "kind": "Nginx",
        "metadata": {"namespace": TEAM, "name": name}, "spec": {"replicas": replicas},
    })
}

pub(crate) fn friend(name: &str, of: &str) -> Value {
    json!({
        "apiVersion": "mycustomresources.poc.test.domain/v1", "kind": "MyCustomResource",
        "metadata": {"namespace": TEAM, "name": name}, "spec": {"name": of},
    })
}

pub(crate) fn hostile(name: &str, behaviour: &str) -> Value {
    json!({
        "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
        "metadata": {"namespace": TEAM, "name": name}, "spec": {"behaviour": behaviour},
    })
}

pub(crate) fn pod(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace, "name": name},
        "spec": {"containers": [{"name": "main", "image": "main:1"}]},
    })
}

pub(crate) fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": TEAM, "name": name}})
}

/// A Reconciler written by hand, for all namespaces, with the account and the ConfigMap of its name.
pub(crate) fn reconciler(name: &str, spec: &Value) -> Value {
    let mut reconciler = json!({
        "apiVersion": "windlass.dev/v1alpha1", "kind": "Reconciler",
        "metadata": {"namespace": SYSTEM, "name": name},
        "spec": {"source": {"configMap": {"name": name}}, "serviceAccountName": name, "namespaces": ["*"]},
    });
    for (key, value) in spec.as_object().into_iter().flatten() {
        reconciler["spec"][key] = value.clone();
    }
    reconciler
}

/// The account of a Reconciler in the host's namespace.
pub(crate) fn account(name: &str) -> Identity {
    Identity::ServiceAccount {
        namespace: SYSTEM.into(),
        name: name.into(),
    }
}

/// An object in the team's namespace.
pub(crate) fn in_team(of: KindRef, name: &str) -> ObjectRef {
    ObjectRef {
        of,
        namespace: Some(TEAM.into()),
        name: name.into(),
    }
}

/// An object in the host's namespace.
pub(crate) fn in_system(of: KindRef, name: &str) -> ObjectRef {
    ObjectRef {
        of,
        namespace: Some(SYSTEM.into()),
        name: name.into(),
    }
}

/// An object from a JSON value.
pub(crate) fn object(value: Value) -> Object {
    Object::from_value(value).unwrap()
}

/// A condition of an object, null if it has none of that type.
pub(crate) fn condition(object: &Object, type_: &str) -> Value {
    let mut conditions = object
        .at(&["status", "conditions"])
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let found = conditions.find(|condition| condition["type"] == type_);
    found.cloned().unwrap_or_default()
}

/// Status and reason of a condition that is about the object as it is now; empty if it has none.
pub(crate) fn says(object: &Object, type_: &str) -> String {
    let condition = condition(object, type_);
    if condition["observedGeneration"].as_i64() != object.generation() {
        return String::new();
    }
    let text = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    format!("{} {}", text("status"), text("reason"))
}
