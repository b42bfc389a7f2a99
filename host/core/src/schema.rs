//! Reads from a CRD what the host may write to the status of its objects.

use crate::kind::KindInfo;
use serde::{Deserialize, Serialize};

/// How a kind's schema holds `status.conditions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ConditionsSchema {
    /// Not at all: failures are Events and counts on the Reconciler instead.
    Absent,
    /// As a list keyed by `type`, where several writers own entries of their own.
    Keyed,
    /// As a plain list, which is one value: read, change, write back.
    Plain,
}

/// A kind as the cluster serves it now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Served {
    /// The kind with its path.
    pub kind: KindInfo,
    /// Whether `/status` is a subresource.
    pub status_subresource: bool,
    /// How conditions are held.
    pub conditions: ConditionsSchema,
    /// Whether the schema has `status.observedGeneration`.
    pub observed_generation: bool,
}
