//! Computes delays that grow with every failure and are spread by jitter.

use std::time::Duration;

/// How delays grow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// Delay after the first failure.
    pub first: Duration,
    /// By how much each further failure multiplies it; less than 1 counts as 1.
    pub factor: f64,
    /// No delay is longer.
    pub cap: Duration,
}

impl Default for Backoff {
    /// 1 s, doubled up to 60 s.
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            factor: 2.0,
            cap: Duration::from_secs(60),
        }
    }
}

impl Backoff {
    /// For the decisions of one primary: 1 s, doubled up to 30 s, so that what was mended is noticed soon.
    pub fn for_keys() -> Self {
        Self {
            cap: Duration::from_secs(30),
            ..Self::default()
        }
    }

    /// The delay after so many failures in a row, without jitter; nothing after none.
    pub fn whole(&self, failures: u32) -> Duration {
        if failures == 0 {
            return Duration::ZERO;
        }
        // Exponents beyond any cap are cut off; infinity is then the cap.
        let exponent = i32::try_from(failures - 1).unwrap_or(i32::MAX).min(1024);
        let seconds = self.first.as_secs_f64() * self.factor.max(1.0).powi(exponent);
        Duration::try_from_secs_f64(seconds).map_or(self.cap, |delay| delay.min(self.cap))
    }

    /// The delay after so many failures in a row, between half of the whole one and all of it, so that keys which
    /// failed together do not come back together. `jitter` is a random number from 0 to 1.
    pub fn delay(&self, failures: u32, jitter: f64) -> Duration {
        let jitter = if jitter.is_nan() { 1.0 } else { jitter.clamp(0.0, 1.0) };
        self.whole(failures).mul_f64(0.5 + jitter / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_cap() {
        let backoff = Backoff::for_keys();
        let seconds: Vec<u64> = (0..8).map(|failures| backoff.whole(failures).as_secs()).collect();
        assert_eq!(seconds, [0, 1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(backoff.whole(u32::MAX), Duration::from_secs(30));
        assert_eq!(Backoff::default().whole(u32::MAX), Duration::from_secs(60));
    }

    #[test]
    fn jitter_spreads_between_half_and_whole() {
        let backoff = Backoff::default();
        for failures in 1..70 {
            let whole = backoff.whole(failures);
            assert_eq!(backoff.delay(failures, 0.0), whole / 2);
            assert_eq!(backoff.delay(failures, 1.0), whole);
            assert!(backoff.delay(failures, 0.3) < backoff.delay(failures, 0.6));
            assert!(
                backoff.whole(failures + 1) >= whole,
                "never shorter after one more failure"
            );
        }
    }

    #[test]
    fn senseless_numbers_give_a_delay_within_the_cap() {
        let backoff = Backoff {
            first: Duration::MAX,
            factor: f64::NAN,
            cap: Duration::from_secs(9),
        };
        assert_eq!(backoff.whole(1), Duration::from_secs(9));
        assert_eq!(backoff.delay(3, f64::NAN), Duration::from_secs(9));
        assert_eq!(backoff.delay(3, -5.0), Duration::from_millis(4500));
    }
}
