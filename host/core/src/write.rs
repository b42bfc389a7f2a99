//! Describes API requests so exactly that whoever carries them out has no choice left.

use crate::answer::Verb;
use crate::decision::Propagation;
use crate::key::ReconcilerId;
use crate::kind::{KindInfo, ObjectRef};
use crate::object::Object;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// As whom a request is sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Identity {
    /// The host itself.
    Host,
    /// A ServiceAccount, impersonated for this request alone.
    ServiceAccount {
        /// Namespace of the account.
        namespace: String,
        /// Name of the account.
        name: String,
    },
}

/// Where a request goes: one object of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// The kind with its path.
    pub kind: KindInfo,
    /// Namespace of the object, none for a cluster-scoped kind.
    pub namespace: Option<String>,
    /// Name of the object.
    pub name: String,
}

impl Target {
    /// Names the object for messages.
    pub fn reference(&self) -> ObjectRef {
        ObjectRef {
            of: self.kind.of.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// The target of an object of a known kind.
    pub fn of(kind: &KindInfo, object: &Object) -> Self {
        Self {
            kind: kind.clone(),
            namespace: object.namespace().map(Into::into),
            name: object.name().into(),
        }
    }
}

/// The part of an object that a write goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Subresource {
    /// The object itself.
    None,
    /// Its `/status`.
    Status,
}

/// What is to be done to the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Request {
    /// POST: the server itself refuses if anything of that name exists.
    Create(Object),
    /// Server-side apply.
    Apply {
        /// The fields to own. Carries `metadata.uid` when it must hit exactly that object.
        object: Object,
        /// Takes over fields that others hold; only on what is proven ours.
        force: bool,
    },
    /// JSON patch (RFC 6902), with `test` operations for what must hold.
    JsonPatch(Vec<Value>),
    /// JSON merge patch (RFC 7386); carries `metadata.resourceVersion` when it must not cross another write.
    MergePatch(Value),
    /// DELETE with preconditions.
    Delete {
        /// Only this object.
        uid: String,
        /// Only in this state; empty for any.
        resource_version: String,
        /// How dependents go.
        propagation: Propagation,
    },
}

impl Request {
    /// What the API server is asked.
    pub fn verb(&self) -> Verb {
        match self {
            Self::Create(_) => Verb::Create,
            Self::Apply { .. } => Verb::Apply,
            Self::JsonPatch(_) => Verb::JsonPatch,
            Self::MergePatch(_) => Verb::MergePatch,
            Self::Delete { .. } => Verb::Delete,
        }
    }
}

/// One API write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Write {
    /// As whom.
    pub identity: Identity,
    /// To which object.
    pub target: Target,
    /// To which part of it.
    pub subresource: Subresource,
    /// Under which field manager.
    pub manager: String,
    /// What.
    pub request: Request,
}

/// Why a write did not happen: the world's answer, sorted by what it means for the next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum WriteError {
    /// 409 on create: something of that name is there.
    #[error("something of that name exists already")]
    AlreadyExists,
    /// 409 on apply: another manager holds a field; the server's words.
    #[error("conflict: {0}")]
    Conflict(String),
    /// The request's own precondition (uid, resourceVersion, a `test` of a JSON patch) no longer holds: what it was planned
    /// from is out of date. No fault of anybody; a new look decides.
    #[error("out of date: {0}")]
    Stale(String),
    /// 404: the object, its namespace or its kind is gone.
    #[error("not found: {0}")]
    NotFound(String),
    /// 403: the identity lacks a right, or admission forbids it.
    #[error("forbidden: {0}")]
    Forbidden(String),
    /// 400, 413 or 422: the server refuses the content, and will again.
    #[error("refused by the API server: {0}")]
    Invalid(String),
    /// It was taken, and the API server made of it something without this field that was sent.
    #[error("taken without {0}, which was sent")]
    Dropped(String),
    /// Refused as things are; code and reason do not tell whether for good. A `test` of a JSON patch that fails, or a 500 that
    /// gives no reason.
    #[error("refused by the API server: {0}")]
    Refused(String),
    /// 5xx, or a token that is being renewed: worth trying again as it is.
    #[error("API server unavailable: {0}")]
    Unavailable(String),
    /// The server asks to wait: 429 or 503 with `Retry-After`.
    #[error("API server busy: {words}")]
    Busy {
        /// As long as it asks.
        wait: Duration,
        /// Its words.
        words: String,
    },
    /// No answer came, or one that leaves open whether it was done: the live object has to be looked at before it is written
    /// again.
    #[error("API server unavailable: {0}")]
    Unanswered(String),
}

/// What became of one write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// Which object.
    pub target: Target,
    /// Empty if done, otherwise why not.
    pub error: Option<WriteError>,
}

/// On whose behalf a plan is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Actor {
    /// The Reconciler, whose name is in field managers, labels and the finalizer.
    pub reconciler: ReconcilerId,
    /// The ServiceAccount that is impersonated.
    pub identity: Identity,
}
