//! Shows what the store wakes somebody for, and what it keeps quiet about.

use super::*;
use serde_json::{Value, json};
use windlass_core::decision::Selection;
use windlass_core::kind::KindInfo;
use windlass_core::manifest::Projection;

fn pods() -> WatchKey {
    WatchKey {
        kind: KindInfo::namespaced("", "v1", "Pod", "pods"),
        namespace: None,
        selector: String::new(),
        projection: Projection::Metadata,
    }
}

fn pod(namespace: &str, name: &str, version: u64, labels: &Value) -> Object {
    Object::from_value(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name, "uid": format!("uid-{namespace}-{name}"),
                     "resourceVersion": version.to_string(), "labels": labels},
    }))
    .unwrap()
}

fn store() -> Store {
    let store = Store::default();
    store.open(&pods());
    store
}

fn by_name(name: &str, limit: u32) -> Query {
    Query {
        id: "q".into(),
        of: pods().kind.of,
        namespace: None,
        selection: Selection {
            name: Some(name.into()),
            ..Selection::default()
        },
        limit,
    }
}

#[test]
fn a_list_replaces_what_was_known() {
    let store = store();
    assert_eq!(store.sync(&pods()), Sync::Waiting(None));
    store.take(
        &pods(),
        WatchEvent::Listed(vec![pod("a", "x", 1, &json!({})), pod("a", "y", 2, &json!({}))]),
    );
    assert_eq!(store.sync(&pods()), Sync::Synced(None));
    let changes = store.take(
        &pods(),
        WatchEvent::Listed(vec![pod("a", "y", 2, &json!({})), pod("a", "z", 3, &json!({}))]),
    );
    let told: Vec<_> = changes
        .iter()
        .filter(|change| change.is_visible())
        .map(|change| {
            (
                change.old.as_ref().map(|o| o.name()),
                change.new.as_ref().map(|o| o.name()),
            )
        })
        .collect();
    assert_eq!(told, [(Some("x"), None), (None, Some("z"))]);
}

fn visible(changes: &[Change]) -> usize {
    changes.iter().filter(|change| change.is_visible()).count()
}

#[test]
fn a_new_resource_version_alone_is_not_visible() {
    let store = store();
    store.take(&pods(), WatchEvent::Applied(pod("a", "x", 1, &json!({"app": "x"}))));
    assert_eq!(
        visible(&store.take(&pods(), WatchEvent::Applied(pod("a", "x", 2, &json!({"app": "x"}))))),
        0
    );
    assert_eq!(store.get(&pods(), Some("a"), "x").unwrap().resource_version(), "2");
    assert_eq!(
        visible(&store.take(&pods(), WatchEvent::Applied(pod("a", "x", 3, &json!({"app": "y"}))))),
        1
    );
}

#[test]
fn an_own_write_stays_until_the_watch_has_caught_up() {
    let store = store();
    store.take(&pods(), WatchEvent::Applied(pod("a", "x", 1, &json!({"v": "1"}))));
    store.overlay(&pods(), pod("a", "x", 5, &json!({"v": "5"})));
    assert_eq!(
        visible(&store.take(&pods(), WatchEvent::Applied(pod("a", "x", 3, &json!({"v": "3"}))))),
        0
    );
    assert_eq!(store.get(&pods(), Some("a"), "x").unwrap().label("v"), Some("5"));
    assert_eq!(
        visible(&store.take(&pods(), WatchEvent::Applied(pod("a", "x", 5, &json!({"v": "5"}))))),
        0,
        "its own echo"
    );
}

#[test]
fn a_late_deletion_of_an_older_object_of_that_name_is_dropped() {
    let store = store();
    let old = pod("a", "x", 1, &json!({}));
    let mut new = pod("a", "x", 5, &json!({}));
    new.metadata_mut().insert("uid".into(), "uid-new".into());
    store.take(&pods(), WatchEvent::Applied(old.clone()));
    store.overlay(&pods(), new);
    assert!(store.take(&pods(), WatchEvent::Deleted(old)).is_empty());
    assert_eq!(store.by_uid(&pods(), "uid-new").unwrap().name(), "x");
    assert!(store.by_uid(&pods(), "uid-a-x").is_none());
}

#[test]
fn a_query_by_name_finds_it_in_every_namespace_in_order_and_says_when_there_are_more() {
    let store = store();
    let list = ["b", "a", "c"]
        .map(|namespace| pod(namespace, "joe", 1, &json!({})))
        .to_vec();
    store.take(&pods(), WatchEvent::Listed(list));
    let (found, more) = store.select(&pods(), &by_name("joe", 2));
    assert_eq!(
        found
            .iter()
            .map(|object| object.namespace().unwrap())
            .collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert!(more);
    let (found, more) = store.select(&pods(), &by_name("joe", 3));
    assert_eq!((found.len(), more), (3, false));
}

#[test]
fn children_are_found_by_the_uid_of_their_primary() {
    let store = store();
    store.take(
        &pods(),
        WatchEvent::Applied(pod("a", "x", 1, &json!({"windlass.dev/primary-uid": "u1"}))),
    );
    assert_eq!(store.by_primary_uid(&pods(), "u1").len(), 1);
    store.take(
        &pods(),
        WatchEvent::Applied(pod("a", "x", 2, &json!({"windlass.dev/primary-uid": "u2"}))),
    );
    assert!(store.by_primary_uid(&pods(), "u1").is_empty());
    assert_eq!(store.by_primary_uid(&pods(), "u2").len(), 1);
}

#[test]
fn a_broken_watch_keeps_what_was_known_and_says_so() {
    let store = store();
    store.take(&pods(), WatchEvent::Listed(vec![pod("a", "x", 1, &json!({}))]));
    store.take(&pods(), WatchEvent::Failed("connection refused".into()));
    assert_eq!(store.sync(&pods()), Sync::Synced(Some("connection refused".into())));
    assert_eq!(store.len(&pods()), 1);
}
