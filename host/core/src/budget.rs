//! Says how many Events of a guest's own may follow each other about one primary.

use std::time::Duration;

/// Events about one primary that a guest may have written at once; as of kubectl's own clients.
const BURST: u32 = 25;
/// How long it takes until it may have one more.
const REFILL: Duration = Duration::from_secs(300);

/// What is left to a guest of Events about one primary.
///
/// Stops: a guest that is called again each second, and pushes other Events out of etcd with eight each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventBudget {
    left: u32,
    /// Up to when what has come back is counted.
    since: Duration,
}

impl EventBudget {
    /// All of it, at this time.
    pub fn new(now: Duration) -> Self {
        Self {
            left: BURST,
            since: now,
        }
    }

    /// Takes one Event out; false if none is left. `now` counts from the same moment in all calls, such as the host's start.
    pub fn take(&mut self, now: Duration) -> bool {
        let waited = now.saturating_sub(self.since).as_secs();
        let back = u32::try_from(waited / REFILL.as_secs()).unwrap_or(u32::MAX);
        if back > 0 {
            self.left = self.left.saturating_add(back).min(BURST);
            // What is not a whole one counts for the next.
            self.since = now.saturating_sub(Duration::from_secs(waited % REFILL.as_secs()));
        }
        let may = self.left > 0;
        self.left = self.left.saturating_sub(1);
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(budget: &mut EventBudget, seconds: u64) -> usize {
        let now = Duration::from_secs(seconds);
        (0..100).filter(|_| budget.take(now)).count()
    }

    #[test]
    fn a_burst_is_let_through_and_then_one_for_each_five_minutes() {
        let mut budget = EventBudget::new(Duration::from_secs(10));
        assert_eq!(taken(&mut budget, 10), 25);
        assert_eq!(taken(&mut budget, 309), 0);
        assert_eq!(taken(&mut budget, 310), 1);
        assert_eq!(taken(&mut budget, 1_000), 2);
        assert_eq!(taken(&mut budget, u64::MAX), 25, "never more than at first");
        assert_eq!(taken(&mut budget, 0), 0, "a time before gives nothing");
    }
}
