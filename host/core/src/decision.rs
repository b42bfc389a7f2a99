//! Carries one decision: what a guest is asked, what it asks back, and what it comes to.

use crate::key::ReconcilerId;
use crate::kind::{KindRef, ObjectRef};
use crate::object::Object;
use crate::secrets::Seed;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// Equality of one scalar field, for references that no label shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldMatch {
    /// Path as in a CRD printer column; `[*]` holds if any element does.
    pub path: String,
    /// The value as text.
    pub value: String,
}

/// What is asked for: all that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Selection {
    /// Exact name.
    pub name: Option<String>,
    /// Label selector in kubectl's syntax, or empty.
    pub labels: String,
    /// Field equalities.
    pub fields: Vec<FieldMatch>,
}

/// One read that a guest needs, and from then on a dependency of its primary.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Query {
    /// Chosen by the guest; the answer comes back under it.
    pub id: String,
    /// The kind asked about.
    pub of: KindRef,
    /// None: all namespaces, or a cluster-scoped kind.
    pub namespace: Option<String>,
    /// Which objects.
    pub selection: Selection,
    /// At most this many.
    pub limit: u32,
}

/// What is known; unknown is never empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// All there is, possibly nothing, ordered by namespace and name.
    Found(Vec<Object>),
    /// The first `limit` of more.
    Truncated(Vec<Object>),
    /// The cluster does not serve this kind now.
    NotServed,
    /// The guest's identity may not read it; says which rule is missing.
    Forbidden(String),
}

/// An answer under the id of its query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    /// The query's id.
    pub id: String,
    /// What is known.
    pub answer: Answer,
}

/// Which of the guest's two functions is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Entry {
    /// The primary lives.
    Reconcile,
    /// The primary is being deleted and the guest declared `finalizes`.
    Finalize,
}

/// Everything a decision may depend on. Equal requests give equal bytes from the guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// On whose behalf.
    pub reconciler: ReconcilerId,
    /// The object the decision is about, without resourceVersion and managedFields.
    pub primary: Object,
    /// What the Reconciler owns for this primary, ordered by kind, namespace and name.
    pub children: Vec<Object>,
    /// Optional kinds that the cluster does not serve now.
    pub not_served: Vec<KindRef>,
    /// Every answer so far within this decision.
    pub answers: Vec<Answered>,
    /// Settings of the Reconciler.
    pub settings: Value,
    /// Milliseconds since the Unix epoch, 0 unless the guest declared `needs-clock`.
    pub now: u64,
    /// 32 secret bytes, if the guest declared `needs-seed`. Neither serialised nor shown by `Debug`: nothing secret in logs or
    /// saved requests.
    #[serde(skip)]
    pub seed: Option<Seed>,
}

/// How a wanted child is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WriteMode {
    /// The fields the guest wants to own, as for server-side apply.
    Apply,
    /// As apply; where the server refuses to change an immutable field, delete and create again.
    ApplyOrRecreate,
    /// Create if missing, then leave alone.
    CreateOnce,
}

/// How dependents of a deleted object go, as `propagationPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Propagation {
    /// Dependents go after their owner.
    Background,
    /// The owner stays until its dependents are gone.
    Foreground,
    /// Dependents stay.
    Orphan,
}

/// One child the guest wants to exist.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WantedChild {
    /// The fields the guest wants to own.
    pub object: Object,
    /// How it is written.
    pub mode: WriteMode,
    /// How its own dependents go when it is pruned or recreated.
    pub propagation: Propagation,
    /// Outlives the primary: no owner reference, never pruned with it.
    pub retain: bool,
}

/// One entry of the complete set of children.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DesiredChild {
    /// Wants it to exist like this.
    Want(Box<WantedChild>),
    /// Neither change nor prune it this time.
    Hold(ObjectRef),
}

/// What the guest wants to become of all children.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChildrenPlan {
    /// Not enough is known: touch no child.
    Unchanged,
    /// The complete set, not empty; what is owned and not listed is pruned.
    Exactly(Vec<DesiredChild>),
    /// Deliberately no child at all.
    NoneWanted,
}

/// `status` of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ConditionStatus {
    /// Holds.
    True,
    /// Does not hold.
    False,
    /// Cannot be told.
    Unknown,
}

/// A condition as a guest gives it; the host adds times and generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// CamelCase type; `Reconciled` is the host's own.
    #[serde(rename = "type")]
    pub type_: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// CamelCase reason.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

/// Severity of an Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Severity {
    /// As expected.
    Normal,
    /// Somebody should look.
    Warning,
}

/// An Event as a guest gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GuestEvent {
    /// How bad it is.
    pub severity: Severity,
    /// CamelCase reason.
    pub reason: String,
    /// A sentence for people.
    pub note: String,
}

/// What a guest decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// What becomes of the children.
    pub children: ChildrenPlan,
    /// Fields of the primary outside status that the guest wants to own.
    pub primary: Option<Object>,
    /// Fields of `.status` that the guest wants to own; none leaves them as they are.
    pub status: Option<Value>,
    /// Conditions the guest gives.
    pub conditions: Vec<Condition>,
    /// Events the guest gives.
    pub events: Vec<GuestEvent>,
    /// Decide again after this long even if nothing changes.
    pub requeue_after: Option<Duration>,
}

/// Kinds of failure that a guest may report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FailureKind {
    /// Something it depends on is not there yet; no error, no backoff.
    Waiting,
    /// The primary itself is wrong; not tried again before it changes.
    Invalid,
}

/// A decision that could not be taken, in the guest's own words. Touches no child.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// What kind.
    pub kind: FailureKind,
    /// A sentence for people.
    pub message: String,
    /// As in [`Outcome::status`].
    pub status: Option<Value>,
    /// As in [`Outcome::conditions`].
    pub conditions: Vec<Condition>,
}

/// One return of the guest within a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply {
    /// These must be answered first.
    Ask(Vec<Query>),
    /// The decision is taken.
    Decided(Decided),
}

/// The end of a decision, whichever way it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Decided {
    /// From `reconcile`: carry this out.
    Outcome(Box<Outcome>),
    /// From `finalize`: carry this out, and call again when something changes.
    Proceed(Box<Outcome>),
    /// From `finalize`: nothing left to do; the children are pruned and the primary may go.
    Done,
    /// From the host, in place of a `finalize` that failed too often: as [`Decided::Done`]. Says why.
    Skipped(String),
    /// From the host, where the guest is not asked: the primary is being deleted, and it is not ours to hold it.
    Leaving,
    /// The guest could not decide.
    Failed(Failure),
    /// The guest broke a rule or a limit; its answer is not used.
    Faulted(Fault),
}

/// What a guest did wrong, one condition reason each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FaultKind {
    /// It trapped.
    GuestTrapped,
    /// It used up its running time.
    GuestTimedOut,
    /// It wanted more memory than its limit.
    GuestOutOfMemory,
    /// What it returned breaks a rule or is too large.
    GuestOutputRejected,
    /// The host itself failed in the middle of it (G-07).
    InternalError,
}

/// A guest's fault in one decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// Which rule or limit; its name is the condition's reason.
    pub kind: FaultKind,
    /// A sentence for people: what happened, in which version of the guest.
    pub message: String,
}
