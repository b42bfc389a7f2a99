//! Counts a guest's faults by primary and says when the guest is to be paused: a circuit breaker per Reconciler.

use crate::backoff::Backoff;
use crate::decision::{Decided, FaultKind};
use crate::key::PrimaryName;
use std::collections::BTreeSet;
use std::time::Duration;

/// How many different primaries have to fault, with no success between, before a guest is paused (DESIGN section 9).
///
/// Stops: a broken module that takes a core by faulting on each of ten thousand primaries. One or two poisonous objects never
/// stop the others.
pub const FAULTING_PRIMARIES: usize = 3;

/// Delays of pauses that follow each other, from one second to half a minute.
pub const PAUSES: Backoff = Backoff {
    first: Duration::from_secs(1),
    factor: 2.0,
    cap: Duration::from_secs(30),
};

/// What the faults of one guest have come to.
///
/// Expected flow: [`Breaker::note`] after every decision. While it is paused, single decisions are tried (half-open): a
/// success closes it, a fault makes the pause longer.
#[derive(Clone, Debug, Default)]
pub struct Breaker {
    /// Different primaries that faulted since the last success; no more than are needed to pause.
    faulted: BTreeSet<PrimaryName>,
    /// The pause that goes on, if one does.
    pause: Option<Pause>,
}

#[derive(Clone, Copy, Debug)]
struct Pause {
    /// How many have followed each other, this one included.
    number: u32,
    /// Decisions that began before say nothing about it.
    since: Duration,
}

/// What follows from the end of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Everything goes on as it did.
    Unchanged,
    /// The guest is paused for so long, or once more.
    Pause(Duration),
    /// The pause is over.
    Resume,
}

impl Breaker {
    /// Whether the guest is paused.
    pub fn is_paused(&self) -> bool {
        self.pause.is_some()
    }

    /// Takes down how a decision about `primary` ended that `began` then, `now`: both are
    /// counted from one moment, such as the host's start. `jitter` is a random number from 0 to 1,
    /// as in [`Backoff::delay`].
    ///
    /// A guest that answers within the rules succeeds, also where it says that it waits or that the primary is invalid. What
    /// the host itself decided, or failed in, does not count.
    pub fn note(
        &mut self,
        primary: &PrimaryName,
        decided: &Decided,
        began: Duration,
        now: Duration,
        jitter: f64,
    ) -> Turn {
        match decided {
            Decided::Skipped(_) | Decided::Leaving => Turn::Unchanged,
            Decided::Faulted(fault) if fault.kind == FaultKind::InternalError => Turn::Unchanged,
            Decided::Faulted(_) => self.faulted(primary, began, now, jitter),
            Decided::Outcome(_) | Decided::Proceed(_) | Decided::Done | Decided::Failed(_) => self.succeeded(),
        }
    }

    fn succeeded(&mut self) -> Turn {
        self.faulted.clear();
        match self.pause.take() {
            Some(_) => Turn::Resume,
            None => Turn::Unchanged,
        }
    }

    fn faulted(&mut self, primary: &PrimaryName, began: Duration, now: Duration, jitter: f64) -> Turn {
        let number = match self.pause {
            Some(pause) if began < pause.since => return Turn::Unchanged,
            Some(pause) => pause.number.saturating_add(1),
            None => {
                self.faulted.insert(primary.clone());
                if self.faulted.len() < FAULTING_PRIMARIES {
                    return Turn::Unchanged;
                }
                1
            }
        };
        self.pause = Some(Pause { number, since: now });
        Turn::Pause(PAUSES.delay(number, jitter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::{Failure, FailureKind, Fault};

    /// A breaker on a clock of its own.
    struct Tried {
        breaker: Breaker,
        now: Duration,
    }

    impl Tried {
        fn new() -> Self {
            Self {
                breaker: Breaker::default(),
                now: Duration::ZERO,
            }
        }

        /// A decision that began a millisecond ago.
        fn note(&mut self, primary: &str, decided: &Decided) -> Turn {
            let began = self.now;
            self.now += Duration::from_millis(1);
            self.note_begun(primary, decided, began)
        }

        fn note_begun(&mut self, primary: &str, decided: &Decided, began: Duration) -> Turn {
            let primary = PrimaryName {
                namespace: Some("team".into()),
                name: primary.into(),
            };
            self.breaker.note(&primary, decided, began, self.now, 1.0)
        }
    }

    fn fault(kind: FaultKind) -> Decided {
        Decided::Faulted(Fault {
            kind,
            message: "on purpose".into(),
        })
    }

    fn trap() -> Decided {
        fault(FaultKind::GuestTrapped)
    }

    fn waiting() -> Decided {
        Decided::Failed(Failure {
            kind: FailureKind::Waiting,
            message: "on purpose".into(),
            status: None,
            conditions: Vec::new(),
        })
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn three_different_primaries_with_no_success_between_pause_and_growing() {
        let mut tried = Tried::new();
        assert_eq!(tried.note("a", &trap()), Turn::Unchanged);
        assert_eq!(tried.note("b", &fault(FaultKind::GuestTimedOut)), Turn::Unchanged);
        assert_eq!(
            tried.note("c", &fault(FaultKind::GuestOutputRejected)),
            Turn::Pause(SECOND)
        );
        let longer = [2, 4, 8, 16, 30, 30].map(|seconds| Turn::Pause(SECOND * seconds));
        assert_eq!([(); 6].map(|()| tried.note("a", &trap())), longer);
        assert_eq!(tried.note("d", &Decided::Done), Turn::Resume);
        assert!(!tried.breaker.is_paused());
        assert_eq!(tried.note("a", &trap()), Turn::Unchanged, "counted from none again");
    }

    #[test]
    fn one_poisonous_primary_and_a_second_one_never_pause() {
        let mut tried = Tried::new();
        for _ in 0..1_000 {
            assert_eq!(tried.note("a", &trap()), Turn::Unchanged);
            assert_eq!(tried.note("b", &trap()), Turn::Unchanged);
        }
    }

    #[test]
    fn a_success_between_and_what_is_the_hosts_own_count_for_nothing() {
        let mut tried = Tried::new();
        for name in ["a", "b", "c", "d"] {
            assert_eq!(tried.note(name, &trap()), Turn::Unchanged);
            assert_eq!(tried.note("e", &waiting()), Turn::Unchanged);
        }
        for name in ["a", "b", "c", "d"] {
            assert_eq!(tried.note(name, &fault(FaultKind::InternalError)), Turn::Unchanged);
            assert_eq!(tried.note(name, &Decided::Skipped("twice".into())), Turn::Unchanged);
        }
    }

    #[test]
    fn decisions_that_began_before_the_pause_do_not_make_it_longer() {
        let mut tried = Tried::new();
        let began = tried.now;
        for name in ["a", "b", "c"] {
            tried.note(name, &trap());
        }
        assert!(tried.breaker.is_paused());
        assert_eq!(tried.note_begun("d", &trap(), began), Turn::Unchanged);
        assert_eq!(tried.note("e", &trap()), Turn::Pause(2 * SECOND));
        assert_eq!(tried.note_begun("f", &Decided::Done, began), Turn::Resume, "it can");
    }
}
