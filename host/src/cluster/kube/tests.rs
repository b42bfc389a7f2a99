//! Plays a server that misbehaves and looks at what the client makes of it.
//!
//! The server is a real one on a loopback port, so that codes, headers, chunks and cut connections are what they are in
//! life. Delays and deadlines are milliseconds; nothing waits without a limit.

mod server;
mod following;

use self::server::{Answer, Server};
use super::list::kept;
use super::*;
use serde_json::json;
use std::time::Duration;
use windlass_core::kind::KindInfo;
use windlass_core::manifest::Projection;
use windlass_core::write::{Request, Subresource};

fn pods() -> KindInfo {
    KindInfo::namespaced("", "v1", "Pod", "pods")
}

#[tokio::test]
async fn a_write_should_carry_its_account_and_not_be_repeated_before_the_server_allows_it() {
    let server = Server::start(vec![], vec![]).await;
    server.answer_writes(vec![Answer::RetryAfter(429, 60)]);
    let cluster = KubeCluster::at(&server.url).unwrap();
    let write = Write {
        identity: Identity::ServiceAccount {
            namespace: "a".into(),
            name: "nginx".into(),
        },
        target: Target {
            kind: pods(),
            namespace: Some("a".into()),
            name: "web".into(),
        },
        subresource: Subresource::None,
        manager: "windlass:a:nginx".into(),
        request: Request::MergePatch(json!({})),
    };
    let busy = WriteError::Busy {
        wait: Duration::from_secs(60),
        words: "HTTP 429 ".into(),
    };
    assert_eq!(cluster.apply(&write).await, Err(busy));
    let again = cluster.apply(&write).await;
    assert!(
        matches!(&again, Err(WriteError::Busy { wait, words }) if words.contains("not sent") && *wait > Duration::from_secs(50)),
        "{again:?}"
    );
    let line = "PATCH /api/v1/namespaces/a/pods/web?fieldManager=windlass:a:nginx&fieldValidation=Strict";
    assert_eq!(server.writes(), [format!("{line} as system:serviceaccount:a:nginx")]);
}

#[tokio::test]
async fn a_write_without_an_answer_should_not_count_as_never_done() {
    let server = Server::start(vec![], vec![]).await;
    server.answer_writes(vec![Answer::Silent(vec!["{".into()])]);
    let mut cluster = KubeCluster::at(&server.url).unwrap();
    cluster.transport = cluster.transport.with_deadline(Duration::from_millis(50));
    let write = Write {
        identity: Identity::Host,
        target: Target {
            kind: pods(),
            namespace: Some("a".into()),
            name: "web".into(),
        },
        subresource: Subresource::None,
        manager: "windlass:a:nginx".into(),
        request: Request::MergePatch(json!({})),
    };
    let outcome = cluster.apply(&write).await;
    assert!(
        matches!(&outcome, Err(WriteError::Unanswered(words)) if words.contains("no answer within")),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_should_be_unavailable() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let target = Target {
        kind: pods(),
        namespace: Some("a".into()),
        name: "web".into(),
    };
    let outcome = KubeCluster::at(&url).unwrap().get(&target).await;
    assert!(
        matches!(&outcome, Err(ReadError::Unavailable(words)) if words.contains("refused")),
        "{outcome:?}"
    );
}

#[test]
fn what_is_kept_should_say_what_it_is() {
    let object = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}});
    let kept = kept(Object::from_value(object).unwrap(), &pods(), &Projection::Metadata);
    assert_eq!(kept.kind(), pods().of);
    assert_eq!(kept.name(), "a");
}
