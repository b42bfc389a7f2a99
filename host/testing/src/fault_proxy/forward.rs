//! Passes requests on to the API server, or does to them what the rules say.

use super::call::Call;
use super::rule::{Fault, Refusal};
use super::rules::Rules;
use super::stream::followed;
use super::tally::Tally;
use super::{Answered, Trouble};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, RETRY_AFTER, TRANSFER_ENCODING};
use http::request::Parts;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use kube::Client;
use kube::client::Body;
use std::future::pending;
use std::sync::Arc;
use tokio::time::sleep;

/// Where requests go, and what happens on the way.
pub(super) struct Forward {
    /// Adds nothing to what was sent.
    pub(super) upstream: Client,
    /// Sends what brings no credentials of its own.
    pub(super) lent: Option<Client>,
    pub(super) rules: Arc<Rules>,
    pub(super) tally: Arc<Tally>,
}

impl Forward {
    /// The answer to one request; an error closes the connection.
    pub(super) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Answered>, Trouble> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let call = Call::read(&parts, &body);
        let number = self.tally.came(&call, &body);
        let Some((rule, fault)) = self.rules.of_request(&call) else {
            return self.pass(number, parts, body, call).await;
        };
        match fault {
            Fault::Answer(refusal) => {
                self.tally.answered(number, refusal.code);
                refused(&refusal)
            }
            Fault::Drop | Fault::Freeze => Err("dropped by a rule".into()),
            // What was sent arrives, also when whoever sent it waits no longer.
            fault => tokio::spawn(self.late(number, rule, fault, parts, body, call)).await?,
        }
    }

    async fn late(
        self: Arc<Self>,
        number: u64,
        rule: u64,
        fault: Fault,
        parts: Parts,
        body: Bytes,
        call: Call,
    ) -> Result<Response<Answered>, Trouble> {
        match fault {
            Fault::Delay(delay) => sleep(delay).await,
            Fault::Hold => self.rules.removed(rule).await,
            _ => {}
        }
        let answer = self.pass(number, parts.clone(), body.clone(), call.clone()).await?;
        match fault {
            Fault::DropAnswer | Fault::Silent => {
                answer.into_body().collect().await?;
                if fault == Fault::Silent {
                    pending::<()>().await;
                }
                Err("its answer is dropped by a rule".into())
            }
            Fault::Replay => {
                let (head, first) = answer.into_parts();
                let first = first.collect().await?.to_bytes();
                let number = self.tally.came(&call, &body);
                let again = self.pass(number, parts, body, call).await?;
                again.into_body().collect().await?;
                Ok(Response::from_parts(head, whole(first)))
            }
            _ => Ok(answer),
        }
    }

    async fn pass(
        &self,
        number: u64,
        mut parts: Parts,
        body: Bytes,
        call: Call,
    ) -> Result<Response<Answered>, Trouble> {
        for header in [HOST, CONNECTION, TRANSFER_ENCODING] {
            parts.headers.remove(header);
        }
        let path = parts.uri.path_and_query().ok_or("a request without a path")?;
        parts.uri = http::Uri::from(path.clone());
        let lent = self
            .lent
            .as_ref()
            .filter(|_| !parts.headers.contains_key(AUTHORIZATION));
        let client = lent.unwrap_or(&self.upstream);
        let answer = client
            .send(Request::from_parts(parts, Body::from(body.to_vec())))
            .await?;
        self.tally.answered(number, answer.status().as_u16());
        let (mut head, body) = answer.into_parts();
        for header in [CONNECTION, TRANSFER_ENCODING] {
            head.headers.remove(header);
        }
        let body = match call.verb {
            "watch" => followed(body, call, Arc::clone(&self.rules)),
            _ => body.map_err(Trouble::from).boxed_unsync(),
        };
        Ok(Response::from_parts(head, body))
    }
}

fn refused(refusal: &Refusal) -> Result<Response<Answered>, Trouble> {
    let mut response = Response::builder()
        .status(refusal.code)
        .header(CONTENT_TYPE, "application/json");
    if let Some(seconds) = refusal.retry_after {
        response = response.header(RETRY_AFTER, seconds);
    }
    Ok(response.body(whole(Bytes::from(refusal.status().to_string())))?)
}

fn whole(body: Bytes) -> Answered {
    Full::new(body).map_err(|never| match never {}).boxed_unsync()
}
