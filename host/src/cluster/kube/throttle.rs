//! Remembers which requests the API server asked not to repeat yet.

use super::error::Failure;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use windlass_core::answer::LONGEST_WAIT;

/// Requests, as method and path, and the time before which each must not be sent again.
///
/// Retrying is the caller's business, with delays of its own; this only holds back what comes too early, without sending
/// it: a 429 answered with more load makes an overload last.
#[derive(Clone, Default)]
pub(super) struct Throttle {
    /// Holds only what is still to be waited for: each insertion sweeps out the rest.
    not_before: Arc<Mutex<HashMap<String, Instant>>>,
}

impl Throttle {
    /// Fails where the request comes too early.
    pub(super) fn check(&self, request: &str, now: Instant) -> Result<(), Failure> {
        let not_before = self.not_before.lock().unwrap_or_else(PoisonError::into_inner);
        match not_before
            .get(request)
            .and_then(|until| until.checked_duration_since(now))
        {
            // As if it had been sent: nothing was done, and how long to wait is known.
            Some(left) if !left.is_zero() => Err(Failure {
                code: 429,
                reason: "TooManyRequests".into(),
                message: format!(
                    "not sent, since the API server asked to wait another {} s before this request",
                    left.as_secs().max(1)
                ),
                retry_after: Some(left),
                ..Failure::default()
            }),
            _ => Ok(()),
        }
    }

    /// Notes what the server asked for.
    pub(super) fn hold(&self, request: String, retry_after: Duration, now: Instant) {
        let mut not_before = self.not_before.lock().unwrap_or_else(PoisonError::into_inner);
        not_before.retain(|_, until| *until > now);
        not_before.insert(request, now + retry_after.min(LONGEST_WAIT));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_should_be_held_back_until_the_time_the_server_named_and_no_other() {
        let (throttle, start) = (Throttle::default(), Instant::now());
        throttle.hold("PATCH /a".into(), Duration::from_secs(5), start);
        assert!(throttle.check("PATCH /a", start + Duration::from_secs(4)).is_err());
        assert!(throttle.check("PATCH /b", start + Duration::from_secs(4)).is_ok());
        assert!(throttle.check("PATCH /a", start + Duration::from_secs(5)).is_ok());
    }

    #[test]
    fn what_is_over_should_be_forgotten() {
        let (throttle, start) = (Throttle::default(), Instant::now());
        throttle.hold("PATCH /a".into(), Duration::from_secs(5), start);
        throttle.hold(
            "PATCH /b".into(),
            Duration::from_secs(5),
            start + Duration::from_secs(6),
        );
        assert_eq!(throttle.not_before.lock().unwrap().len(), 1);
    }

    #[test]
    fn nobody_should_be_able_to_silence_a_request_for_ever() {
        let (throttle, start) = (Throttle::default(), Instant::now());
        throttle.hold("PATCH /a".into(), Duration::from_secs(u64::MAX / 4), start);
        assert!(throttle.check("PATCH /a", start + LONGEST_WAIT).is_ok());
    }
}
