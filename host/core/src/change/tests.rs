//! Shows whom a change wakes, against a search through everything.

use super::*;
use crate::decision::{FieldMatch, Query, Selection};
use crate::key::PrimaryName;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;

fn pod() -> KindRef {
    KindRef::new("", "v1", "Pod")
}

fn primary(name: &str) -> PrimaryName {
    PrimaryName {
        namespace: Some("team-a".into()),
        name: name.into(),
    }
}

fn query(namespace: Option<&str>, name: Option<&str>, labels: &str, fields: &[(&str, &str)]) -> Query {
    let fields = fields.iter().map(|(path, value)| FieldMatch {
        path: (*path).into(),
        value: (*value).into(),
    });
    Query {
        id: "q".into(),
        of: pod(),
        namespace: namespace.map(Into::into),
        selection: Selection {
            name: name.map(Into::into),
            labels: labels.into(),
            fields: fields.collect(),
        },
        limit: 10,
    }
}

fn object(namespace: &str, name: &str, app: &str, node: &str) -> Object {
    Object::from_value(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name, "labels": {"app": app, "all": "yes"}},
        "spec": {"nodeName": node, "volumes": [{"secret": node}, {"secret": "common"}]},
    }))
    .unwrap()
}

fn came(new: Object) -> Change {
    Change {
        of: pod(),
        old: None,
        new: Some(new),
    }
}

fn names(woken: &BTreeSet<PrimaryName>) -> Vec<&str> {
    woken.iter().map(|primary| primary.name.as_str()).collect()
}

#[test]
fn each_part_of_a_query_must_hold() {
    let there = object("team-a", "web-1", "web", "n1");
    let cases = [
        (query(None, None, "", &[]), true),
        (query(Some("team-a"), None, "", &[]), true),
        (query(Some("team-b"), None, "", &[]), false),
        (query(None, Some("web-1"), "", &[]), true),
        (query(None, Some("web-2"), "", &[]), false),
        (query(None, Some("web-1"), "app=api", &[]), false),
        (query(None, None, "app=web,!none", &[]), true),
        (query(None, None, "app=", &[]), false),
        (query(None, None, "", &[(".spec.nodeName", "n1")]), true),
        (
            query(
                None,
                None,
                "",
                &[(".spec.volumes[*].secret", "common"), (".spec.nodeName", "n2")],
            ),
            false,
        ),
        (query(None, None, "app in (", &[]), false),
    ];
    for (query, expected) in cases {
        assert_eq!(matches(&query, &there), expected, "{query:?}");
    }
}

#[test]
fn a_change_wakes_who_asked_about_the_object_before_or_after_it() {
    let mut dependencies = Dependencies::default();
    dependencies.replace(primary("by-name"), vec![query(Some("team-a"), Some("web-1"), "", &[])]);
    dependencies.replace(primary("by-label"), vec![query(None, None, "app=web", &[])]);
    dependencies.replace(
        primary("by-old-label"),
        vec![query(None, None, "app in (api,old)", &[])],
    );
    dependencies.replace(
        primary("by-field"),
        vec![query(None, None, "", &[(".spec.volumes[*].secret", "n1")])],
    );
    dependencies.replace(
        primary("by-two"),
        vec![query(None, None, "app=web", &[(".spec.nodeName", "n2")])],
    );
    let change = Change {
        of: KindRef::new("", "v2", "Pod"),
        old: Some(object("team-a", "web-1", "old", "n1")),
        new: Some(object("team-a", "web-1", "web", "n1")),
    };
    assert_eq!(
        names(&dependencies.woken_by(&change)),
        ["by-field", "by-label", "by-name", "by-old-label"]
    );
    assert_eq!(dependencies.scanned(), 0);
    let other_kind = Change {
        of: KindRef::new("apps", "v1", "Pod"),
        ..change
    };
    assert!(dependencies.woken_by(&other_kind).is_empty());
}

#[test]
fn what_was_asked_before_wakes_nobody_any_more() {
    let mut dependencies = Dependencies::default();
    dependencies.replace(
        primary("a"),
        vec![query(None, Some("x"), "", &[]), query(None, None, "!app", &[])],
    );
    assert_eq!(dependencies.scanned(), 1);
    dependencies.replace(primary("a"), vec![query(None, Some("y"), "", &[])]);
    assert!(dependencies.woken_by(&came(object("team-a", "x", "", ""))).is_empty());
    assert_eq!(
        names(&dependencies.woken_by(&came(object("team-a", "y", "", "")))),
        ["a"]
    );
    assert_eq!(dependencies.scanned(), 0);
    dependencies.forget(&primary("a"));
    assert!(dependencies.woken_by(&came(object("team-a", "y", "", ""))).is_empty());
    assert_eq!(dependencies.primaries().count(), 0);
}

#[test]
fn a_query_waits_under_its_rarest_term_so_that_a_common_label_does_not_gather_all() {
    let mut index = index::KindIndex::default();
    for number in 0..1000 {
        let node = format!("n{number}");
        index.insert(
            (number, 0),
            &Matcher::new(&query(None, None, "all=yes", &[(".spec.nodeName", &node)])),
        );
    }
    let mut tried = 0;
    index.candidates(&object("team-a", "x", "web", "n7"), &mut |_| tried += 1);
    assert!(tried <= 2, "{tried} queries were tried");
}

#[test]
fn other_namespaces_are_not_even_tried() {
    let mut index = index::KindIndex::default();
    for number in 0..1000 {
        index.insert(
            (number, 0),
            &Matcher::new(&query(Some(&format!("team-{number}")), None, "app=web", &[])),
        );
    }
    let mut tried = 0;
    index.candidates(&object("team-7", "x", "web", "n7"), &mut |_| tried += 1);
    assert_eq!(tried, 1);
}

#[test]
fn more_paths_than_are_looked_up_are_scanned_and_counted() {
    let mut dependencies = Dependencies::default();
    for number in 0..40 {
        let path = format!(".spec.f{number}");
        dependencies.replace(
            primary(&number.to_string()),
            vec![query(None, None, "", &[(&path, "v")])],
        );
    }
    assert_eq!(dependencies.scanned(), 8);
    let mut there = object("team-a", "x", "", "");
    there.0.insert("spec".into(), json!({"f39": "v"}));
    assert_eq!(names(&dependencies.woken_by(&came(there))), ["39"]);
}

#[test]
fn a_child_names_its_primary_by_uid() {
    let mut child = object("team-a", "x", "", "");
    assert_eq!(primary_uid_of(&child), None);
    child.set_metadata_entry("labels", "windlass.dev/primary-uid", "u-1");
    assert_eq!(primary_uid_of(&child), Some("u-1"));
}

fn any_query() -> impl Strategy<Value = Query> {
    let namespace = prop::option::of("team-[ab]");
    let name = prop::option::weighted(0.3, "p[12]");
    let labels = prop_oneof![
        Just(""),
        Just("app=x"),
        Just("app!=x"),
        Just("app in (x,y)"),
        Just("app=x,all=yes"),
        Just("!app"),
        Just("app"),
    ];
    let fields = prop::collection::vec(
        (
            prop_oneof![Just(".spec.nodeName"), Just(".spec.volumes[*].secret")],
            "n[12]",
        ),
        0..3,
    );
    (namespace, name, labels, fields).prop_map(|(namespace, name, labels, fields)| {
        let fields: Vec<(&str, &str)> = fields.iter().map(|(path, value)| (*path, value.as_str())).collect();
        query(namespace.as_deref(), name.as_deref(), labels, &fields)
    })
}

fn any_object() -> impl Strategy<Value = Object> {
    ("team-[ab]", "p[123]", "[xyz]", "n[123]")
        .prop_map(|(namespace, name, app, node)| object(&namespace, &name, &app, &node))
}

proptest! {
    #[test]
    fn the_index_wakes_exactly_whom_a_scan_would_wake(
        steps in prop::collection::vec(("[a-f]", prop::collection::vec(any_query(), 0..4)), 1..20),
        gone in "[a-f]",
        old in prop::option::of(any_object()),
        new in prop::option::of(any_object()),
    ) {
        let mut dependencies = Dependencies::default();
        let mut plain = std::collections::BTreeMap::new();
        for (name, queries) in steps {
            dependencies.replace(primary(&name), queries.clone());
            plain.insert(primary(&name), queries);
        }
        dependencies.forget(&primary(&gone));
        plain.remove(&primary(&gone));
        let change = Change { of: pod(), old, new };
        let objects: Vec<&Object> = change.old.iter().chain(&change.new).collect();
        let expected: BTreeSet<PrimaryName> = plain
            .into_iter()
            .filter(|(_, queries)| queries.iter().any(|query| objects.iter().any(|object| matches(query, object))))
            .map(|(name, _)| name)
            .collect();
        prop_assert_eq!(dependencies.woken_by(&change), expected);
    }
}
