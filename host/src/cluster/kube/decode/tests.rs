//! Takes apart what a server may send, whole and broken.

use super::*;
use serde_json::json;

fn deep(name: &str) -> String {
    let nest = format!("{}1{}", r#"{"a":"#.repeat(300), "}".repeat(300));
    format!(r#"{{"metadata":{{"namespace":"n","name":"{name}","resourceVersion":"9"}},"spec":{nest}}}"#)
}

fn read(body: &str) -> (Result<ListMeta, serde_json::Error>, Vec<String>) {
    let mut seen = Vec::new();
    let meta = list(body.as_bytes(), |item| {
        seen.push(match item {
            Ok(object) => object.name().to_owned(),
            Err(unreadable) => format!("!{}", unreadable.name),
        });
    });
    (meta, seen)
}

#[test]
fn a_list_should_be_read_in_any_order_and_layout() {
    let item = r#"{"metadata": {"name": "a"}}"#;
    for body in [
        format!(r#"{{"kind":"PodList","metadata":{{"resourceVersion":"7","continue":"t"}},"items":[{item},{item}]}}"#),
        format!(
            "{{ \"items\" : [ {item} ,\n {item} ] , \"metadata\" : {{\"resourceVersion\":\"7\",\"continue\":\"t\"}}\n}}\n"
        ),
    ] {
        let (meta, seen) = read(&body);
        assert_eq!(
            meta.unwrap(),
            ListMeta {
                resource_version: "7".into(),
                r#continue: "t".into()
            }
        );
        assert_eq!(seen, ["a", "a"]);
    }
}

#[test]
fn no_items_should_be_an_empty_list() {
    for body in [
        r#"{"items":null,"metadata":{"resourceVersion":"7"}}"#,
        r#"{"metadata":{"resourceVersion":"7"},"items":[]}"#,
    ] {
        let (meta, seen) = read(body);
        assert_eq!(meta.unwrap().resource_version, "7");
        assert!(seen.is_empty());
    }
}

#[test]
fn an_object_that_cannot_be_read_should_be_named_and_skipped() {
    let good = r#"{"metadata":{"name":"good"}}"#;
    let huge = r#"{"metadata":{"name":"huge"},"spec":{"replicas":1e999}}"#;
    let body = format!(
        r#"{{"items":[{},{good},17,{huge},{good}],"metadata":{{}}}}"#,
        deep("deep")
    );
    let (meta, seen) = read(&body);
    meta.unwrap();
    assert_eq!(
        seen,
        ["!n/deep", "good", "!an object without a readable name", "!huge", "good"]
    );
}

#[test]
fn a_list_that_was_cut_off_should_be_an_error() {
    for body in [
        "",
        "{",
        r#"{"items":[{"metadata":{"#,
        r#"{"items":[{}"#,
        r#"{"items":[{}]"#,
        "[]",
        "<html>",
    ] {
        assert!(read(body).0.is_err(), "{body}");
    }
}

#[test]
fn watch_lines_should_be_told_apart() {
    let object = json!({"metadata": {"name": "a", "resourceVersion": "8"}});
    let event = |kind: &str| json!({"type": kind, "object": object}).to_string();
    let wanted = Object::from_value(object.clone()).unwrap();
    assert_eq!(line(event("ADDED").as_bytes()).unwrap(), Line::Applied(wanted.clone()));
    assert_eq!(
        line(event("MODIFIED").as_bytes()).unwrap(),
        Line::Applied(wanted.clone())
    );
    assert_eq!(line(event("DELETED").as_bytes()).unwrap(), Line::Deleted(wanted));
    assert_eq!(line(event("BOOKMARK").as_bytes()).unwrap(), Line::Bookmark("8".into()));
    assert!(matches!(line(event("NEWS").as_bytes()).unwrap(), Line::Unreadable(_, version) if version == "8"));
    assert!(line(b"<html>").is_err());
}

#[test]
fn an_event_that_cannot_be_read_should_still_move_the_version() {
    let event = format!(r#"{{"type":"MODIFIED","object":{}}}"#, deep("deep"));
    let Line::Unreadable(unreadable, version) = line(event.as_bytes()).unwrap() else {
        panic!("was read")
    };
    assert_eq!((unreadable.name.as_str(), version.as_str()), ("n/deep", "9"));
}
