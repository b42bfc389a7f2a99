//! Equal requests give equal answers, whichever instance, engine or kind of module gives them.

use super::{decide, generous, guest, hostile, module, outcome, request, runtime};
use crate::decide::Decide;
use crate::guest::{Compiler, Loader};
use serde_json::{Value, json};
use std::sync::Arc;
use windlass_core::decision::{Answer, Answered, ChildrenPlan, Decided, Entry, Reply, Request};
use windlass_core::object::Object;

/// A primary of the friend guest.
fn friend() -> Request {
    request(
        json!({
            "apiVersion": "mycustomresources.poc.test.domain/v1",
            "kind": "MyCustomResource",
            "metadata": {"name": "one", "namespace": "team-a", "uid": "uid-1"},
            "spec": {"name": "buddy"},
        }),
        json!({}),
    )
}

/// Asks, answers and decides, in one instance.
pub(super) async fn befriend(guest: &dyn Decide, pods: &[Value]) -> Value {
    let mut decision = guest.begin(b"uid-1").await.expect("begins");
    let mut request = friend();
    let Ok(Reply::Ask(queries)) = decision.call(Entry::Reconcile, &request).await else {
        panic!("it asks first")
    };
    let pods: Vec<_> = pods.iter().cloned().filter_map(Object::from_value).collect();
    request.answers = queries
        .into_iter()
        .map(|query| Answered {
            id: query.id,
            answer: Answer::Found(pods.clone()),
        })
        .collect();
    let reply = decision
        .call(Entry::Reconcile, &request)
        .await
        .expect("decides in the same instance");
    outcome(reply).status.expect("it gives a status")
}

#[tokio::test]
async fn a_guest_asks_and_decides_in_one_instance() {
    let guest = guest("friend", &generous()).await;
    let buddy = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "buddy", "namespace": "team-b"}});
    assert_eq!(befriend(&*guest, &[buddy]).await, json!({"Healthy": true}));
    assert_eq!(befriend(&*guest, &[]).await, json!({}));
}

#[tokio::test]
async fn an_answer_that_says_the_primary_is_wrong_is_no_fault() {
    let guest = guest("hostile", &generous()).await;
    let reply = decide(&*guest, &hostile("invalid")).await.expect("no fault");
    assert!(matches!(reply, Reply::Decided(Decided::Failed(_))), "{reply:?}");
}

#[tokio::test]
async fn a_05_equal_requests_give_equal_answers_in_any_instance_and_engine() {
    let other = Loader::new(runtime(), Compiler::InProcess)
        .load(super::bytes_of("hostile"))
        .await
        .expect("loads in a second engine");
    let manifest = other.describe(&json!({}), &generous()).await.expect("describes");
    let guests: [Arc<dyn Decide>; 2] = [guest("hostile", &generous()).await, other.guest(&manifest, &generous())];
    let mut replies = Vec::new();
    for guest in &guests {
        for _ in 0..10 {
            replies.push(decide(&**guest, &hostile("shuffle")).await.expect("decides"));
        }
    }
    assert!(
        replies.windows(2).all(|pair| pair[0] == pair[1]),
        "not all equal: {replies:?}"
    );
}

#[tokio::test]
async fn guests_of_the_sdk_are_strict_and_describe_themselves() {
    for name in ["friend", "nginx", "nginx-next", "hostile"] {
        let module = module(name).await;
        let manifest = module.describe(&json!({}), &generous()).await.expect("describes");
        assert!(module.is_strict(), "{name} imports {:?}", module.imports());
        assert!(!manifest.version.is_empty(), "{name}");
    }
}

#[tokio::test]
async fn finalize_is_called_by_its_own_entry() {
    let guest = guest("hostile", &generous()).await;
    let request = request(hostile("good").primary.into_value(), json!({"finalize": "done"}));
    let mut decision = guest.begin(b"uid-1").await.expect("begins");
    let reply = decision.call(Entry::Finalize, &request).await.expect("decides");
    assert_eq!(reply, Reply::Decided(Decided::Done));
    let unchanged = outcome(decide(&*guest, &hostile("none")).await.expect("decides"));
    assert_eq!(unchanged.children, ChildrenPlan::NoneWanted);
}
