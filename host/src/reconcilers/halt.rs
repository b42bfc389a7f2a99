//! Says why a Reconciler does not run what its source and spec say.

use crate::api::Refused;
use crate::cluster::ReadError;
use windlass_core::reason::Reason;

/// The conditions of a Reconciler besides `Ready`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gate {
    /// A module was fetched, accepted and compiled, and described itself.
    Loaded,
    /// The ServiceAccount exists, consents and has the rights, and the primaries are nobody else's.
    Permitted,
    /// The kinds are served and their watches listed.
    Synced,
}

/// Why a Reconciler does not run what its source and spec say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// The module was refused; nothing is tried again before the source or the settings change.
    Refused(Refused),
    /// The module may run once somebody approves what it needs.
    Held(Refused),
    /// What is asked was not listed yet: nothing can be said, and nothing is written, before it is (C-13).
    NotYet,
    /// Something is missing.
    Waiting {
        /// Which condition is not met.
        gate: Gate,
        /// Why, in a word.
        reason: Reason,
        /// Why, in a sentence, and what to do.
        message: String,
        /// Looked at again with a growing delay, because no watch will tell.
        retry: bool,
    },
}

impl Halt {
    /// Whether another try may end in another way although nothing changed that is watched.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Self::NotYet | Self::Waiting { retry: true, .. })
    }

    /// Why, in a sentence.
    pub(super) fn message(&self) -> &str {
        match self {
            Self::Refused(refused) | Self::Held(refused) => &refused.message,
            Self::NotYet => "what it needs was not listed yet",
            Self::Waiting { message, .. } => message,
        }
    }

    /// The same with more to say.
    pub(super) fn and(mut self, more: &str) -> Self {
        match &mut self {
            Self::Refused(refused) | Self::Held(refused) => refused.message = format!("{}; {more}", refused.message),
            Self::Waiting { message, .. } => *message = format!("{message}; {more}"),
            Self::NotYet => {}
        }
        self
    }

    pub(super) fn waiting(gate: Gate, reason: Reason, message: impl Into<String>) -> Self {
        Self::Waiting {
            gate,
            reason,
            message: message.into(),
            retry: true,
        }
    }

    /// As [`Halt::waiting`] where a watch will tell.
    pub(super) fn watched(gate: Gate, reason: Reason, message: impl Into<String>) -> Self {
        Self::Waiting {
            gate,
            reason,
            message: message.into(),
            retry: false,
        }
    }

    pub(super) fn unreadable(gate: Gate, what: &str, error: &ReadError) -> Self {
        Self::waiting(
            gate,
            Reason::ClusterUnavailable,
            format!("{what} could not be read: {error}"),
        )
    }
}
