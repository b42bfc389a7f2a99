//! Ends a decision early: to ask, to wait, or because the primary is wrong.

use serde::Serialize;

use crate::json::Json;
use crate::outcome::Condition;
use crate::query::Query;

/// Why a decision has no outcome (yet). `?` passes it on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// These must be answered first; made by [`Context::ask`](crate::Context::ask).
    Ask(Vec<Query>),
    /// It cannot be decided; no child is touched.
    Fail(Failure),
}

impl Stop {
    /// Something it depends on is not there yet. No error and no backoff: a change wakes it.
    pub fn waiting(message: impl Into<String>) -> Self {
        Stop::Fail(Failure::waiting(message))
    }

    /// The primary itself is wrong. Not tried again before it changes. Start with the field: `spec.replicas: ..`.
    pub fn invalid(message: impl Into<String>) -> Self {
        Stop::Fail(Failure::invalid(message))
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Fail(failure)
    }
}

/// Which of the two failures it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FailureKind {
    /// Something it depends on is not there yet.
    Waiting,
    /// The primary itself is wrong.
    Invalid,
}

/// A decision that could not be taken, with what the primary's status should say meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<Json>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<Condition>,
}

impl Failure {
    /// Something it depends on is not there yet.
    pub fn waiting(message: impl Into<String>) -> Self {
        Failure::new(FailureKind::Waiting, message.into())
    }

    /// The primary itself is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Failure::new(FailureKind::Invalid, message.into())
    }

    /// The fields of `.status` the guest wants to own meanwhile; without it they stay as they are.
    pub fn status(mut self, status: &impl Serialize) -> Self {
        self.status = Some(Json::of(status));
        self
    }

    /// One more condition of the primary.
    pub fn condition(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    fn new(kind: FailureKind, message: String) -> Self {
        Failure {
            kind,
            message,
            status: None,
            conditions: Vec::new(),
        }
    }
}
