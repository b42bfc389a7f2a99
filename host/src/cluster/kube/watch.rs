//! Follows all objects of a watch key for ever: lists, watches, and mends what breaks.
//!
//! # Expected flow
//! List, watch from the list's resourceVersion, and when the server ends the watch, which it does every few minutes, watch
//! again from the last resourceVersion seen. No second list.
//!
//! # Errors
//! An expired resourceVersion, as a status or as an event, leads to a new list. Everything else that goes wrong is
//! reported first. Each break makes the delay before the next list longer, until a watch has lasted.

use super::decode::{self, Line};
use super::error::Failure;
use super::list::{self, kept};
use super::request;
use super::timing::{Timing, jitter};
use super::transport::{Lines, Transport};
use crate::cluster::{WatchEvent, WatchKey};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The stream behind [`Cluster::watch`](crate::cluster::Cluster::watch).
pub(super) fn follow(transport: Transport, timing: Arc<Timing>, key: WatchKey) -> BoxStream<'static, WatchEvent> {
    let follower = Follower {
        transport,
        timing,
        key,
        failures: 0,
    };
    stream::unfold((follower, Phase::List), |(mut follower, mut phase)| async move {
        loop {
            let (next, event) = follower.step(phase).await;
            match event {
                Some(event) => return Some((event, (follower, next))),
                None => phase = next,
            }
        }
    })
    .boxed()
}

struct Follower {
    transport: Transport,
    timing: Arc<Timing>,
    key: WatchKey,
    /// Breaks since the last watch that lasted.
    failures: u32,
}

/// What is to be done next.
enum Phase {
    List,
    /// Open a watch from this resourceVersion on.
    Open(String),
    Follow(Watching),
    /// Wait before what follows.
    Wait(Duration, Box<Phase>),
}

/// An open watch.
struct Watching {
    lines: Lines,
    /// Everything up to here has been passed on.
    resource_version: String,
    since: Instant,
}

impl Follower {
    /// Does one thing; gives what is to be done next, and what there is to tell.
    async fn step(&mut self, phase: Phase) -> (Phase, Option<WatchEvent>) {
        match phase {
            Phase::Wait(delay, then) => {
                sleep(delay).await;
                (*then, None)
            }
            Phase::List => match list::all(&self.transport, &self.key).await {
                Ok(listed) => (
                    Phase::Open(listed.resource_version),
                    Some(WatchEvent::Listed(listed.objects)),
                ),
                Err(failure) => self.broken(&failure),
            },
            Phase::Open(resource_version) => match self.open(&resource_version).await {
                Ok(lines) => (
                    Phase::Follow(Watching {
                        lines,
                        resource_version,
                        since: Instant::now(),
                    }),
                    None,
                ),
                Err(failure) => self.broken(&failure),
            },
            Phase::Follow(watching) => self.follow(watching).await,
        }
    }

    async fn open(&self, resource_version: &str) -> Result<Lines, Failure> {
        let request = request::watch(&self.key, resource_version, self.timing.watch_seconds());
        self.transport.open(request.map_err(Failure::unanswered)?).await
    }

    /// Takes one line of the watch.
    async fn follow(&mut self, mut watching: Watching) -> (Phase, Option<WatchEvent>) {
        let line = match watching.lines.next(self.timing.silence).await {
            Ok(Some(line)) => line,
            Ok(None) => return (self.ended(watching), None),
            Err(failure) => return self.broken_after(&watching, &failure),
        };
        let line = match decode::line(&line) {
            Ok(line) => line,
            Err(error) => {
                let failure = Failure::unanswered(format!("the watch sent something that cannot be read: {error}"));
                return self.broken_after(&watching, &failure);
            }
        };
        let event = match line {
            Line::Applied(object) => {
                watching.pass(object.resource_version());
                Some(WatchEvent::Applied(kept(object, &self.key.kind, &self.key.projection)))
            }
            Line::Deleted(object) => {
                watching.pass(object.resource_version());
                Some(WatchEvent::Deleted(kept(object, &self.key.kind, &self.key.projection)))
            }
            Line::Bookmark(resource_version) => {
                watching.pass(&resource_version);
                None
            }
            Line::Unreadable(unreadable, resource_version) => {
                watching.pass(&resource_version);
                tracing::warn!(kind = %self.key.kind, "passed over {unreadable}");
                None
            }
            Line::Error(status) => return self.broken_after(&watching, &Failure::in_stream(&status)),
        };
        (Phase::Follow(watching), event)
    }

    /// The server ended the watch in good order.
    fn ended(&mut self, watching: Watching) -> Phase {
        let again = Phase::Open(watching.resource_version);
        let lasted = watching.since.elapsed();
        if lasted < self.timing.shortest {
            return Phase::Wait(self.delay(), Box::new(again));
        }
        if lasted >= self.timing.steady {
            self.failures = 0;
        }
        again
    }

    fn broken_after(&mut self, watching: &Watching, failure: &Failure) -> (Phase, Option<WatchEvent>) {
        if watching.since.elapsed() >= self.timing.steady {
            self.failures = 0;
        }
        self.broken(failure)
    }

    /// Something broke: a new list, after a while.
    fn broken(&mut self, failure: &Failure) -> (Phase, Option<WatchEvent>) {
        let delay = self.delay().max(failure.retry_after.unwrap_or_default());
        let event = match failure.is_expired() {
            true => None,
            false => Some(WatchEvent::Failed(failure.to_string())),
        };
        (Phase::Wait(delay, Box::new(Phase::List)), event)
    }

    fn delay(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.timing.backoff.delay(self.failures, jitter())
    }
}

impl Watching {
    /// Notes how far the watch has come. An object that names no version, which only a broken server sends, moves nothing.
    fn pass(&mut self, resource_version: &str) {
        if !resource_version.is_empty() && resource_version != self.resource_version {
            resource_version.clone_into(&mut self.resource_version);
        }
    }
}
