//! Says how often something may happen: a burst, and then once in a while.

use std::time::Duration;

/// How often something may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// How often at once.
    pub burst: u32,
    /// How long it takes until it may happen once more; at least a second.
    pub refill: Duration,
}

/// Events of a guest's own about one primary; as of kubectl's own clients.
///
/// Stops: a guest that is called again each second, and pushes other Events out of etcd with eight each time.
pub const GUEST_EVENTS: Allowance = Allowance {
    burst: 25,
    refill: Duration::from_secs(300),
};

/// What is left of an allowance. All times count from the same moment, such as the host's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    allowance: Allowance,
    left: u32,
    /// Up to when what has come back is counted.
    since: Duration,
}

impl Budget {
    /// All of it, at this time.
    pub fn new(allowance: Allowance, now: Duration) -> Self {
        Self {
            allowance,
            left: allowance.burst,
            since: now,
        }
    }

    /// Takes one out; false if none is left.
    pub fn take(&mut self, now: Duration) -> bool {
        *self = self.at(now);
        let may = self.left > 0;
        if self.left == self.allowance.burst {
            self.since = now;
        }
        self.left = self.left.saturating_sub(1);
        may
    }

    /// Whether one could be taken out.
    pub fn is_left(&self, now: Duration) -> bool {
        self.at(now).left > 0
    }

    /// Whether it is as if nothing had ever been taken out.
    pub fn is_whole(&self, now: Duration) -> bool {
        self.at(now).left == self.allowance.burst
    }

    /// With what has come back by now.
    fn at(&self, now: Duration) -> Self {
        let refill = self.allowance.refill.as_secs().max(1);
        let waited = now.saturating_sub(self.since).as_secs();
        let back = u32::try_from(waited / refill).unwrap_or(u32::MAX);
        if back == 0 {
            return *self;
        }
        Self {
            left: self.left.saturating_add(back).min(self.allowance.burst),
            // What is not a whole one counts for the next.
            since: now.saturating_sub(Duration::from_secs(waited % refill)),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(budget: &mut Budget, seconds: u64) -> usize {
        let now = Duration::from_secs(seconds);
        (0..100).filter(|_| budget.take(now)).count()
    }

    #[test]
    fn a_burst_is_let_through_and_then_one_for_each_five_minutes() {
        let mut budget = Budget::new(GUEST_EVENTS, Duration::from_secs(10));
        assert_eq!(taken(&mut budget, 10), 25);
        assert_eq!(taken(&mut budget, 309), 0);
        assert_eq!(taken(&mut budget, 310), 1);
        assert_eq!(taken(&mut budget, 1_000), 2);
        assert_eq!(taken(&mut budget, u64::MAX), 25, "never more than at first");
        assert_eq!(taken(&mut budget, 0), 0, "a time before gives nothing");
    }

    #[test]
    fn looking_takes_nothing_out() {
        let mut budget = Budget::new(GUEST_EVENTS, Duration::ZERO);
        assert!(budget.is_whole(Duration::ZERO) && budget.is_left(Duration::ZERO));
        assert_eq!(taken(&mut budget, 0), 25);
        assert!(!budget.is_left(Duration::from_secs(299)) && budget.is_left(Duration::from_secs(300)));
        assert!(budget.is_whole(Duration::from_secs(25 * 300)) && !budget.is_whole(Duration::from_secs(24 * 300)));
    }
}
