//! Is an admission webhook that answers what a test tells it to, with the certificate of the API server that asks.

use crate::ControlPlane;
use crate::serving::{Answered, Serving, Trouble, acceptor, serve};
use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// A running webhook. It ends with this value, and whatever asks it fails then.
#[derive(Debug)]
pub struct Webhook {
    serving: Serving,
    authority: Vec<u8>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    says: Says,
    asked: usize,
    waiting: usize,
    most_waiting: usize,
}

/// What it answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Says {
    /// Yes.
    #[default]
    Yes,
    /// No, with this code and these words.
    No(u16, String),
    /// Nothing, ever.
    Nothing,
}

impl ControlPlane {
    /// A webhook on the loopback, which says yes until it is told otherwise.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn webhook(&self) -> Result<Webhook> {
        let pki = self.directory().join("pki");
        let tls = acceptor(&pki.join("serving.crt"), &pki.join("serving.key"))?;
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let serving = serve(listen, Some(tls), move |request| answer(Arc::clone(&shared), request)).await?;
        Ok(Webhook {
            serving,
            authority: std::fs::read(pki.join("ca.crt")).context("the authority of the API server")?,
            state,
        })
    }
}

impl Webhook {
    /// Changes what it answers from now on.
    pub fn say(&self, says: Says) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).says = says;
    }

    /// How often it was asked.
    #[must_use]
    pub fn asked(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).asked
    }

    /// How many waited for an answer at once, at most.
    #[must_use]
    pub fn most_waiting(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).most_waiting
    }

    /// A ValidatingWebhookConfiguration that has it asked about one namespace, and refuses where it does not answer. `rule` is
    /// one of `rules`, `more` is laid over the webhook.
    #[must_use]
    pub fn configuration(&self, namespace: &str, rule: &Value, more: &Value) -> Value {
        let mut webhook = json!({
            "name": format!("{namespace}.windlass.test"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Fail", "timeoutSeconds": 1, "rules": [rule],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "clientConfig": {
                "url": format!("https://{}/", self.serving.address), "caBundle": STANDARD.encode(&self.authority),
            },
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            webhook[key] = value.clone();
        }
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": namespace}, "webhooks": [webhook],
        })
    }
}

/// Counts one that waits, also when the API server waits no longer.
struct Waiting(Arc<Mutex<State>>);

impl Waiting {
    fn begin(state: Arc<Mutex<State>>) -> (Self, Says) {
        let says = {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            state.asked += 1;
            state.waiting += 1;
            state.most_waiting = state.most_waiting.max(state.waiting);
            state.says.clone()
        };
        (Self(state), says)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).waiting -= 1;
    }
}

async fn answer(state: Arc<Mutex<State>>, request: Request<Incoming>) -> Result<Response<Answered>, Trouble> {
    let review: Value = serde_json::from_slice(&request.into_body().collect().await?.to_bytes())?;
    let (_waiting, says) = Waiting::begin(state);
    let mut response = json!({"uid": review["request"]["uid"], "allowed": says == Says::Yes});
    match says {
        Says::Yes => {}
        Says::No(code, words) => response["status"] = json!({"code": code, "message": words}),
        Says::Nothing => std::future::pending().await,
    }
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
    let body = Full::new(Bytes::from(review.to_string())).map_err(|never| match never {});
    Ok(Response::builder()
        .header("content-type", "application/json")
        .body(body.boxed_unsync())?)
}
