//! Says which module runs, with which settings, as which ServiceAccount.

use super::ReconcilerStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Runs one module: which one, with which settings, as which ServiceAccount, for which namespaces.
///
/// Creating a Reconciler is like creating a pod with that ServiceAccount: what the module decides is written with the
/// account's rights, and never with more.
#[derive(kube::CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "windlass.dev",
    version = "v1alpha1",
    kind = "Reconciler",
    plural = "reconcilers",
    singular = "reconciler",
    shortname = "rec",
    namespaced,
    doc = "Runs one module: reconcile logic as WebAssembly, as one ServiceAccount, for the primaries of some namespaces.",
    status = "ReconcilerStatus",
    derive = "PartialEq",
    printcolumn(name = "Module", type_ = "string", json_path = ".status.active.name"),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.active.version"),
    printcolumn(name = "Kind", type_ = "string", json_path = ".status.active.kind"),
    printcolumn(name = "Digest", type_ = "string", json_path = ".status.active.shortDigest"),
    printcolumn(name = "Primaries", type_ = "string", json_path = ".status.primaries.summary"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        priority = 1
    ),
    printcolumn(name = "Refused", type_ = "string", json_path = ".status.refused.reason", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("size(self.metadata.name) <= 40 && !self.metadata.name.contains('.')").message(
        "the name is used in labels and field managers: use a DNS label of at most 40 characters"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct ReconcilerSpec {
    /// Where the module's bytes come from.
    pub source: ModuleSource,

    /// What the module is told, as it likes; given to its `describe` and to every decision. Changing it asks the module
    /// again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_map")]
    pub settings: Option<Map<String, Value>>,

    /// ServiceAccount of the same namespace as which everything about primaries and children is read and written.
    /// It has to consent: annotation `windlass.dev/reconcilers` with this Reconciler's name in a comma-separated list.
    #[schemars(length(min = 1, max = 253))]
    pub service_account_name: String,

    /// Namespaces whose primaries are taken care of. Empty: the Reconciler's own. `["*"]`: all of them, which primaries
    /// without a namespace need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub namespaces: Vec<String>,

    /// True: no decisions are taken, and nothing is written, until it is false again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspend: bool,

    /// What one decision may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

/// Where a module's bytes come from; exactly one of its fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModuleSource {
    /// A ConfigMap in the Reconciler's namespace.
    pub config_map: ConfigMapSource,
}

/// A module in a ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapSource {
    /// Name of the ConfigMap.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Key in `binaryData`. Left out: the only one that ends in `.wasm`, `.wasm.gz` or `.wasm.zst`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// What one decision may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Memory in MiB; 64 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1024))]
    pub memory_mebibytes: Option<u32>,
    /// Running time in milliseconds; 1000 if left out. Time in which the guest does not run does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 10, max = 60000))]
    pub time_milliseconds: Option<u32>,
}

fn any_map(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true, "nullable": true })
}
