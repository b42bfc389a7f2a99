//! Calls the logic of a guest as a native function: the very function that the module exports, without the module.

use serde_json::{Value, from_str};
use std::time::{Duration, Instant};
use windlass_core::decision::{Answer, Answered, Request};
use windlass_core::object::Object;
use windlass_sdk::bindings::exports::windlass::reconciler::guest;
use windlass_sdk::bindings::windlass::reconciler::decision as contract;
use windlass_sdk::{Exports, Reconciler};

/// A guest's export, compiled for this machine by rustc. It takes and gives JSON texts, as the module does: what a
/// host has to do around it is not in its time.
#[derive(Clone, Copy)]
pub(crate) struct Native(fn(guest::Request) -> Result<guest::Reply, guest::Failure>);

impl Native {
    /// The export of `R`.
    pub(crate) fn of<R: Reconciler + 'static>() -> Self {
        Self(<Exports<R> as guest::Guest>::reconcile)
    }

    /// How long these calls take, one after the other.
    pub(crate) fn time(self, requests: &[contract::Request]) -> Duration {
        let requests = requests.to_vec();
        let began = Instant::now();
        for request in requests {
            let _ = std::hint::black_box((self.0)(request));
        }
        began.elapsed()
    }

    /// What the call comes to: the children it wants and the status it gives, to be compared with the module's.
    pub(crate) fn decides(self, request: contract::Request) -> Option<(Vec<Value>, Option<Value>)> {
        let Ok(guest::Reply::Decide(outcome)) = (self.0)(request) else {
            return None;
        };
        let children = match outcome.children {
            contract::ChildrenPlan::Exactly(children) => children,
            contract::ChildrenPlan::Unchanged | contract::ChildrenPlan::NoneWanted => Vec::new(),
        };
        let children = children.into_iter().map(|child| match child {
            contract::DesiredChild::Want(wanted) => from_str(&wanted.object).ok(),
            contract::DesiredChild::Hold(_) => None,
        });
        let status = outcome.status.map(|status| from_str(&status)).transpose().ok()?;
        Some((children.collect::<Option<_>>()?, status))
    }
}

/// A request as a guest gets it.
pub(crate) fn texts(request: &Request) -> contract::Request {
    let answered = |answered: &Answered| contract::Answered {
        id: answered.id.clone(),
        answer: match &answered.answer {
            Answer::Found(objects) => contract::Answer::Found(objects.iter().map(text).collect()),
            Answer::Truncated(objects) => contract::Answer::Truncated(objects.iter().map(text).collect()),
            Answer::NotServed => contract::Answer::NotServed,
            Answer::Forbidden(rule) => contract::Answer::Forbidden(rule.clone()),
        },
    };
    contract::Request {
        reconciler: contract::ReconcilerRef {
            namespace: request.reconciler.namespace.clone(),
            name: request.reconciler.name.clone(),
        },
        primary: text(&request.primary),
        children: request.children.iter().map(text).collect(),
        // The guests that are measured declare no optional kind, which alone can be named here.
        not_served: Vec::new(),
        answers: request.answers.iter().map(answered).collect(),
        settings: request.settings.to_string(),
        now: request.now,
        seed: request.seed.as_ref().map(|seed| seed.bytes().to_vec()),
    }
}

fn text(object: &Object) -> String {
    Value::Object(object.0.clone()).to_string()
}
