//! Sends requests and receives their answers, whole or line by line, each within its deadline.

use super::error::{Failure, chain};
use super::throttle::Throttle;
use bytes::{Bytes, BytesMut};
use http::Request;
use http::header::{ACCEPT_ENCODING, HeaderValue, USER_AGENT};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Longest line of a watch: an etcd entry is far smaller, and a line without an end must not eat the memory.
const LINE_BYTES: usize = 64 << 20;

/// One connection pool for all identities: impersonation is a header of each request.
#[derive(Clone)]
pub(super) struct Transport {
    client: Client,
    deadline: Duration,
    throttle: Throttle,
}

impl Transport {
    pub(super) fn new(client: Client, deadline: Duration) -> Self {
        Self {
            client,
            deadline,
            throttle: Throttle::default(),
        }
    }

    pub(super) fn with_deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// The body of a successful answer.
    pub(super) async fn send(&self, request: Request<Vec<u8>>) -> Result<Bytes, Failure> {
        let name = format!("{} {}", request.method(), request.uri().path());
        self.throttle.check(&name, Instant::now())?;
        let outcome = within(self.deadline, async {
            let (parts, body) = self.answer(request).await?.into_parts();
            let body = body.collect_bytes().await.map_err(Failure::from)?;
            match parts.status.is_success() {
                true => Ok(body),
                false => Err(Failure::answered(parts.status.as_u16(), &parts.headers, &body)),
            }
        })
        .await;
        if let Err(Failure {
            retry_after: Some(retry_after),
            ..
        }) = &outcome
        {
            self.throttle.hold(name, *retry_after, Instant::now());
        }
        outcome
    }

    /// The answer to a watch call, whose body goes on.
    pub(super) async fn open(&self, request: Request<Vec<u8>>) -> Result<Lines, Failure> {
        within(self.deadline, async {
            let (parts, body) = self.answer(request).await?.into_parts();
            if parts.status.is_success() {
                return Ok(Lines {
                    body,
                    buffer: BytesMut::new(),
                    searched: 0,
                });
            }
            let body = body.collect_bytes().await.map_err(Failure::from)?;
            Err(Failure::answered(parts.status.as_u16(), &parts.headers, &body))
        })
        .await
    }

    async fn answer(&self, mut request: Request<Vec<u8>>) -> Result<http::Response<Body>, Failure> {
        const AGENT: &str = concat!("windlass/", env!("CARGO_PKG_VERSION"));
        request
            .headers_mut()
            .insert(USER_AGENT, HeaderValue::from_static(AGENT));
        request
            .headers_mut()
            .insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Ok(self.client.send(request.map(Body::from)).await?)
    }
}

/// The lines of an answer that goes on.
pub(super) struct Lines {
    body: Body,
    buffer: BytesMut,
    /// Bytes of the buffer that are known to hold no line end, so that none is looked at twice.
    searched: usize,
}

impl Lines {
    /// The next line, none at the end. Any byte proves that the other side is there, so that a big object on a slow
    /// connection is not taken for silence.
    pub(super) async fn next(&mut self, silence: Duration) -> Result<Option<Bytes>, Failure> {
        loop {
            if let Some(end) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(self.searched + end + 1).freeze();
                self.searched = 0;
                return Ok(Some(line));
            }
            self.searched = self.buffer.len();
            if self.searched > LINE_BYTES {
                return Err(Failure::unanswered("the watch sent a line without an end"));
            }
            let frame = timeout(silence, self.body.frame())
                .await
                .map_err(|_| Failure::unanswered(format!("the watch was silent for {} s", silence.as_secs_f64())))?;
            match frame {
                Some(frame) => {
                    if let Ok(data) = frame.map_err(Failure::from)?.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
                None if self.buffer.is_empty() => return Ok(None),
                None => {
                    self.searched = 0;
                    return Ok(Some(self.buffer.split().freeze()));
                }
            }
        }
    }
}

/// The result of work that must not take longer than this.
async fn within<T>(deadline: Duration, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    timeout(deadline, work).await.unwrap_or_else(|_| {
        Err(Failure::unanswered(format!(
            "no answer within {} s",
            deadline.as_secs_f64()
        )))
    })
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Service(error) => Self::unanswered(chain(&*error)),
            kube::Error::HyperError(error) => Self::unanswered(chain(&error)),
            error => Self::unanswered(chain(&error)),
        }
    }
}
