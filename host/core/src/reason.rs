//! Lists the reasons that conditions, Events and metrics name; nothing else is ever a reason of the host's.

use crate::decision::FaultKind;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why something is as it is, in one CamelCase word (API conventions, "conditions").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reason {
    /// The last decision for this generation was carried out whole.
    Reconciled,
    /// No module runs for this Reconciler.
    GuestMissing,
    /// The module could not be loaded.
    GuestLoadFailed,
    /// The guest trapped.
    GuestTrapped,
    /// The guest used up its running time.
    GuestTimedOut,
    /// The guest wanted more memory than its limit.
    GuestOutOfMemory,
    /// The guest's answer breaks a rule; none of it was used.
    GuestOutputRejected,
    /// The API server refused a write's content.
    ApplyRejected,
    /// The ServiceAccount lacks a right.
    ApplyForbidden,
    /// Something that is not ours is in the way.
    OwnershipConflict,
    /// The kind's schema does not have what was written.
    SchemaDroppedFields,
    /// A kind or object that is needed is not there.
    DependencyMissing,
    /// The guest waits for something.
    Waiting,
    /// The primary itself is wrong.
    Invalid,
    /// Pruning would take more than the allowed share.
    PruneHeld,
    /// Another Reconciler writes the status of these primaries already.
    PrimaryClaimed,
    /// The module needs more rights than were approved.
    RightsGrow,
    /// The source of the module is gone; the last good one runs on.
    SourceMissing,
    /// The source is not what the Reconciler asks for.
    SourceMismatch,
    /// Parts of the module are missing.
    Incomplete,
    /// A child with the same name still has to go.
    WaitingForOldChild,
    /// The primary is being deleted.
    Deleting,
    /// `finalize` failed too often and is skipped; the primary and its children go.
    FinalizeSkipped,
    /// The API server cannot be reached or is overloaded.
    ClusterUnavailable,
    /// A fault of the host's own.
    InternalError,
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

impl From<FaultKind> for Reason {
    fn from(kind: FaultKind) -> Self {
        match kind {
            FaultKind::GuestTrapped => Self::GuestTrapped,
            FaultKind::GuestTimedOut => Self::GuestTimedOut,
            FaultKind::GuestOutOfMemory => Self::GuestOutOfMemory,
            FaultKind::GuestOutputRejected => Self::GuestOutputRejected,
            FaultKind::InternalError => Self::InternalError,
        }
    }
}
