//! Makes the objects that grant what a module needs, and what lets a person use an account.

use serde_json::{Value, json};
use windlass_core::manifest::Manifest;
use windlass_core::names::ANNOTATION_CONSENT;
use windlass_core::rights::{self, PolicyRule};

const GROUP: &str = "rbac.authorization.k8s.io";

/// Who gets rights.
pub(super) struct Parties {
    /// Name of the Reconciler.
    pub(super) name: String,
    /// Its ServiceAccount.
    pub(super) account: String,
    /// Namespace of both.
    pub(super) namespace: String,
    /// Namespace and name of the host's ServiceAccount.
    pub(super) host: (String, String),
}

/// What a module needs in these namespaces (none: in all of them), in the order in which it can be applied.
pub(super) fn of_a_module(parties: &Parties, manifest: &Manifest, for_namespaces: &[String]) -> Vec<Value> {
    let Parties {
        name,
        account,
        namespace,
        host,
    } = parties;
    let host = subject(&host.1, &host.0);
    let only = json!([subject(account, namespace)]);
    let both = json!([subject(account, namespace), host]);
    // Cluster roles have no namespace: that of the Reconciler is in their names, so that two of one name do not share them.
    let of = format!("windlass:{namespace}:{name}");
    let (read, write) = (format!("{of}:read"), format!("{of}:write"));
    let mut objects = vec![json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": account, "namespace": namespace, "annotations": {ANNOTATION_CONSENT: name}},
    })];
    if for_namespaces.is_empty() {
        objects.extend(role(&read, None, &rights::read_rules(manifest), &both));
        objects.extend(role(&write, None, &rights::write_rules(manifest), &only));
    } else {
        let rules = rights::rules(manifest);
        for place in for_namespaces {
            objects.extend(role(&read, Some(place), &rules.claimed.read, &both));
            objects.extend(role(&write, Some(place), &rules.claimed.write, &only));
        }
        objects.extend(role(&read, None, &rules.everywhere.read, &both));
        objects.extend(role(&write, None, &rules.everywhere.write, &only));
    }
    let impersonate = format!("windlass:{account}:impersonate");
    objects.extend(bound(
        &impersonate,
        Some(namespace),
        &verb_on("impersonate", account),
        &json!([host]),
    ));
    objects
}

/// What lets a user or a group use a ServiceAccount, as the admission policies ask for it.
pub(super) fn of_somebody(namespace: &str, account: &str, (kind, who): (&str, &str)) -> Vec<Value> {
    // Several people use one account, each by a binding of their own.
    let name = format!("windlass:{account}:use");
    let subjects = json!([{"kind": kind, "name": who, "apiGroup": GROUP}]);
    let mut objects = bound(&name, Some(namespace), &verb_on("use", account), &subjects);
    // What RBAC does not take in a name stands in the names of people that come from elsewhere. In hexadecimal two of them
    // stay two.
    let plain = kind == "User" && !who.contains(['/', '%', '=']);
    let who = if plain {
        who.to_owned()
    } else {
        format!("{kind}=").to_lowercase() + &who.replace('=', "=3d").replace('/', "=2f").replace('%', "=25")
    };
    objects[1]["metadata"]["name"] = format!("{name}:{who}").into();
    objects
}

fn verb_on(verb: &str, account: &str) -> Value {
    json!([{"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": [verb], "resourceNames": [account]}])
}

fn subject(name: &str, namespace: &str) -> Value {
    json!({"kind": "ServiceAccount", "name": name, "namespace": namespace})
}

/// A role with its binding; nothing where there are no rules.
fn role(name: &str, namespace: Option<&str>, rules: &[PolicyRule], subjects: &Value) -> Vec<Value> {
    if rules.is_empty() {
        Vec::new()
    } else {
        bound(name, namespace, &json!(rules), subjects)
    }
}

fn bound(name: &str, namespace: Option<&str>, rules: &Value, subjects: &Value) -> Vec<Value> {
    let version = format!("{GROUP}/v1");
    let (role, binding, metadata) = match namespace {
        Some(namespace) => ("Role", "RoleBinding", json!({"name": name, "namespace": namespace})),
        None => ("ClusterRole", "ClusterRoleBinding", json!({"name": name})),
    };
    vec![
        json!({"apiVersion": version, "kind": role, "metadata": metadata, "rules": rules}),
        json!({
            "apiVersion": version, "kind": binding, "metadata": metadata,
            "roleRef": {"apiGroup": GROUP, "kind": role, "name": name}, "subjects": subjects,
        }),
    ]
}
