//! Wants children that would give their maker more than its account has.

use serde_json::{Value, json};
use windlass_sdk::{Context, Outcome, Stop};

use crate::behaviour::{one, with_metadata};
use crate::objects::config_map;
use crate::{Primary, Settings};

pub(crate) fn drop_in_label(_: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    one(&with_metadata(
        primary,
        "labels",
        json!({"windlass.dev/module": "true"}),
    ))
}

pub(crate) fn host_annotation(_: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    one(&with_metadata(
        primary,
        "annotations",
        json!({"windlass.dev/applied": "mine"}),
    ))
}

pub(crate) fn host_finalizer(_: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let finalizer = "mine.windlass-system.reconciler.windlass.dev/finalize";
    one(&with_metadata(primary, "finalizers", json!([finalizer])))
}

pub(crate) fn role(_: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let mut role = named(primary, "rbac.authorization.k8s.io/v1", "Role");
    role["metadata"]["namespace"] = json!(primary.metadata.namespace);
    role["rules"] = everything();
    one(&role)
}

pub(crate) fn cluster_role(_: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let mut role = named(primary, "rbac.authorization.k8s.io/v1", "ClusterRole");
    role["rules"] = everything();
    one(&role)
}

pub(crate) fn crd(_: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    one(&named(primary, "apiextensions.k8s.io/v1", "CustomResourceDefinition"))
}

/// A Reconciler that runs the same module with another account.
pub(crate) fn reconciler(_: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let mut reconciler = named(primary, "windlass.dev/v1alpha1", "Reconciler");
    reconciler["metadata"]["namespace"] = json!(primary.metadata.namespace);
    reconciler["spec"] = json!({"source": {"configMap": {"name": "hostile"}}, "serviceAccountName": "windlass"});
    one(&reconciler)
}

/// The ConfigMap from which this module came.
pub(crate) fn own_module(context: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let (namespace, name) = &context.reconciler;
    let mut own = config_map(primary, name, "replaced");
    own["metadata"]["namespace"] = json!(namespace);
    one(&own)
}

fn everything() -> Value {
    json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
}

fn named(primary: &Primary, api_version: &str, kind: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": primary.metadata.name}})
}
