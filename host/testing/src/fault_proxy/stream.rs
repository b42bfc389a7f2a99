//! Passes an open watch on, chunk by chunk, and does to it what the rules say.

use super::call::Call;
use super::rule::{Fault, Refusal};
use super::rules::Rules;
use super::{Answered, Trouble};
use bytes::Bytes;
use futures::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use serde_json::json;
use std::sync::Arc;
use tokio::sync::watch;

struct Following<B> {
    upstream: B,
    call: Call,
    rules: Arc<Rules>,
    changes: watch::Receiver<u64>,
    /// Whether what was passed on ended with a line, so that a line of our own is one.
    at_line_end: bool,
    ended: bool,
    /// A rule that stands concerns it already.
    concerned: bool,
}

/// The body of a watch, with its faults.
pub(super) fn followed<B>(upstream: B, call: Call, rules: Arc<Rules>) -> Answered
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Trouble>,
{
    let changes = rules.changes();
    let following = Following {
        upstream,
        call,
        rules,
        changes,
        at_line_end: true,
        ended: false,
        concerned: false,
    };
    let frames = stream::unfold(following, |mut following| async move {
        let frame = following.next().await?;
        Some((frame, following))
    });
    BodyExt::boxed_unsync(StreamBody::new(frames))
}

impl<B> Following<B>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: Into<Trouble>,
{
    async fn next(&mut self) -> Option<Result<Frame<Bytes>, Trouble>> {
        loop {
            if self.ended {
                return None;
            }
            self.changes.mark_unchanged();
            let new = !std::mem::take(&mut self.concerned);
            match self
                .at_line_end
                .then(|| self.rules.of_stream(&self.call, new))
                .flatten()
            {
                Some(Fault::Drop) => {
                    self.ended = true;
                    return Some(Err("the connection is dropped by a rule".into()));
                }
                Some(Fault::WatchError(refusal)) => {
                    self.ended = true;
                    return Some(Ok(Frame::data(error_event(&refusal))));
                }
                Some(Fault::EndWatch) => return None,
                // Frozen: only another rule changes that.
                Some(_) => {
                    self.concerned = true;
                    self.changes.changed().await.ok()?;
                    continue;
                }
                None => {}
            }
            let frame = tokio::select! {
                biased;
                changed = self.changes.changed() => {
                    changed.ok()?;
                    continue;
                }
                frame = self.upstream.frame() => frame?,
            };
            if let Ok(frame) = &frame
                && let Some(data) = frame.data_ref()
            {
                self.at_line_end = data.last().is_none_or(|byte| *byte == b'\n');
            }
            return Some(frame.map_err(Into::into));
        }
    }
}

fn error_event(refusal: &Refusal) -> Bytes {
    let event = json!({"type": "ERROR", "object": refusal.status()});
    Bytes::from(format!("{event}\n"))
}
