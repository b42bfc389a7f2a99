//! Holds the decisions that are measured: what is asked, and what the answer has to be.

use crate::modules::Guest;
use crate::native::{Native, texts};
use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use windlass::decide::Decide;
use windlass_core::decision::{Answer, Answered, ChildrenPlan, Decided, DesiredChild, Entry, Reply, Request};
use windlass_core::key::ReconcilerId;
use windlass_core::object::Object;
use windlass_friend::Friend;
use windlass_nginx::Nginx;

/// What random numbers would be made of.
const UID: &[u8] = b"5f0c6f4e-8d0b-4c0a-9d5e-2f6f0a3f7a11";
/// How many rounds a host allows.
const ROUNDS: usize = 4;

/// A decision about one primary.
pub(crate) struct Subject {
    /// The guest that takes it.
    pub(crate) guest: Guest,
    /// The guest's logic, without the guest.
    native: Native,
    primary: Value,
    children: Vec<Value>,
    /// What every query finds.
    found: Vec<Value>,
}

/// The calls of one decision, ready to be made again and again.
pub(crate) struct Calls {
    requests: Vec<Request>,
    texts: Vec<windlass_sdk::bindings::windlass::reconciler::decision::Request>,
    native: Native,
}

impl Subject {
    /// An Nginx whose Deployment is there, which the host looks at again.
    pub(crate) fn nginx() -> Self {
        Self {
            guest: Guest::Nginx,
            native: Native::of::<Nginx>(),
            primary: json!({
                "apiVersion": "stable.underneathall.com/v1", "kind": "Nginx",
                "metadata": metadata("underneathall-nginx", &json!({})),
                "spec": {"replicas": 2},
            }),
            children: vec![json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": metadata("underneathall-nginx-deploy", &json!({"app": "underneathall"})),
            })],
            found: Vec::new(),
        }
    }

    /// A MyCustomResource whose friend is there.
    pub(crate) fn friend() -> Self {
        Self {
            guest: Guest::Friend,
            native: Native::of::<Friend>(),
            primary: json!({
                "apiVersion": "mycustomresources.poc.test.domain/v1", "kind": "MyCustomResource",
                "metadata": metadata("my-custom-resource-01", &json!({})),
                "spec": {"name": "funny-joe"},
            }),
            children: Vec::new(),
            found: vec![json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": metadata("funny-joe", &json!({"app": "joe"})),
            })],
        }
    }

    /// Takes the decision once with the module and once without, and makes sure that both come to the same.
    ///
    /// # Errors
    /// If they do not, or if the guest comes to nothing.
    pub(crate) async fn calls(&self, guest: &dyn Decide) -> Result<Calls> {
        let mut request = self.request()?;
        let mut requests = vec![request.clone()];
        let fault = |fault| anyhow!("{fault:?}");
        let mut decision = guest.begin(UID).await.map_err(fault)?;
        let outcome = loop {
            match decision.call(Entry::Reconcile, &request).await.map_err(fault)? {
                Reply::Decided(Decided::Outcome(outcome)) => break outcome,
                Reply::Decided(other) => bail!("no outcome: {other:?}"),
                Reply::Ask(queries) => {
                    let found = self.found.iter().cloned().filter_map(Object::from_value);
                    let answer = Answer::Found(found.collect());
                    let answered = queries.into_iter().map(|query| Answered {
                        id: query.id,
                        answer: answer.clone(),
                    });
                    request.answers.extend(answered);
                    requests.push(request.clone());
                    ensure!(requests.len() <= ROUNDS, "it asks and asks");
                }
            }
        };
        let native = self.native.decides(texts(&request));
        let children = match outcome.children {
            ChildrenPlan::Exactly(children) => children,
            ChildrenPlan::Unchanged | ChildrenPlan::NoneWanted => Vec::new(),
        };
        let children = children.into_iter().filter_map(|child| match child {
            DesiredChild::Want(wanted) => Some(wanted.object.into_value()),
            DesiredChild::Hold(_) => None,
        });
        let module = Some((children.collect(), outcome.status));
        ensure!(
            native == module,
            "natively it comes to {native:?}, in the module to {module:?}"
        );
        Ok(Calls {
            texts: requests.iter().map(texts).collect(),
            requests,
            native: self.native,
        })
    }

    fn request(&self) -> Result<Request> {
        let object = |value: &Value| Object::from_value(value.clone()).context("not an object");
        Ok(Request {
            reconciler: ReconcilerId::new("windlass-system", self.guest.name()),
            primary: object(&self.primary)?,
            children: self.children.iter().map(object).collect::<Result<_>>()?,
            not_served: Vec::new(),
            answers: Vec::new(),
            settings: json!({}),
            now: 0,
            seed: None,
        })
    }
}

impl Calls {
    /// How long a guest takes for them: a fresh instance, all calls in it, its end.
    ///
    /// # Errors
    /// If it faults.
    pub(crate) async fn time(&self, guest: &dyn Decide) -> Result<Duration> {
        let began = Instant::now();
        let mut decision = guest.begin(UID).await.map_err(|fault| anyhow!("{fault:?}"))?;
        for request in &self.requests {
            let reply = decision.call(Entry::Reconcile, request).await;
            std::hint::black_box(reply.map_err(|fault| anyhow!("{fault:?}"))?);
        }
        drop(decision);
        Ok(began.elapsed())
    }

    /// How long the same logic takes for them as a native function.
    pub(crate) fn time_natively(&self) -> Duration {
        self.native.time(&self.texts)
    }
}

fn metadata(name: &str, labels: &Value) -> Value {
    json!({
        "creationTimestamp": "2026-11-01T12:00:00Z", "generation": 1, "labels": labels, "name": name,
        "namespace": "default", "uid": "5f0c6f4e-8d0b-4c0a-9d5e-2f6f0a3f7a11",
    })
}
