//! Says in conditions how far a Reconciler has come.

use super::halt::{Gate, Halt};
use crate::api::{PruneHeld, ReconcilerStatus, StatusCondition};
use crate::running::Activation;
use windlass_core::reason::Reason;
use windlass_core::text::cut;

/// What is said while a guest is paused. Without the delay, which changes with each try.
const PAUSED: &str = "the module faulted on three different primaries with no success between and is paused; single primaries \
                      are tried with a growing delay of at most 30 s, and a success, another module or other settings end \
                      it; status.lastFailure says what it did last";

/// What is said while deletions are held. Without the numbers, which are in the status.
const HELD: &str = "more children would be deleted than spec.pruneGuard lets go unasked, and all are kept; `windlass approve prune` \
                    with this Reconciler's name shows them and lets them go, status.pruneHeld lists them";

/// A condition without its times.
pub(super) struct Say<'a> {
    pub(super) type_: &'static str,
    pub(super) status: &'static str,
    pub(super) reason: String,
    pub(super) message: &'a str,
}

/// `Loaded`, `Permitted`, `Synced` and `Ready`, from where the steps halted.
///
/// `trouble` is what a watch of the running module has, `mismatch` what of the source is not taken up, `failing` how many
/// primaries fail, `held` which deletions wait for an approval.
pub(super) fn conditions<'a>(
    active: Option<&Activation>,
    halt: Option<&'a Halt>,
    trouble: Option<&'a str>,
    mismatch: Option<&'a str>,
    failing: u32,
    held: Option<&PruneHeld>,
) -> Vec<Say<'a>> {
    let (gate, reason, message) = match halt {
        None if trouble.is_some() => (
            Some(Gate::Synced),
            Reason::DependencyMissing,
            trouble.unwrap_or_default(),
        ),
        None | Some(Halt::NotYet) => (None, Reason::Reconciled, ""),
        Some(Halt::Refused(refused)) => (Some(Gate::Loaded), Reason::GuestLoadFailed, refused.message.as_str()),
        Some(Halt::Held(refused)) => (Some(Gate::Permitted), Reason::RightsGrow, refused.message.as_str()),
        Some(Halt::Waiting {
            gate, reason, message, ..
        }) => (Some(*gate), *reason, message.as_str()),
    };
    let mut says = Vec::new();
    for (of, done) in [
        (Gate::Loaded, "the module of the source is loaded"),
        (
            Gate::Permitted,
            "the ServiceAccount consents and has the rights that the module needs",
        ),
        (Gate::Synced, "all kinds are served and watched"),
    ] {
        let type_ = of.condition();
        says.push(match gate {
            Some(gate) if gate == of => Say {
                type_,
                status: "False",
                reason: reason.to_string(),
                message,
            },
            Some(gate) if gate < of => Say {
                type_,
                status: "Unknown",
                reason: "NotReached".into(),
                message: "an earlier step is not done",
            },
            _ => match mismatch.filter(|_| of == Gate::Loaded) {
                Some(mismatch) => Say {
                    type_,
                    status: "True",
                    reason: Reason::SourceMismatch.to_string(),
                    message: mismatch,
                },
                None => Say {
                    type_,
                    status: "True",
                    reason: of.done().into(),
                    message: done,
                },
            },
        });
    }
    says.push(match (gate, active) {
        (Some(_), _) => Say {
            type_: "Ready",
            status: "False",
            reason: reason.to_string(),
            message,
        },
        (None, Some(active)) if active.breaker().is_paused() => Say {
            type_: "Ready",
            status: "False",
            reason: "Paused".into(),
            message: PAUSED,
        },
        (None, Some(_)) if held.is_some() => Say {
            type_: "Ready",
            status: "False",
            reason: Reason::PruneHeld.to_string(),
            message: HELD,
        },
        (None, Some(_)) if failing > 0 => Say {
            type_: "Ready",
            status: "False",
            reason: "DecisionsFailing".into(),
            message: "decisions of some primaries fail; status.lastFailure says which and why",
        },
        _ => Say {
            type_: "Ready",
            status: "True",
            reason: "Running".into(),
            message: "decisions are taken",
        },
    });
    says
}

impl Gate {
    pub(super) fn condition(self) -> &'static str {
        match self {
            Self::Loaded => "Loaded",
            Self::Permitted => "Permitted",
            Self::Synced => "Synced",
        }
    }

    fn done(self) -> &'static str {
        match self {
            Self::Loaded => "Compiled",
            Self::Permitted => "Granted",
            Self::Synced => "Listed",
        }
    }
}

/// Adds times: lastTransitionTime changes only with the status.
pub(super) fn with_times(
    before: &ReconcilerStatus,
    says: &[Say<'_>],
    now: &str,
    generation: Option<i64>,
) -> Vec<StatusCondition> {
    says.iter()
        .map(|say| {
            let old = before
                .conditions
                .iter()
                .find(|old| old.type_ == say.type_ && old.status == say.status);
            StatusCondition {
                type_: say.type_.into(),
                status: say.status.into(),
                reason: say.reason.clone(),
                message: cut(say.message),
                last_transition_time: old.map_or_else(|| now.to_owned(), |old| old.last_transition_time.clone()),
                observed_generation: generation,
            }
        })
        .collect()
}
