//! Waits until something has come true, with a deadline and the last state seen in the error.

use std::time::Duration;

use anyhow::{Result, anyhow};
use tokio::time::{Instant, sleep, timeout_at};

/// Short against anything a person would call slow, long against one request to the API server.
const INTERVAL: Duration = Duration::from_millis(50);

/// Calls `check` until it succeeds, and gives what it returned.
///
/// What `check` returns as error says what it saw instead; the last one is part of the error here. It asks for a state
/// (level-triggered), so that nothing that happened before the first call is missed.
///
/// # Errors
/// When `deadline` has passed. A `check` that hangs is cut off there too.
pub async fn eventually<T>(deadline: Duration, what: &str, mut check: impl AsyncFnMut() -> Result<T>) -> Result<T> {
    let end = Instant::now() + deadline;
    let mut last = anyhow!("nothing: the first look has not come back");
    loop {
        match timeout_at(end, check()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(seen)) => last = seen,
            Err(_) => {}
        }
        if Instant::now() + INTERVAL >= end {
            return Err(last.context(format!("not within {deadline:?}: {what}; last seen")));
        }
        sleep(INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_comes_true_later_is_awaited() {
        let mut looks = 0;
        let value = eventually(Duration::from_secs(1), "three looks", async || {
            looks += 1;
            if looks == 3 {
                Ok("done")
            } else {
                Err(anyhow!("look {looks}"))
            }
        })
        .await
        .unwrap();
        assert_eq!((value, looks), ("done", 3));
    }

    #[tokio::test(start_paused = true)]
    async fn the_error_names_the_wish_and_the_last_state_seen() {
        let mut looks = 0;
        let error = eventually::<()>(Duration::from_millis(120), "two replicas", async || {
            looks += 1;
            Err(anyhow!("{looks} replicas of the old kind"))
        })
        .await
        .unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains("two replicas") && text.contains("120ms"), "{text}");
        assert!(text.contains(&format!("{looks} replicas of the old kind")), "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_that_hangs_is_cut_off() {
        let error = eventually::<()>(Duration::from_secs(5), "an answer", async || pending().await)
            .await
            .unwrap_err();
        assert!(format!("{error:#}").contains("has not come back"), "{error:#}");
    }
}
