//! Gives answers that the SDK lets nobody give: texts that are no JSON, and numbers without measure.

use serde_json::Value;
use windlass_sdk::bindings::windlass::reconciler::decision::{
    ChildrenPlan, DesiredChild, Outcome, Propagation, Reply, Request, WantedChild, WriteMode,
};

/// How deep nested texts are.
const DEPTH: usize = 10_000;

/// The answer, if the primary wants one of these.
pub(crate) fn answer(request: &Request) -> Option<Reply> {
    let primary: Value = serde_json::from_str(&request.primary).ok()?;
    let outcome = match primary["spec"]["behaviour"].as_str()? {
        // A child that is no JSON, that is none after a while, or that is a list.
        "invalid-json" => child("{\"apiVersion\":"),
        "invalid-later" => child(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":nul}}"#),
        "not-an-object" => child("[1, 2, 3]"),
        // Lists in lists, in a child and in the status.
        "deep-child" => child(&nested()),
        "deep-status" => Outcome {
            status: Some(nested()),
            ..outcome(ChildrenPlan::NoneWanted)
        },
        // A million values in two megabytes.
        "many-values" => child(&format!("{{\"data\":[{}0]}}", "0,".repeat(1_000_000))),
        // To be called again after 584 million years, or at once.
        "requeue-most" => requeue(u64::MAX),
        "requeue-zero" => requeue(0),
        _ => return None,
    };
    Some(Reply::Decide(outcome))
}

fn nested() -> String {
    format!("{{\"a\":{}{}}}", "[".repeat(DEPTH), "]".repeat(DEPTH))
}

fn child(object: &str) -> Outcome {
    outcome(ChildrenPlan::Exactly(vec![DesiredChild::Want(WantedChild {
        object: object.into(),
        mode: WriteMode::Apply,
        propagation: Propagation::Background,
        retain: false,
    })]))
}

fn requeue(milliseconds: u64) -> Outcome {
    Outcome {
        requeue_after: Some(milliseconds),
        ..outcome(ChildrenPlan::NoneWanted)
    }
}

fn outcome(children: ChildrenPlan) -> Outcome {
    Outcome {
        children,
        primary: None,
        status: None,
        conditions: Vec::new(),
        events: Vec::new(),
        requeue_after: None,
    }
}
