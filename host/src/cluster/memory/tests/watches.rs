//! Shows what watches bring, and when all of it has been taken in.

use super::*;
use crate::cluster::{WatchEvent, WatchKey};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use windlass_core::decision::Propagation;
use windlass_core::manifest::Projection;

fn key(kind: KindInfo, selector: &str) -> WatchKey {
    WatchKey {
        kind,
        namespace: None,
        selector: selector.into(),
        projection: Projection::Full,
    }
}

fn labelled(name: &str, value: &str) -> Object {
    let mut object = config_map(name, json!({}));
    set(&mut object, &["metadata", "labels"], json!({"team": value}));
    object
}

/// All events that are there, as `Listed a b`, `Applied a`, `Deleted a`, `Failed`.
fn taken(stream: &mut BoxStream<'static, WatchEvent>) -> Vec<String> {
    std::iter::from_fn(|| stream.next().now_or_never().flatten())
        .map(|event| match event {
            WatchEvent::Listed(objects) => {
                let names: Vec<&str> = objects.iter().map(Object::name).collect();
                format!("Listed {}", names.join(" ")).trim_end().into()
            }
            WatchEvent::Applied(object) => format!("Applied {}", object.name()),
            WatchEvent::Deleted(object) => format!("Deleted {}", object.name()),
            WatchEvent::Failed(_) => "Failed".into(),
        })
        .collect()
}

#[tokio::test]
async fn a_watch_lists_first_and_then_follows() {
    let cluster = cluster();
    cluster.create(&labelled("one", "a")).expect("created");
    let mut stream = cluster.watch(key(config_maps(), ""));
    assert_eq!(taken(&mut stream), ["Listed one"]);
    let two = cluster.create(&labelled("two", "a")).expect("created");
    cluster
        .patch(&two.reference(), &json!({"data": {"a": "b"}}))
        .expect("patched");
    cluster
        .patch(&two.reference(), &json!({"data": {"a": "b"}}))
        .expect("patched");
    cluster
        .delete(&two.reference(), Propagation::Background)
        .expect("deleted");
    assert_eq!(taken(&mut stream), ["Applied two", "Applied two", "Deleted two"]);
}

#[tokio::test]
async fn leaving_the_selection_is_a_deletion() {
    let cluster = cluster();
    let one = cluster.create(&labelled("one", "a")).expect("created");
    cluster.create(&labelled("two", "b")).expect("created");
    let mut stream = cluster.watch(key(config_maps(), "team=a"));
    assert_eq!(taken(&mut stream), ["Listed one"]);
    cluster
        .patch(&one.reference(), &json!({"metadata": {"labels": {"team": "b"}}}))
        .expect("patched");
    cluster
        .patch(&one.reference(), &json!({"metadata": {"labels": {"team": "a"}}}))
        .expect("patched");
    assert_eq!(taken(&mut stream), ["Deleted one", "Applied one"]);
}

#[tokio::test]
async fn a_kind_that_is_not_served_fails_once_and_is_listed_when_it_is() {
    let cluster = cluster();
    let mut stream = cluster.watch(key(widgets(), ""));
    cluster.create(&labelled("one", "a")).expect("created");
    assert_eq!(taken(&mut stream), ["Failed"]);
    cluster.create(&crd()).expect("created");
    cluster.create(&widget("w", json!({"image": "a"}))).expect("created");
    assert_eq!(taken(&mut stream), ["Listed", "Applied w"]);
    cluster
        .delete(&crd().reference(), Propagation::Background)
        .expect("deleted");
    assert_eq!(taken(&mut stream), ["Deleted w", "Failed"]);
}

#[tokio::test]
async fn a_broken_watch_says_so_and_lists_again() {
    let cluster = cluster();
    cluster.create(&labelled("one", "a")).expect("created");
    let mut stream = cluster.watch(key(config_maps(), ""));
    assert_eq!(taken(&mut stream), ["Listed one"]);
    cluster.break_watches();
    assert_eq!(taken(&mut stream), ["Failed", "Listed one"]);
}

#[tokio::test]
async fn a_watch_of_one_namespace_and_of_metadata_brings_just_that() {
    let cluster = cluster();
    let mut other = config_map("other", json!({"a": "b"}));
    set(&mut other, &["metadata", "namespace"], json!("elsewhere"));
    cluster.create(&other).expect("created");
    cluster.create(&config_map("one", json!({"a": "b"}))).expect("created");
    let namespace = Some("default".into());
    let key = WatchKey {
        namespace,
        projection: Projection::Metadata,
        ..key(config_maps(), "")
    };
    let Some(WatchEvent::Listed(objects)) = cluster.watch(key).next().await else {
        panic!("no list")
    };
    assert_eq!(objects.len(), 1);
    assert_eq!(objects[0].at(&["data"]), None);
}

#[tokio::test]
async fn everything_is_delivered_when_every_consumer_came_back_for_more() {
    let cluster = cluster();
    let mut stream = cluster.watch(key(config_maps(), ""));
    assert!(!cluster.is_drained(), "the list has not been taken");
    stream.next().await;
    assert!(!cluster.is_drained(), "the list may still be worked on");
    assert!(stream.next().now_or_never().is_none());
    assert!(cluster.is_drained());
    cluster.create(&labelled("one", "a")).expect("created");
    assert!(!cluster.is_drained());
    let worker = tokio::spawn(async move { while stream.next().await.is_some() {} });
    cluster.delivered().await;
    worker.abort();
    let _ = worker.await;
    assert_eq!(cluster.open_watches(), 0);
    cluster.delivered().await;
}
