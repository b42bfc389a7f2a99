//! Builds what a guest wants: children, status fields, conditions, Events.

use std::time::Duration;

use serde::Serialize;

use crate::json::Json;
use crate::manifest::Kind;

/// What a decision comes to.
///
/// ```
/// use windlass_sdk::{Child, Outcome};
/// let config = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
/// let outcome = Outcome::exactly([Child::new(&config)]).status(&serde_json::json!({"made": 1}));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    pub(crate) children: Children,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) primary: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<Json>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) events: Vec<Event>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) requeue_after: Option<Duration>,
}

/// What is to become of the children.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Children {
    Unchanged,
    Exactly(Vec<Child>),
    NoneWanted,
}

impl Outcome {
    /// These children and no others: what the primary owns and is not listed is deleted.
    /// An empty list is refused by the host, since it is more often a mistake than meant;
    /// [`none_wanted`](Outcome::none_wanted) says it on purpose.
    pub fn exactly(children: impl IntoIterator<Item = Child>) -> Self {
        Outcome::new(Children::Exactly(children.into_iter().collect()))
    }

    /// Deliberately no child at all: those there are get deleted.
    pub fn none_wanted() -> Self {
        Outcome::new(Children::NoneWanted)
    }

    /// Not enough is known: no child is touched.
    pub fn unchanged() -> Self {
        Outcome::new(Children::Unchanged)
    }

    /// The fields of `.status` the guest wants to own. Left out fields that it owned before are removed;
    /// without this call they stay as they are.
    pub fn status(mut self, status: &impl Serialize) -> Self {
        self.status = Some(Json::of(status));
        self
    }

    /// Fields of the primary outside status that it wants to own, within `writes_primary` of the manifest. They are never taken
    /// from another manager, and given back by an outcome that names them no more. If the Reconciler goes, they stay.
    pub fn primary(mut self, fields: &impl Serialize) -> Self {
        self.primary = Some(Json::of(fields));
        self
    }

    /// One more condition of the primary. `Reconciled` is the host's and refused.
    pub fn condition(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// One more Event about the primary.
    pub fn event(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }

    /// Decides again after this long even if nothing changes.
    pub fn requeue_after(mut self, duration: Duration) -> Self {
        self.requeue_after = Some(duration);
        self
    }

    fn new(children: Children) -> Self {
        Outcome {
            children,
            primary: None,
            status: None,
            conditions: Vec::new(),
            events: Vec::new(),
            requeue_after: None,
        }
    }
}

/// One child: an object that is wanted, or one to leave alone this time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Child {
    /// Wanted as it stands here.
    Want(WantedChild),
    /// Neither changed nor deleted this time.
    Hold(ObjectRef),
}

impl Child {
    /// Wants `object`, which must serialise with `apiVersion` and `kind` (as types of `k8s-openapi` do).
    /// What it names is owned as by server-side apply; what it does not name is left to others.
    pub fn new(object: &impl Serialize) -> Self {
        Child::Want(WantedChild {
            object: Json::of(object),
            mode: WriteMode::Apply,
            propagation: Propagation::Background,
            retain: false,
        })
    }

    /// Leaves the child of this kind and name as it is; `namespace` is none for a cluster-scoped kind.
    pub fn hold(kind: &Kind, namespace: Option<&str>, name: impl Into<String>) -> Self {
        Child::Hold(ObjectRef {
            of: kind.of.clone(),
            namespace: namespace.map(str::to_owned),
            name: name.into(),
        })
    }

    /// Where the server refuses to change an immutable field: delete and create again.
    pub fn or_recreate(self) -> Self {
        self.change(|wanted| wanted.mode = WriteMode::ApplyOrRecreate)
    }

    /// Create it if missing, then leave it alone.
    pub fn create_once(self) -> Self {
        self.change(|wanted| wanted.mode = WriteMode::CreateOnce)
    }

    /// How its own dependents go when it is deleted; `Background` if not said.
    pub fn propagation(self, propagation: Propagation) -> Self {
        self.change(|wanted| wanted.propagation = propagation)
    }

    /// It outlives the primary.
    pub fn retain(self) -> Self {
        self.change(|wanted| wanted.retain = true)
    }

    fn change(mut self, change: impl FnOnce(&mut WantedChild)) -> Self {
        if let Child::Want(wanted) = &mut self {
            change(wanted);
        }
        self
    }
}

/// An object that is wanted, and how to write it. Made by [`Child::new`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WantedChild {
    pub(crate) object: Json,
    pub(crate) mode: WriteMode,
    pub(crate) propagation: Propagation,
    pub(crate) retain: bool,
}

/// Names one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObjectRef {
    pub(crate) of: crate::manifest::KindRef,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

/// How a child is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum WriteMode {
    Apply,
    ApplyOrRecreate,
    CreateOnce,
}

/// How an object's own dependents go when it is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Propagation {
    /// After it.
    Background,
    /// Before it.
    Foreground,
    /// Not at all.
    Orphan,
}

/// One condition of the primary. The host adds `lastTransitionTime` and `observedGeneration`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Condition {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) status: ConditionStatus,
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ConditionStatus {
    /// It does.
    True,
    /// It does not.
    False,
    /// It cannot be said.
    Unknown,
}

impl Condition {
    /// A condition of the type `kind` (`Ready`); `reason` is one CamelCase word, `message` a sentence.
    pub fn new(
        kind: impl Into<String>,
        status: ConditionStatus,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Condition {
            kind: kind.into(),
            status,
            reason: reason.into(),
            message: message.into(),
        }
    }
}

/// One Event about the primary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    pub(crate) severity: Severity,
    pub(crate) reason: String,
    pub(crate) note: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Severity {
    Normal,
    Warning,
}

impl Event {
    /// Something worth knowing; `reason` is one CamelCase word, `note` a sentence.
    pub fn normal(reason: impl Into<String>, note: impl Into<String>) -> Self {
        Event {
            severity: Severity::Normal,
            reason: reason.into(),
            note: note.into(),
        }
    }

    /// Something to look at.
    pub fn warning(reason: impl Into<String>, note: impl Into<String>) -> Self {
        Event {
            severity: Severity::Warning,
            reason: reason.into(),
            note: note.into(),
        }
    }
}
