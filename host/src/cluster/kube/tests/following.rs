//! Follows a kind on a server that ends, breaks, cuts, silences and refuses its watches.

use super::pods;
use super::server::{Answer, Server};
use crate::cluster::kube::{KubeCluster, Timing};
use crate::cluster::{Cluster, WatchEvent, WatchKey};
use futures::StreamExt;
use serde_json::json;
use std::time::Duration;
use windlass_core::backoff::Backoff;
use windlass_core::manifest::Projection;
use windlass_core::object::Object;

fn key() -> WatchKey {
    WatchKey {
        kind: pods(),
        namespace: None,
        selector: String::new(),
        projection: Projection::Full,
    }
}

fn timing() -> Timing {
    Timing {
        request: Duration::from_secs(10),
        silence: Duration::from_secs(10),
        backoff: Backoff {
            first: Duration::from_millis(1),
            factor: 2.0,
            cap: Duration::from_millis(10),
        },
        steady: Duration::from_secs(60),
        shortest: Duration::ZERO,
    }
}

fn item(name: &str, version: u32) -> String {
    json!({"metadata": {"name": name, "resourceVersion": version.to_string()}}).to_string()
}

fn page(items: &[String], version: u32, token: &str) -> Answer {
    let metadata = json!({"resourceVersion": version.to_string(), "continue": token});
    Answer::Body(
        200,
        format!(
            r#"{{"kind":"PodList","items":[{}],"metadata":{metadata}}}"#,
            items.join(",")
        ),
    )
}

fn event(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

fn status(code: u16, reason: &str) -> String {
    json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "words"}).to_string()
}

/// A short form of each event.
fn told(event: WatchEvent) -> String {
    let names = |objects: &[Object]| {
        objects
            .iter()
            .map(|object| object.name().to_owned())
            .collect::<Vec<_>>()
            .join(",")
    };
    match event {
        WatchEvent::Listed(objects) => format!("listed {}", names(&objects)),
        WatchEvent::Applied(object) => format!("applied {}", object.name()),
        WatchEvent::Deleted(object) => format!("deleted {}", object.name()),
        WatchEvent::Failed(words) => format!("failed {words}"),
    }
}

/// The first events of a watch on a server that answers so.
async fn events(server: &Server, timing: Timing, count: usize) -> Vec<String> {
    let cluster = KubeCluster::at(&server.url).unwrap().with_timing(timing);
    let events = cluster.watch(key()).take(count).map(told).collect();
    tokio::time::timeout(Duration::from_secs(20), events)
        .await
        .expect("the watch told enough")
}

#[tokio::test]
async fn all_pages_should_be_read_before_anything_is_told() {
    let lists = vec![
        page(&[item("a", 1)], 7, "t1"),
        page(&[item("b", 2)], 7, "t2"),
        page(&[item("c", 3)], 7, ""),
    ];
    let server = Server::start(lists, vec![]).await;
    assert_eq!(events(&server, timing(), 1).await, ["listed a,b,c"]);
    assert_eq!(
        server.lists(),
        [
            "/api/v1/pods?limit=500",
            "/api/v1/pods?limit=500&continue=t1",
            "/api/v1/pods?limit=500&continue=t2"
        ]
    );
}

#[tokio::test]
async fn a_page_that_expired_should_lead_to_one_list_without_pages() {
    let lists = vec![
        page(&[item("a", 1)], 7, "t1"),
        Answer::Body(410, status(410, "Expired")),
        page(&[item("a", 1), item("b", 2)], 8, ""),
    ];
    let server = Server::start(lists, vec![]).await;
    assert_eq!(events(&server, timing(), 1).await, ["listed a,b"]);
    assert_eq!(server.lists()[2], "/api/v1/pods");
}

#[tokio::test]
async fn a_watch_that_ends_in_good_order_should_go_on_from_the_last_version_without_a_list() {
    let bookmark = event("BOOKMARK", &item("", 12));
    let watches = vec![
        Answer::Lines(vec![event("ADDED", &item("b", 9))]),
        Answer::Lines(vec![event("DELETED", &item("b", 10)), bookmark]),
        Answer::Lines(vec![event("MODIFIED", &item("a", 13))]),
    ];
    let server = Server::start(vec![page(&[item("a", 1)], 7, "")], watches).await;
    assert_eq!(
        events(&server, timing(), 4).await,
        ["listed a", "applied b", "deleted b", "applied a"]
    );
    assert_eq!(server.lists().len(), 1);
    assert_eq!(server.watched_from()[..3], ["7", "9", "12"]);
}

#[tokio::test]
async fn an_expired_version_as_a_status_should_lead_to_a_new_list() {
    for body in [
        status(410, "Expired"),
        "{\n  \"code\": 410,\n  \"reason\": \"Gone\"\n}\n".into(),
    ] {
        let lists = vec![page(&[item("a", 1)], 7, ""), page(&[item("b", 2)], 9, "")];
        let server = Server::start(lists, vec![Answer::Body(410, body)]).await;
        assert_eq!(events(&server, timing(), 2).await, ["listed a", "listed b"]);
    }
}

#[tokio::test]
async fn an_expired_version_as_an_event_should_lead_to_a_new_list() {
    let lists = vec![page(&[item("a", 1)], 7, ""), page(&[item("b", 2)], 9, "")];
    let watches = vec![Answer::Lines(vec![
        event("ADDED", &item("c", 8)),
        event("ERROR", &status(410, "Expired")),
    ])];
    let server = Server::start(lists, watches).await;
    assert_eq!(
        events(&server, timing(), 3).await,
        ["listed a", "applied c", "listed b"]
    );
}

#[tokio::test]
async fn any_other_error_should_be_told_once_and_lead_to_a_new_list() {
    let again = || vec![page(&[item("a", 1)], 7, ""), page(&[item("b", 2)], 9, "")];
    let multi_line = "{\n  \"code\": 403,\n  \"reason\": \"Forbidden\",\n  \"message\": \"words\"\n}\n";
    let table = [
        (Answer::Body(403, multi_line.into()), "failed HTTP 403: words"),
        (
            Answer::Body(500, status(500, "InternalError")),
            "failed HTTP 500: words",
        ),
        (
            Answer::Lines(vec![event("ERROR", &status(500, "InternalError"))]),
            "failed HTTP 500: words",
        ),
        (
            Answer::Lines(vec!["<html>\n".into()]),
            "failed the watch sent something that cannot be read",
        ),
        (Answer::Cut(vec![]), "failed "),
    ];
    for (answer, expected) in table {
        let server = Server::start(again(), vec![answer]).await;
        let events = events(&server, timing(), 3).await;
        assert_eq!(
            [events[0].as_str(), events[2].as_str()],
            ["listed a", "listed b"],
            "{expected}"
        );
        assert!(events[1].starts_with(expected), "{}", events[1]);
    }
}

#[tokio::test]
async fn a_line_that_was_cut_should_not_be_taken_for_an_event() {
    let watches = vec![Answer::Cut(vec![
        event("ADDED", &item("b", 8)),
        "{\"type\":\"DEL".into(),
    ])];
    let server = Server::start(vec![page(&[], 7, ""), page(&[], 9, "")], watches).await;
    let events = events(&server, timing(), 4).await;
    assert_eq!(
        [&*events[0], &*events[1], &*events[3]],
        ["listed ", "applied b", "listed "]
    );
    assert!(events[2].starts_with("failed "), "{}", events[2]);
}

#[tokio::test]
async fn a_watch_that_stays_open_and_silent_should_be_taken_for_dead() {
    let lists = vec![page(&[item("a", 1)], 7, ""), page(&[item("b", 2)], 9, "")];
    let server = Server::start(lists, vec![Answer::Silent(vec![event("ADDED", &item("c", 8))])]).await;
    let timing = Timing {
        silence: Duration::from_millis(200),
        ..timing()
    };
    let expected = [
        "listed a",
        "applied c",
        "failed the watch was silent for 0.2 s",
        "listed b",
    ];
    assert_eq!(events(&server, timing, 4).await, expected);
}

#[tokio::test]
async fn a_list_that_is_never_answered_should_be_given_up() {
    let server = Server::start(vec![Answer::Silent(vec!["{".into()]), page(&[], 7, "")], vec![]).await;
    let timing = Timing {
        request: Duration::from_millis(200),
        ..timing()
    };
    assert_eq!(
        events(&server, timing, 2).await,
        ["failed no answer within 0.2 s", "listed "]
    );
}

#[tokio::test]
async fn one_object_that_cannot_be_read_should_not_hide_the_others() {
    let nest = format!("{}1{}", r#"{"a":"#.repeat(300), "}".repeat(300));
    let bad = format!(r#"{{"metadata":{{"name":"bad","resourceVersion":"8"}},"spec":{nest}}}"#);
    let watches = vec![
        Answer::Lines(vec![event("ADDED", &bad), event("ADDED", &item("c", 9))]),
        Answer::Lines(vec![event("ADDED", &bad)]),
    ];
    let server = Server::start(vec![page(&[item("a", 1), bad.clone(), item("b", 2)], 7, "")], watches).await;
    assert_eq!(events(&server, timing(), 2).await, ["listed a,b", "applied c"]);
}

#[tokio::test]
async fn a_kind_that_comes_late_should_be_found_when_it_is_there() {
    let lists = vec![
        Answer::Body(404, "404 page not found\n".into()),
        page(&[item("a", 1)], 7, ""),
    ];
    let server = Server::start(lists, vec![]).await;
    assert_eq!(
        events(&server, timing(), 2).await,
        ["failed HTTP 404: 404 page not found", "listed a"]
    );
}

#[tokio::test]
async fn a_server_that_asks_to_wait_should_be_waited_for() {
    let lists = vec![Answer::RetryAfter(429, 1), page(&[item("a", 1)], 7, "")];
    let server = Server::start(lists, vec![]).await;
    let start = std::time::Instant::now();
    assert_eq!(events(&server, timing(), 2).await, ["failed HTTP 429 ", "listed a"]);
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert_eq!(server.lists().len(), 2);
}

#[tokio::test]
async fn a_server_that_ends_every_watch_at_once_should_not_be_asked_without_pause() {
    let ends = || Answer::Lines(Vec::new());
    let server = Server::start(vec![page(&[], 7, "")], (0..1000).map(|_| ends()).collect()).await;
    let backoff = Backoff {
        first: Duration::from_secs(30),
        factor: 2.0,
        cap: Duration::from_secs(30),
    };
    let timing = Timing {
        shortest: Duration::from_secs(5),
        backoff,
        ..timing()
    };
    let cluster = KubeCluster::at(&server.url).unwrap().with_timing(timing);
    let mut events = cluster.watch(key());
    assert_eq!(events.next().await.map(told).as_deref(), Some("listed "));
    let waited = tokio::time::timeout(Duration::from_millis(300), events.next()).await;
    assert!(waited.is_err());
    assert_eq!((server.lists().len(), server.watched_from().len()), (1, 1));
}
