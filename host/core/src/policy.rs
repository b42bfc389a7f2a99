//! Holds what the spec of a Reconciler says about its objects, whatever its module decides.

use crate::decision::{Decided, FailureKind};
use crate::guard::PruneGuard;
use crate::text::cut;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Runs of `finalize` that fail in a row before it is skipped, where that is allowed (D-06).
pub const FINALIZE_TRIES: u32 = 3;
/// How soon a failed `finalize` that may be skipped is run again. Fixed, so that the time until it is skipped is bounded
/// whatever failed before.
pub const FINALIZE_RETRY: Duration = Duration::from_secs(2);

/// What a spec says about primaries and children. A change takes effect at the next decision, without a new module (F-12).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Policy {
    /// Field managers from which objects that exist already may be taken over as children.
    pub adopts_from: Vec<String>,
    /// What happens to a primary that is being deleted when `finalize` fails.
    pub on_finalize_failure: OnFinalizeFailure,
    /// Whether the guest gets the values of Secrets.
    pub secret_values: bool,
    /// How many children may go unasked.
    pub prune_guard: PruneGuard,
}

/// What happens to a primary that is being deleted when `finalize` fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnFinalizeFailure {
    /// It stays until `finalize` succeeds, or until somebody lets it go.
    #[default]
    Block,
    /// After [`FINALIZE_TRIES`] failures its children go by the host's own inventory, and it with them.
    Skip,
}

/// How often `finalize` has failed in a row for one primary, and how it did last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinalizeFailures {
    count: u32,
    last: String,
}

impl FinalizeFailures {
    /// The failures after one more run. Any answer that is none ends the row: a guest that waits does not fail.
    #[must_use]
    pub fn after(self, decided: &Decided) -> Self {
        let words = match decided {
            Decided::Faulted(fault) => &fault.message,
            Decided::Failed(failure) if failure.kind == FailureKind::Invalid => &failure.message,
            Decided::Skipped(_) => return self,
            _ => return Self::default(),
        };
        Self {
            count: self.count.saturating_add(1),
            last: cut(words),
        }
    }

    /// What is decided in the guest's place once it has failed too often; none while it is to be asked.
    pub fn skipped(&self, policy: &Policy) -> Option<Decided> {
        let may_skip = policy.on_finalize_failure == OnFinalizeFailure::Skip && self.count >= FINALIZE_TRIES;
        may_skip.then(|| {
            Decided::Skipped(format!(
                "finalize failed {FINALIZE_TRIES} times and is skipped, as spec.onFinalizeFailure says; the children that \
                 the host knows of are deleted and the object may go. It failed with: {}",
                self.last
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::{Failure, Fault, FaultKind};

    fn fault() -> Decided {
        Decided::Faulted(Fault {
            kind: FaultKind::GuestTrapped,
            message: "trapped".into(),
        })
    }

    fn failed(kind: FailureKind) -> Decided {
        Decided::Failed(Failure {
            kind,
            message: "cannot".into(),
            status: None,
            conditions: Vec::new(),
        })
    }

    fn skips(runs: &[Decided], on_finalize_failure: OnFinalizeFailure) -> bool {
        let policy = Policy {
            on_finalize_failure,
            ..Policy::default()
        };
        let failures = runs.iter().fold(FinalizeFailures::default(), FinalizeFailures::after);
        failures.skipped(&policy).is_some()
    }

    #[test]
    fn three_failures_in_a_row_of_whatever_kind_are_skipped_where_that_is_allowed() {
        let runs = [fault(), failed(FailureKind::Invalid), fault()];
        assert!(skips(&runs, OnFinalizeFailure::Skip));
        assert!(!skips(&runs, OnFinalizeFailure::Block));
        assert!(!skips(&runs[..2], OnFinalizeFailure::Skip));
    }

    #[test]
    fn a_guest_that_waits_or_goes_on_does_not_fail() {
        let waits = || failed(FailureKind::Waiting);
        assert!(!skips(&[waits(), waits(), waits(), waits()], OnFinalizeFailure::Skip));
        assert!(!skips(
            &[fault(), fault(), Decided::Done, fault()],
            OnFinalizeFailure::Skip
        ));
    }

    #[test]
    fn what_is_skipped_stays_skipped() {
        let runs = [fault(), fault(), fault(), Decided::Skipped(String::new())];
        assert!(skips(&runs, OnFinalizeFailure::Skip));
    }
}
