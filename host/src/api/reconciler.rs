//! Says which module runs, with which settings, as which ServiceAccount.

use super::{ModuleSource, ReconcilerStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;
use windlass_core::guard;
use windlass_core::policy::{self, Policy};

/// Runs one module: which one, with which settings, as which ServiceAccount, for which namespaces.
///
/// Creating a Reconciler is like creating a pod with that ServiceAccount: what the module decides is written with the
/// account's rights, and never with more.
#[derive(kube::CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason"
    ),
    printcolumn(name = "Refused", type_ = "string", json_path = ".status.refused.reason", priority = 1),
    printcolumn(name = "Account", type_ = "string", json_path = ".spec.serviceAccountName", priority = 1),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("size(self.metadata.name) <= 40 && !self.metadata.name.contains('.')").message(
        "the name is used in labels and field managers: use a DNS label of at most 40 characters"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct ReconcilerSpec {
    /// Where the module's bytes come from. When they change, the new module is taken up once it has passed every step;
    /// until then, and if it is refused, the one that runs goes on and `status.refused` says why.
    pub source: ModuleSource,

    /// The only module that may run: the sha256 of its unpacked bytes in hex, as `sha256sum` and `windlass inspect`
    /// print it. If the source holds another one, that is not taken up, and the condition Loaded says SourceMismatch;
    /// the pinned one runs if it is still kept from before. `windlass rollback` sets it. Unset: whatever the source holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub digest: Option<String>,

    /// What the module is told, as it likes; given to its `describe` and to every decision. Changing it asks the module
    /// again, without compiling it again. Unset, for a drop-in: `settings.yaml` of its ConfigMap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_map")]
    pub settings: Option<Map<String, Value>>,

    /// ServiceAccount of the same namespace as which everything about primaries and children is read and written.
    /// It has to consent: annotation `windlass.dev/reconcilers` with this Reconciler's name in a comma-separated list.
    /// `windlass rbac` prints it with the roles that a module needs.
    #[schemars(length(min = 1, max = 253), regex(pattern = "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"))]
    pub service_account_name: String,

    /// Namespaces whose primaries are taken care of. Empty: the Reconciler's own. `["*"]`: all of them, which primaries
    /// without a namespace need. Primaries of a namespace that is taken out are released, their children stay.
    /// Status and finalizers of a kind in a namespace are the oldest Reconciler's; a later one waits, with PrimaryClaimed.
    #[serde(default)]
    #[schemars(
        length(max = 100),
        inner(length(min = 1, max = 63), regex(pattern = r"^(\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$")),
        extend("x-kubernetes-list-type" = "set"),
        extend("x-kubernetes-validations" = [{
            "rule": "self.size() == 1 || !self.exists(name, name == '*')",
            "message": "\"*\" means all namespaces: give it alone, or name single namespaces"
        }])
    )]
    pub namespaces: Vec<String>,

    /// What one decision may use, within what the host allows at most.
    #[serde(default)]
    pub limits: Limits,

    /// Which objects that exist already may be taken over as children. Unset: none; a child whose name is taken is an
    /// OwnershipConflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adoption: Option<Adoption>,

    /// What happens to a primary that is being deleted when the module's `finalize` fails.
    #[serde(default)]
    pub on_finalize_failure: OnFinalizeFailure,

    /// How many children may be deleted unasked because their primaries want them no more. What is more is kept, with
    /// PruneHeld, until `windlass approve prune` says that it is meant: a module that wants nothing by mistake deletes no fleet.
    #[serde(default)]
    pub prune_guard: PruneGuard,

    /// True: the module gets the values of Secrets that it declares, as the ServiceAccount may read them. False: it gets
    /// `hmac-sha256:..` in place of each value, which tells equal values from others and nothing more. What a module gets it can
    /// also log, and put into a status: allow it to those that you trust with it.
    #[serde(default)]
    pub secret_values: bool,

    /// Hash of the rights that the module may use, as `windlass inspect` prints it. Unset, it is filled with those of the
    /// first module. A module or settings that need more are held, with RightsGrow, until `windlass approve rights` or
    /// this field says their hash; fewer need no approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub approved_rights: Option<String>,

    /// True: no decisions are taken, and nothing is written, until it is false again. Primaries and children stay as they
    /// are; a primary with a finalizer of ours stays until then too if it is deleted.
    #[serde(default)]
    pub suspend: bool,
}

impl ReconcilerSpec {
    /// What it says about primaries and children, as the rules of the core take it.
    pub fn policy(&self) -> Policy {
        Policy {
            adopts_from: self
                .adoption
                .iter()
                .flat_map(|adoption| adoption.from_field_managers.clone())
                .collect(),
            on_finalize_failure: match self.on_finalize_failure {
                OnFinalizeFailure::Block => policy::OnFinalizeFailure::Block,
                OnFinalizeFailure::Skip => policy::OnFinalizeFailure::Skip,
            },
            secret_values: self.secret_values,
            prune_guard: guard::PruneGuard {
                percent: self.prune_guard.percent,
                minimum: self.prune_guard.minimum,
                window: Duration::from_secs(self.prune_guard.window_seconds.into()),
            },
        }
    }
}

/// What one decision may use. A host has maxima of its own (`windlass run --help`): more than those is refused, and what ran
/// before goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// Memory in MiB. A module that wants more gets GuestOutOfMemory. Stops a module that allocates until the host is killed.
    #[schemars(range(min = 1, max = 1024))]
    pub memory_mebibytes: u32,
    /// Running time in milliseconds. Time in which the module does not run does not count. More is GuestTimedOut. Stops a
    /// module that never returns.
    #[schemars(range(min = 10, max = 60000))]
    pub time_milliseconds: u32,
    /// What one answer may hold, in KiB. More is GuestOutputRejected. Stops an answer that is small in the module and huge in
    /// the host.
    #[schemars(range(min = 64, max = 16384))]
    pub output_kibibytes: u32,
    /// How many children one primary may have. More is GuestOutputRejected. Stops a module that floods the API server through
    /// one primary.
    #[schemars(range(min = 1, max = 4096))]
    pub children: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_mebibytes: 64,
            time_milliseconds: 1_000,
            output_kibibytes: 4_096,
            children: 256,
        }
    }
}

/// How many children may be deleted unasked. Deleting a primary is no matter of this: its children go with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PruneGuard {
    /// So many in a hundred of all children of this Reconciler. 100 holds nothing back.
    #[schemars(range(min = 0, max = 100))]
    pub percent: u32,
    /// So many, whatever share that is.
    #[schemars(range(min = 0, max = 10000))]
    pub minimum: u32,
    /// Within so many seconds.
    #[schemars(range(min = 1, max = 86400))]
    pub window_seconds: u32,
}

impl Default for PruneGuard {
    fn default() -> Self {
        let guard = guard::PruneGuard::default();
        Self {
            percent: guard.percent,
            minimum: guard.minimum,
            window_seconds: u32::try_from(guard.window.as_secs()).unwrap_or(u32::MAX),
        }
    }
}

/// Which objects that exist already may be taken over as children.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Adoption {
    /// Field managers whose objects may be taken over, such as the one of an earlier operator, `helm`,
    /// `kubectl-client-side-apply`, or `windlass:<namespace>:<name>` of a Reconciler: an object without another controller,
    /// whose fields that the module names are theirs alone. Their fields become ours, and those that the module does not
    /// name go; fields of others stay theirs, and a conflict with those is reported as for any stranger. What a Reconciler
    /// that is gone made for the very same primary is taken over without being named.
    #[schemars(
        length(min = 1, max = 16),
        inner(length(min = 1, max = 128)),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub from_field_managers: Vec<String>,
}

/// What happens to a primary that is being deleted when the module's `finalize` fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnFinalizeFailure {
    /// The primary stays until it succeeds; its status says why, and `windlass release` lets it go.
    #[default]
    Block,
    /// After three failures in a row the host deletes the children by its own books and lets the primary go, with a Warning Event.
    Skip,
}

fn any_map(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}
