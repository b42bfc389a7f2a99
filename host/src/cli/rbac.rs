//! Prints the ServiceAccount and the roles that a module needs, from its own word alone.

use super::files;
use super::module::ModuleArguments;
use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;
use windlass_core::manifest::Manifest;
use windlass_core::names::ANNOTATION_CONSENT;
use windlass_core::rights::{self, PolicyRule};

/// Prints the ServiceAccount and the roles that a module needs, as YAML to read and to apply
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  windlass rbac nginx.wasm --name nginx | kubectl apply --server-side -f -
  windlass rbac nginx.wasm --name nginx --namespace team-a --for-namespace team-a")]
pub(super) struct RbacArguments {
    #[command(flatten)]
    module: ModuleArguments,
    /// Name of the Reconciler and of its ServiceAccount; the module's own name if left out
    #[arg(long, value_parser = super::reconciler_name)]
    name: Option<String>,
    /// Namespace of the Reconciler
    #[arg(short, long, default_value = "windlass-system")]
    namespace: String,
    /// Only for primaries in this namespace; the whole cluster if left out
    #[arg(long)]
    for_namespace: Option<String>,
    /// Namespace of the host
    #[arg(long, default_value = "windlass-system")]
    host_namespace: String,
    /// ServiceAccount of the host
    #[arg(long, default_value = "windlass")]
    host_service_account: String,
}

pub(super) async fn rbac(arguments: RbacArguments) -> anyhow::Result<ExitCode> {
    let manifest = arguments.module.open().await?.manifest;
    let objects = objects(&arguments, &manifest);
    let documents: Vec<String> = objects.iter().map(files::yaml).collect::<anyhow::Result<_>>()?;
    super::print(&documents.join("---\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The objects in the order in which they can be applied.
fn objects(arguments: &RbacArguments, manifest: &Manifest) -> Vec<Value> {
    let name = arguments.name.as_ref().unwrap_or(&manifest.name);
    let namespace = &arguments.namespace;
    let account = subject(name, namespace);
    let host = subject(&arguments.host_service_account, &arguments.host_namespace);
    let both = json!([account, host]);
    let only = json!([account]);
    // Cluster roles have no namespace: that of the Reconciler is in their names, so that two of one name do not share them.
    let of = format!("windlass:{namespace}:{name}");
    let (read, write) = (format!("{of}:read"), format!("{of}:write"));
    let mut objects = vec![json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": namespace, "annotations": {ANNOTATION_CONSENT: name}},
    })];
    match arguments.for_namespace.as_deref() {
        None => {
            objects.extend(role(&read, None, &rights::read_rules(manifest), &both));
            objects.extend(role(&write, None, &rights::write_rules(manifest), &only));
        }
        Some(place) => {
            let rules = rights::rules(manifest);
            objects.extend(role(&read, Some(place), &rules.claimed.read, &both));
            objects.extend(role(&write, Some(place), &rules.claimed.write, &only));
            objects.extend(role(&read, None, &rules.everywhere.read, &both));
            objects.extend(role(&write, None, &rules.everywhere.write, &only));
        }
    }
    let impersonate = format!("windlass:{name}:impersonate");
    let rules = json!([{
        "apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"], "resourceNames": [name],
    }]);
    objects.extend(bound(&impersonate, Some(namespace), &rules, &json!([host])));
    objects
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
    let group = "rbac.authorization.k8s.io";
    let version = format!("{group}/v1");
    let (role, binding, metadata) = match namespace {
        Some(namespace) => ("Role", "RoleBinding", json!({"name": name, "namespace": namespace})),
        None => ("ClusterRole", "ClusterRoleBinding", json!({"name": name})),
    };
    vec![
        json!({"apiVersion": version, "kind": role, "metadata": metadata, "rules": rules}),
        json!({
            "apiVersion": version, "kind": binding, "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": role, "name": name}, "subjects": subjects,
        }),
    ]
}
