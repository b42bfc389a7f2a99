//! Counts how a Reconciler's primaries stand.

use crate::api::{HeldPlan, LastFailure, Primaries, PruneHeld};
use std::collections::HashMap;
use std::time::Duration;
use windlass_core::events::Told;
use windlass_core::guard::{Prunes, listed};
use windlass_core::key::PrimaryName;
use windlass_core::reason::Reason;
use windlass_core::text::cut;
use windlass_core::write::Target;

/// How a primary stands after its last decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whether it is ready.
    pub ready: bool,
    /// `Reconciled`, or why not.
    pub reason: Reason,
    /// The same in a sentence, [cut].
    pub message: String,
}

/// At most this many held deletions are in a status, which must not grow with the fleet (I-04).
const PLANS: usize = 50;
/// And so many bytes of names of what would be deleted, all plans together.
const NAMES: usize = 16 << 10;

/// How many names fit into so many bytes.
fn fitting(names: &[String], room: usize) -> usize {
    let sizes = names.iter().scan(0, |size, name| {
        *size += name.len() + 2;
        Some(*size)
    });
    sizes.take_while(|size| *size <= room).count()
}

/// How all primaries of one Reconciler stand.
#[derive(Debug, Default)]
pub struct Tally {
    standings: HashMap<PrimaryName, Standing>,
    /// The last failure, kept while that primary still fails.
    last_failure: Option<(PrimaryName, String)>,
    /// What was said about objects of which something was: primaries, and the Reconciler itself.
    told: HashMap<PrimaryName, Told>,
    /// What was deleted lately because a primary wanted it no more, and what of that is held.
    pub(crate) prunes: Prunes,
    /// What own writes went to that had no answer, and was not looked at since, by primary.
    doubts: HashMap<PrimaryName, Vec<Target>>,
}

impl Tally {
    /// Notes how a primary stands; gives what was noted before.
    pub fn note(&mut self, primary: PrimaryName, standing: Standing) -> Option<Standing> {
        self.standings.insert(primary, standing)
    }

    /// Remembers when a primary failed last.
    pub fn failed(&mut self, primary: PrimaryName, time: String) {
        self.last_failure = Some((primary, time));
    }

    /// Forgets a primary that is gone.
    pub fn forget(&mut self, primary: &PrimaryName) {
        self.standings.remove(primary);
        self.told.remove(primary);
        self.prunes.forget(primary);
        self.doubts.remove(primary);
    }

    /// Notes that a write to this object had no answer: nobody knows what is there now.
    pub fn doubt(&mut self, primary: &PrimaryName, target: &Target) {
        let doubts = self.doubts.entry(primary.clone()).or_default();
        if !doubts.contains(target) {
            doubts.push(target.clone());
        }
    }

    /// What is to be looked at before it is written again.
    pub fn doubts(&self, primary: &PrimaryName) -> Vec<Target> {
        self.doubts.get(primary).cloned().unwrap_or_default()
    }

    /// Notes that an object was looked at.
    pub fn looked_at(&mut self, primary: &PrimaryName, target: &Target) {
        if let Some(doubts) = self.doubts.get_mut(primary) {
            doubts.retain(|other| other != target);
            if doubts.is_empty() {
                self.doubts.remove(primary);
            }
        }
    }

    /// What was said about an object, `now` since the host's start.
    pub(crate) fn told(&mut self, about: &PrimaryName, now: Duration) -> &mut Told {
        self.told.entry(about.clone()).or_insert_with(|| Told::new(now))
    }

    /// How many primaries were decided about.
    pub fn decided(&self) -> usize {
        self.standings.len()
    }

    /// How each primary stands, by name.
    pub fn standings(&self) -> Vec<(String, Standing)> {
        let mut standings: Vec<_> = self
            .standings
            .iter()
            .map(|(name, standing)| (name.to_string(), standing.clone()))
            .collect();
        standings.sort_by(|one, other| one.0.cmp(&other.0));
        standings
    }

    /// The counts, for so many primaries in all.
    pub fn primaries(&self, total: usize) -> Primaries {
        let count = |wanted: fn(&Standing) -> bool| {
            u32::try_from(self.standings.values().filter(|standing| wanted(standing)).count()).unwrap_or(u32::MAX)
        };
        let total = u32::try_from(total).unwrap_or(u32::MAX);
        let ready = count(|standing| standing.ready).min(total);
        let failing = count(Standing::is_failing).min(total);
        Primaries {
            total,
            ready,
            failing,
            summary: format!("{ready}/{total}"),
        }
    }

    /// The deletions that wait for an approval, if there are any.
    pub fn prune_held(&self) -> Option<PruneHeld> {
        let held = self.prunes.held();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let room = NAMES / held.len().clamp(1, PLANS);
        (!held.is_empty()).then(|| PruneHeld {
            primaries: number(held.len()),
            children: number(held.values().map(|held| held.children).sum()),
            plans: held
                .iter()
                .take(PLANS)
                .map(|(primary, held)| HeldPlan {
                    primary: primary.to_string(),
                    hash: held.hash.clone(),
                    children: number(held.children),
                    names: listed(&held.names, fitting(&held.names, room)),
                })
                .collect(),
        })
    }

    /// The last failure, if that primary still fails.
    pub fn last_failure(&self) -> Option<LastFailure> {
        let (primary, time) = self.last_failure.as_ref()?;
        let standing = self.standings.get(primary).filter(|standing| standing.is_failing())?;
        Some(LastFailure {
            primary: primary.to_string(),
            reason: standing.reason.to_string(),
            message: standing.message.clone(),
            time: time.clone(),
        })
    }
}

impl Standing {
    /// How a primary stands, with as much of the message as is kept.
    pub fn new(ready: bool, reason: Reason, message: &str) -> Self {
        Self {
            ready,
            reason,
            message: cut(message),
        }
    }

    /// Whether somebody should look at it.
    pub fn is_failing(&self) -> bool {
        !matches!(
            self.reason,
            Reason::Reconciled | Reason::Waiting | Reason::Deleting | Reason::WaitingForOldChild
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> PrimaryName {
        PrimaryName {
            namespace: Some("team".into()),
            name: name.into(),
        }
    }

    fn standing(ready: bool, reason: Reason) -> Standing {
        Standing::new(ready, reason, "as it is")
    }

    #[test]
    fn counts_follow_the_last_decision_of_each_primary() {
        let mut tally = Tally::default();
        tally.note(name("a"), standing(true, Reason::Reconciled));
        tally.note(name("b"), standing(false, Reason::GuestTrapped));
        tally.note(name("c"), standing(false, Reason::Waiting));
        let primaries = tally.primaries(4);
        assert_eq!(
            (primaries.ready, primaries.failing, primaries.summary.as_str()),
            (1, 1, "1/4")
        );
        tally.note(name("b"), standing(true, Reason::Reconciled));
        assert_eq!(tally.primaries(4).summary, "2/4");
    }

    #[test]
    fn no_more_of_a_message_is_kept_than_may_be() {
        let standing = Standing::new(false, Reason::Invalid, &"x".repeat(32_768));
        assert!(standing.message.len() <= 1024, "{}", standing.message.len());
    }

    #[test]
    fn the_last_failure_goes_when_its_primary_is_well_again() {
        let mut tally = Tally::default();
        tally.note(name("b"), standing(false, Reason::GuestTrapped));
        tally.failed(name("b"), "2026-01-01T00:00:00Z".into());
        assert_eq!(tally.last_failure().unwrap().primary, "team/b");
        tally.note(name("b"), standing(true, Reason::Reconciled));
        assert_eq!(tally.last_failure(), None);
    }
}
