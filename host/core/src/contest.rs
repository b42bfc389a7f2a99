//! Says which children others keep changing, or keep from being what was sent, and how often they may be put right.
//!
//! Whoever changes a field of ours is corrected at once, a few times. Who does so again and again, or takes away what was sent,
//! is some other controller: two of them writing against each other for ever cost more than a wrong value (KAI-Scheduler
//! PR#1292 counted 14,000 generations), so from then on it is put right once a minute, and somebody is told who it is.

use crate::budget::{Allowance, Budget};
use crate::reason::Reason;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Corrections of one child at once, and how long until there may be one more.
pub const CORRECTIONS: Allowance = Allowance {
    burst: 5,
    refill: Duration::from_secs(60),
};

/// Why a child is not put right now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Contested {
    /// `OwnershipConflict`, or `SchemaDroppedFields`.
    pub reason: Reason,
    /// The end of a sentence that begins with the child.
    pub why: String,
}

/// All children of one activation that were corrected lately, by uid.
///
/// Bound: one entry for each child that was corrected within the last minutes.
#[derive(Debug, Default)]
pub struct Contests(BTreeMap<String, Contest>);

#[derive(Debug)]
struct Contest {
    budget: Budget,
    contested: Contested,
}

impl Contests {
    /// Takes down that a child is put right, `now` since the host's start; true where that is the last time for a while, so
    /// that it is time to find out who changes it.
    pub fn correct(&mut self, uid: &str, now: Duration) -> bool {
        self.0.retain(|_, contest| !contest.budget.is_whole(now));
        let contest = self.entry(uid, now);
        contest.budget.take(now);
        !contest.budget.is_left(now)
    }

    /// Takes down who changes a child: a manager and its paths, as a sentence's end.
    pub fn blame(&mut self, uid: &str, why: String, now: Duration) {
        self.entry(uid, now).contested = Contested {
            reason: Reason::OwnershipConflict,
            why,
        };
    }

    /// Takes down that a field which was sent did not come back.
    pub fn dropped(&mut self, uid: &str, path: &str, now: Duration) {
        let contest = self.entry(uid, now);
        while contest.budget.take(now) {}
        contest.contested = Contested {
            reason: Reason::SchemaDroppedFields,
            why: format!(
                "does not keep {path}: it was sent, and is not in what the API server made of it; add it to the schema of the kind, \
                 find the webhook that takes it out, or have the guest leave it out"
            ),
        };
    }

    /// The children that are not put right now, by uid.
    pub fn contested(&self, now: Duration) -> BTreeMap<String, Contested> {
        let resting = self.0.iter().filter(|(_, contest)| !contest.budget.is_left(now));
        resting
            .map(|(uid, contest)| (uid.clone(), contest.contested.clone()))
            .collect()
    }

    fn entry(&mut self, uid: &str, now: Duration) -> &mut Contest {
        self.0.entry(uid.into()).or_insert_with(|| Contest {
            budget: Budget::new(CORRECTIONS, now),
            contested: Contested {
                reason: Reason::OwnershipConflict,
                why: "is changed again and again by somebody else".into(),
            },
        })
    }
}

/// Who changes a child, for [`Contests::blame`].
pub fn blamed(others: &BTreeMap<String, Vec<String>>) -> String {
    const LISTED: usize = 3;
    let all = others.iter().take(LISTED).map(|(manager, paths)| {
        let shown: Vec<&str> = paths.iter().take(LISTED).map(String::as_str).collect();
        format!("{manager} ({})", shown.join(", "))
    });
    let all: Vec<String> = all.collect();
    let who = match all.is_empty() {
        true => "somebody who takes fields away".into(),
        false => all.join(" and "),
    };
    format!(
        "is changed again and again by {who}: it is put right no more than once a minute; have that stop, or have the guest leave \
         those fields out"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_burst_is_put_right_and_then_once_a_minute() {
        let mut contests = Contests::default();
        let last: Vec<bool> = (0..5).map(|_| contests.correct("a", SECOND)).collect();
        assert_eq!(last, [false, false, false, false, true]);
        contests.blame("a", "is fought over".into(), SECOND);
        assert_eq!(contests.contested(59 * SECOND)["a"].why, "is fought over");
        assert!(contests.contested(61 * SECOND).is_empty(), "once more after a minute");
        assert!(contests.correct("a", 61 * SECOND));
        assert_eq!(contests.contested(62 * SECOND).len(), 1);
    }

    #[test]
    fn who_stops_is_forgotten() {
        let mut contests = Contests::default();
        contests.correct("a", SECOND);
        contests.correct("b", 1_000 * SECOND);
        assert_eq!(contests.0.len(), 1);
    }

    #[test]
    fn what_does_not_come_back_is_not_sent_again_at_once() {
        let mut contests = Contests::default();
        contests.dropped("a", ".spec.foo", SECOND);
        let contested = contests.contested(2 * SECOND);
        assert_eq!(contested["a"].reason, Reason::SchemaDroppedFields);
        assert!(contested["a"].why.contains(".spec.foo"));
    }

    #[test]
    fn everybody_who_changes_it_is_named_with_what_they_change() {
        let others = BTreeMap::from([("hpa".to_owned(), vec![".spec.replicas".to_owned()])]);
        assert!(
            blamed(&others).contains("by hpa (.spec.replicas):"),
            "{}",
            blamed(&others)
        );
        assert!(blamed(&BTreeMap::new()).contains("takes fields away"));
    }
}
