//! Says how it goes: which module runs, which was refused and why, and how many primaries are well.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How a Reconciler goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReconcilerStatus {
    /// Generation of the spec that this status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The module that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<Active>,
    /// Which primaries are taken care of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// Modules that ran before, the last one first, as far as they are kept: `windlass rollback` returns to the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Earlier>,
    /// The rights behind `spec.approvedRights`, so that what is new can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<Approved>,
    /// The module that was refused last, while the source still holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
    /// How many primaries there are and how they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primaries: Option<Primaries>,
    /// The last decision that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<LastFailure>,
    /// What is kept though its primaries want it no more, because it is more than `spec.pruneGuard` lets go unasked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prune_held: Option<PruneHeld>,
    /// `Loaded`, `Permitted`, `Synced`, and `Ready` when all of these hold and decisions succeed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Vec<StatusCondition>,
}

/// The module that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Active {
    /// sha256 of its bytes, in hex.
    pub digest: String,
    /// The first 12 characters of the digest, for people.
    pub short_digest: String,
    /// Name that the module gives itself.
    pub name: String,
    /// Version that the module gives itself.
    pub version: String,
    /// The kind of its primaries.
    pub kind: String,
    /// True if the module imports nothing but Windlass's own contract, false if it runs with closed WASI stand-ins.
    pub strict: bool,
    /// Hash of the rights that the module needs.
    pub rights_hash: String,
    /// The settings that it runs with, so that it goes on with them after a restart, whatever the spec or a ConfigMap says
    /// by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_map")]
    pub settings: Option<Map<String, Value>>,
}

/// Which primaries are taken care of. It stays while no module runs, so that they can be released without one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// Their kind.
    pub primary: PrimaryKind,
    /// Their namespaces; `*` for all.
    pub namespaces: Vec<String>,
    /// True if their status is written or they are finalized, which only one Reconciler may.
    pub exclusive: bool,
}

/// A kind as the API server serves it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrimaryKind {
    /// API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// Version of the API group.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// Its name in paths.
    pub plural: String,
    /// Whether its objects have a namespace.
    pub namespaced: bool,
}

/// A module that ran before, and is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Earlier {
    /// sha256 of its bytes, in hex.
    pub digest: String,
    /// Name that the module gives itself.
    pub name: String,
    /// Version that the module gives itself.
    pub version: String,
    /// The settings that it ran with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_map")]
    pub settings: Option<Map<String, Value>>,
}

/// Rights that were approved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approved {
    /// Their hash.
    pub hash: String,
    /// The rules, by where they hold.
    #[schemars(schema_with = "any_map")]
    pub rules: Map<String, Value>,
}

/// A module that did not get in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Refused {
    /// sha256 of its bytes, in hex; empty if there were none.
    pub digest: String,
    /// The step that it did not pass.
    pub step: String,
    /// Why, in one word.
    pub reason: String,
    /// Why, in a sentence, and what to do.
    pub message: String,
    /// Hash of the rights that it needs, if that is why: what `windlass approve rights` approves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rights_hash: Option<String>,
}

/// How many primaries there are and how they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Primaries {
    /// All of them.
    pub total: u32,
    /// Those whose last decision was carried out whole and left them ready.
    pub ready: u32,
    /// Those whose last decision failed.
    pub failing: u32,
    /// `ready/total`, for the column.
    pub summary: String,
}

/// Deletions that wait for somebody's approval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PruneHeld {
    /// How many primaries want fewer children than they have.
    pub primaries: u32,
    /// How many children would be deleted.
    pub children: u32,
    /// For each of these primaries what would be deleted; of many the first 50.
    pub plans: Vec<HeldPlan>,
}

/// What would be deleted for one primary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldPlan {
    /// Namespace and name of the primary.
    pub primary: String,
    /// What approves it, as the annotation `windlass.dev/approve-prune` of the primary.
    pub hash: String,
    /// How many children would be deleted.
    pub children: u32,
    /// Which; of very many the first, and how many more.
    pub names: String,
}

/// The last decision that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastFailure {
    /// Namespace and name of the primary.
    pub primary: String,
    /// Why, in one word.
    pub reason: String,
    /// Why, in a sentence.
    pub message: String,
    /// When, RFC 3339.
    pub time: String,
}

/// A condition (API conventions, "typical status properties").
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusCondition {
    /// CamelCase type.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// CamelCase reason.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
    /// When the status changed last, RFC 3339.
    pub last_transition_time: String,
    /// Generation that this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

fn any_map(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

fn conditions(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let mut schema = <Vec<StatusCondition>>::json_schema(generator);
    schema.insert("x-kubernetes-list-type".into(), "map".into());
    schema.insert("x-kubernetes-list-map-keys".into(), serde_json::json!(["type"]));
    schema
}
