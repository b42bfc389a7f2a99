//! Identifies what the queue holds: one primary of one Reconciler.

use crate::object::Object;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Namespace and name of a Reconciler.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReconcilerId {
    /// Namespace of the Reconciler.
    pub namespace: String,
    /// Name of the Reconciler, a DNS label of at most 40 characters.
    pub name: String,
}

impl ReconcilerId {
    /// Makes an id from its two parts.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for ReconcilerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// One primary of one Reconciler: what a decision is about, never why it was woken.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// Whose primary it is.
    pub reconciler: ReconcilerId,
    /// Namespace of the primary, none for a cluster-scoped kind.
    pub namespace: Option<String>,
    /// Name of the primary.
    pub name: String,
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(formatter, "{} {namespace}/{}", self.reconciler, self.name),
            None => write!(formatter, "{} {}", self.reconciler, self.name),
        }
    }
}

impl Key {
    /// The key of a primary of a Reconciler.
    pub fn new(reconciler: ReconcilerId, primary: PrimaryName) -> Self {
        Self {
            reconciler,
            namespace: primary.namespace,
            name: primary.name,
        }
    }

    /// The primary, without whose it is.
    pub fn primary(&self) -> PrimaryName {
        PrimaryName {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

/// Namespace and name of a primary, where its Reconciler is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrimaryName {
    /// Namespace of the primary, none for a cluster-scoped kind.
    pub namespace: Option<String>,
    /// Name of the primary.
    pub name: String,
}

impl PrimaryName {
    /// The name of an object that is a primary.
    pub fn of(object: &Object) -> Self {
        Self {
            namespace: object.namespace().map(Into::into),
            name: object.name().into(),
        }
    }
}

impl fmt::Display for PrimaryName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(formatter, "{namespace}/{}", self.name),
            None => formatter.write_str(&self.name),
        }
    }
}
