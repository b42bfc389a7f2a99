//! Holds back the deletion of more children than is usual, until somebody says that it is meant.
//!
//! A module that says by mistake that it wants nothing would delete what a whole fleet needs within seconds (N-01). So no more
//! than a share of what a Reconciler owns goes within a window without a word from a person. Only deletions because a living
//! primary wants a child no more count: whoever deletes a primary means it.

use crate::canonical;
use crate::key::PrimaryName;
use crate::object::Object;
use crate::plan::{Blocked, Plan};
use crate::reason::Reason;
use crate::write::{Actor, Request, Write};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Hex digits of an approval: enough that nobody finds another plan with the same.
const HASH_DIGITS: usize = 32;
/// At most this many children are named in one sentence.
const LISTED: usize = 5;

/// How much may go unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PruneGuard {
    /// Of all children of the Reconciler, so many in a hundred; 100 or more holds nothing back.
    pub percent: u32,
    /// So many may go whatever share that is.
    pub minimum: u32,
    /// Within this time.
    pub window: Duration,
}

impl Default for PruneGuard {
    /// 30 %, or ten, within ten minutes.
    fn default() -> Self {
        Self {
            percent: 30,
            minimum: 10,
            window: Duration::from_secs(600),
        }
    }
}

/// The hash by which a person approves exactly these deletions: of the primary and of all that goes, each by its uid.
pub fn approval(primary: &Object, prune: &[Write]) -> String {
    let mut going: Vec<Value> = prune
        .iter()
        .map(|write| json!([write.target.reference(), uid(write)]))
        .collect();
    going.sort_by_key(Value::to_string);
    let mut hash = canonical::hash(&json!([primary.uid(), going]));
    hash.truncate(HASH_DIGITS);
    hash
}

fn uid(write: &Write) -> &str {
    match &write.request {
        Request::Delete { uid, .. } => uid,
        _ => "",
    }
}

/// A plan that would delete children of a living primary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    /// Whose children.
    pub primary: &'a PrimaryName,
    /// What approves it.
    pub hash: &'a str,
    /// How many go.
    pub children: usize,
    /// Which.
    pub names: &'a [String],
    /// How many the Reconciler owns now, these among them.
    pub owned: usize,
    /// Whether somebody has approved it.
    pub approved: bool,
}

/// What is held back of one primary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// What approves it.
    pub hash: String,
    /// How many children would go.
    pub children: usize,
    /// Which.
    pub names: Vec<String>,
}

/// What went lately for one Reconciler, and what is held back.
///
/// Once something is held, everything is, until all that is held was approved or is no longer to go: else a mistake would go on
/// share by share, window after window.
///
/// Bound: one entry for each primary, and one for each child that went within the window.
#[derive(Debug, Default)]
pub struct Prunes {
    went: VecDeque<Went>,
    /// The most that was owned since the first of them went: of that is the share.
    owned: usize,
    held: BTreeMap<PrimaryName, Held>,
    /// Something was held when the host before this one ended, and not all primaries were looked at again since.
    resumed: bool,
}

#[derive(Debug)]
struct Went {
    when: Duration,
    primary: PrimaryName,
    hash: String,
    children: usize,
}

impl Prunes {
    /// Goes on where a host before had held something.
    pub fn resume(&mut self) {
        self.resumed = true;
    }

    /// Says that all primaries were looked at since.
    pub fn looked_at_all(&mut self) {
        self.resumed = false;
    }

    /// Whether children may go, `now` since the host's start. What may is counted.
    pub fn may(&mut self, asked: &Asked<'_>, guard: &PruneGuard, now: Duration) -> bool {
        while self
            .went
            .front()
            .is_some_and(|went| now.saturating_sub(went.when) > guard.window)
        {
            self.went.pop_front();
        }
        // A plan that is tried again is the same plan.
        let is_again = |went: &Went| went.primary == *asked.primary && went.hash == asked.hash;
        if self.went.iter().any(is_again) {
            return true;
        }
        self.held.remove(asked.primary);
        let went: usize = self.went.iter().map(|went| went.children).sum();
        self.owned = match self.went.is_empty() {
            true => asked.owned,
            false => self.owned.max(asked.owned),
        };
        let share = self.owned.saturating_mul(guard.percent as usize) / 100;
        let fits = went + asked.children <= share.max(guard.minimum as usize);
        let may = asked.approved || guard.percent >= 100 || fits && self.held.is_empty() && !self.resumed;
        if may {
            self.went.push_back(Went {
                when: now,
                primary: asked.primary.clone(),
                hash: asked.hash.into(),
                // What was approved is no part of what goes unasked.
                children: if asked.approved { 0 } else { asked.children },
            });
        } else {
            self.held.insert(
                asked.primary.clone(),
                Held {
                    hash: asked.hash.into(),
                    children: asked.children,
                    names: asked.names.to_vec(),
                },
            );
        }
        may
    }

    /// Says that nothing of a primary is to go any more, or that it went itself.
    pub fn forget(&mut self, primary: &PrimaryName) {
        self.held.remove(primary);
    }

    /// Whether it is not known yet what of what was held before still is.
    pub fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// What is held, by primary.
    pub fn held(&self) -> &BTreeMap<PrimaryName, Held> {
        &self.held
    }
}

/// The plan without its deletions, which it says are held, and why.
#[must_use]
pub fn hold(plan: Plan, actor: &Actor, hash: &str, guard: &PruneGuard) -> Plan {
    let Some(first) = plan.prune.first() else { return plan };
    let message = message(&plan.prune, actor, hash, guard);
    let held = Blocked {
        target: first.target.clone(),
        reason: Reason::PruneHeld,
        message,
        unwatched: false,
    };
    let mut blocked = vec![held];
    blocked.extend(plan.blocked);
    Plan {
        prune: Vec::new(),
        blocked,
        ..plan
    }
}

/// What goes, by name.
pub fn names(prune: &[Write]) -> Vec<String> {
    prune.iter().map(|write| write.target.reference().to_string()).collect()
}

/// The first of some names, and how many more there are.
pub fn listed(names: &[String], most: usize) -> String {
    let mut listed: Vec<String> = names.iter().take(most).cloned().collect();
    if names.len() > most {
        listed.push(format!("{} more", names.len() - most));
    }
    listed.join(", ")
}

fn message(prune: &[Write], actor: &Actor, hash: &str, guard: &PruneGuard) -> String {
    let id = &actor.reconciler;
    format!(
        "{} would be deleted and is kept, as more than {} % of what this Reconciler owns would go within {} s \
         (spec.pruneGuard); if that is meant, approve it with `windlass approve prune {} -n {}` (plan {hash})",
        listed(&names(prune), LISTED),
        guard.percent,
        guard.window.as_secs(),
        id.name,
        id.namespace,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn name(name: &str) -> PrimaryName {
        PrimaryName {
            namespace: None,
            name: name.into(),
        }
    }

    fn asked<'a>(primary: &'a PrimaryName, children: usize, owned: usize) -> Asked<'a> {
        Asked {
            primary,
            hash: "h",
            children,
            names: &[],
            owned,
            approved: false,
        }
    }

    /// How many of so many primaries lose their only child.
    fn lost(prunes: &mut Prunes, primaries: usize, guard: &PruneGuard, now: Duration) -> usize {
        let mut owned = primaries;
        for number in 0..primaries {
            if prunes.may(&asked(&name(&number.to_string()), 1, owned), guard, now) {
                owned -= 1;
            }
        }
        primaries - owned
    }

    #[test]
    fn of_a_fleet_no_more_than_the_share_goes_however_long_it_lasts() {
        let (mut prunes, guard) = (Prunes::default(), PruneGuard::default());
        assert_eq!(lost(&mut prunes, 200, &guard, SECOND), 60);
        assert_eq!(prunes.held().len(), 140);
        let later = 10_000 * SECOND;
        let again = name("199");
        assert!(
            !prunes.may(&asked(&again, 1, 140), &guard, later),
            "the next window brings no more"
        );
    }

    #[test]
    fn few_go_whatever_share_that_is() {
        let (mut prunes, guard) = (Prunes::default(), PruneGuard::default());
        assert_eq!(lost(&mut prunes, 10, &guard, SECOND), 10);
        let none = PruneGuard { minimum: 0, ..guard };
        assert_eq!(lost(&mut Prunes::default(), 10, &none, SECOND), 3);
    }

    #[test]
    fn what_is_approved_goes_and_the_rest_stays_held() {
        let (mut prunes, guard) = (
            Prunes::default(),
            PruneGuard {
                minimum: 0,
                ..PruneGuard::default()
            },
        );
        let (one, other) = (name("one"), name("other"));
        assert!(!prunes.may(&asked(&one, 1, 2), &guard, SECOND) && !prunes.may(&asked(&other, 1, 2), &guard, SECOND));
        let approved = Asked {
            approved: true,
            ..asked(&one, 1, 2)
        };
        assert!(prunes.may(&approved, &guard, SECOND));
        assert_eq!(prunes.held().keys().collect::<Vec<_>>(), [&other]);
        prunes.forget(&other);
        let third = name("third");
        assert!(
            prunes.may(&asked(&third, 1, 10), &guard, SECOND),
            "nothing is held any more"
        );
    }

    #[test]
    fn a_plan_that_is_tried_again_counts_once() {
        let (mut prunes, guard) = (
            Prunes::default(),
            PruneGuard {
                minimum: 1,
                ..PruneGuard::default()
            },
        );
        let one = name("one");
        assert!((0..3).all(|_| prunes.may(&asked(&one, 1, 2), &guard, SECOND)));
        assert!(prunes.may(&asked(&one, 1, 2), &guard, 601 * SECOND));
    }

    #[test]
    fn what_a_host_before_held_stays_held_until_all_were_looked_at() {
        let (mut prunes, guard) = (Prunes::default(), PruneGuard::default());
        prunes.resume();
        let one = name("one");
        assert!(!prunes.may(&asked(&one, 1, 100), &guard, SECOND));
        prunes.looked_at_all();
        assert!(prunes.may(&asked(&one, 1, 100), &guard, SECOND), "it was alone");
    }

    #[test]
    fn a_hundred_percent_holds_nothing() {
        let guard = PruneGuard {
            percent: 100,
            minimum: 0,
            ..PruneGuard::default()
        };
        assert_eq!(lost(&mut Prunes::default(), 50, &guard, SECOND), 50);
    }
}
