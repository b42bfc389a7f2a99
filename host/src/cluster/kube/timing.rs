//! Holds the deadlines and delays of a connection.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;
use windlass_core::backoff::Backoff;

/// How long a [`KubeCluster`](super::KubeCluster) waits for what.
#[derive(Clone, Debug)]
pub struct Timing {
    /// From sending a request to the last byte of its answer; for a watch, to the first byte.
    pub request: Duration,
    /// A watch that delivers no byte for so long is taken for dead: behind some load balancers a connection stays open
    /// for ever and delivers nothing.
    pub silence: Duration,
    /// Between a watch's break and its next list, growing with each break.
    pub backoff: Backoff,
    /// A watch that lasted so long was a good one: the delay starts again from its first value.
    pub steady: Duration,
    /// A watch that ends by itself sooner than this counts as a break, so that a proxy that ends every watch at once
    /// does not get one request after another.
    pub shortest: Duration,
}

impl Default for Timing {
    /// 30 s for a request, 5 minutes of silence, and at most 6 lists a minute of a kind whose watch always breaks.
    fn default() -> Self {
        Self {
            request: Duration::from_secs(30),
            silence: Duration::from_secs(300),
            backoff: Backoff {
                first: Duration::from_secs(2),
                factor: 3.0,
                cap: Duration::from_secs(28),
            },
            steady: Duration::from_secs(60),
            shortest: Duration::from_secs(1),
        }
    }
}

impl Timing {
    /// How long the server is asked to keep a watch open: less than the silence, so that a healthy one without news ends
    /// by itself, and spread, so that not all watches are opened again at the same time.
    pub(super) fn watch_seconds(&self) -> u64 {
        let longest = self.silence.as_secs_f64() * 0.97;
        let seconds = longest * (1.0 - 0.17 * jitter());
        // Truncation is meant: the server takes whole seconds, and 0 would mean its own default.
        (seconds as u64).max(1)
    }
}

/// A number from 0 up to and without 1, different each time; good enough to spread requests, and for nothing else.
pub(super) fn jitter() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    bits as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_should_be_asked_to_end_before_it_counts_as_silent() {
        let timing = Timing::default();
        for _ in 0..1000 {
            let seconds = timing.watch_seconds();
            assert!((240..=291).contains(&seconds), "{seconds}");
        }
    }

    #[test]
    fn a_watch_that_always_breaks_should_cost_at_most_six_lists_a_minute() {
        let backoff = Timing::default().backoff;
        for jitter in [0.0, 0.5, 1.0] {
            let mut elapsed = Duration::ZERO;
            let lists = (1..).take_while(|failures| {
                elapsed += backoff.delay(*failures, jitter);
                elapsed <= Duration::from_secs(60)
            });
            assert!(lists.count() <= 6, "jitter {jitter}");
        }
        assert!(
            backoff.delay(1, 1.0) < Duration::from_secs(5),
            "the first list comes soon"
        );
        assert!(
            backoff.delay(99, 1.0) < Duration::from_secs(30),
            "the end of a fault is noticed soon"
        );
    }

    #[test]
    fn a_short_silence_should_never_ask_for_the_servers_own_default() {
        let timing = Timing {
            silence: Duration::from_millis(50),
            ..Timing::default()
        };
        assert_eq!(timing.watch_seconds(), 1);
    }
}
