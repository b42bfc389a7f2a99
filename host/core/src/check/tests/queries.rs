//! Shows the rules for queries.

use super::*;
use crate::decision::{FieldMatch, Query, Selection};
use crate::kind::KindRef;

fn query(kind: &str, namespace: Option<&str>, selection: Selection) -> Query {
    let of = KindRef::new("", "v1", kind);
    Query {
        id: "q".into(),
        of,
        namespace: namespace.map(Into::into),
        selection,
        limit: 10,
    }
}

fn named(name: &str) -> Selection {
    Selection {
        name: Some(name.into()),
        ..Selection::default()
    }
}

fn labelled(labels: &str) -> Selection {
    Selection {
        labels: labels.into(),
        ..Selection::default()
    }
}

fn field(path: &str) -> Selection {
    Selection {
        fields: vec![FieldMatch {
            path: path.into(),
            value: "x".into(),
        }],
        ..Selection::default()
    }
}

fn expect_each<'a>(cases: impl IntoIterator<Item = (Query, Option<(Rule, &'a str)>)>) {
    for (query, expected) in cases {
        let case = format!("{query:?}");
        expect(&check_queries(&manifest(), &primary(), &[], &[query]), expected, &case);
    }
}

#[test]
fn a_good_query_has_no_findings() {
    let queries = [
        query("Pod", None, named("a")),
        query("Pod", Some("team-b"), labelled("app=web,!old")),
        query("Pod", None, labelled("app in (a,b)")),
        query("Pod", None, field(".spec.nodeName")),
        query("Pod", None, field(".metadata.labels.app")),
        query("Secret", Some("team-a"), named("a")),
        query("Node", None, named("a")),
        Query {
            limit: 10_000,
            ..query("Pod", None, named("a"))
        },
    ];
    expect_each(queries.map(|query| (query, None)));
}

#[test]
fn a_query_stays_within_the_declared_kinds_namespaces_and_limits() {
    let kind = |text: &'static str| Some((Rule::QueryKind, text));
    let place = |text: &'static str| Some((Rule::QueryNamespace, text));
    let limit = |text: &'static str| Some((Rule::QueryLimit, text));
    let version = KindRef::new("", "v2", "Pod");
    expect_each([
        (
            query("Job", None, named("a")),
            kind("The query 'q' asks about Job.v1, which the guest's manifest does not"),
        ),
        (
            Query {
                of: version,
                ..query("Pod", None, named("a"))
            },
            kind("Pod.v2"),
        ),
        (
            query("Secret", None, named("a")),
            place("outside the primary's namespace 'team-a'; that needs all-namespaces"),
        ),
        (
            query("Secret", Some("team-b"), named("a")),
            place("needs all-namespaces"),
        ),
        (
            query("Node", Some("team-a"), named("a")),
            place("but a Node is in none"),
        ),
        (query("Pod", Some(""), named("a")), place("the empty namespace")),
        (
            Query {
                limit: 0,
                ..query("Pod", None, named("a"))
            },
            limit("must be 1 to 10000"),
        ),
        (
            Query {
                limit: 10_001,
                ..query("Pod", None, named("a"))
            },
            limit("10001"),
        ),
    ]);
}

#[test]
fn a_query_names_what_can_be_looked_up() {
    let long = format!("app in ({})", vec!["v"; 2048].join(","));
    let many = Selection {
        fields: vec![field(".spec.nodeName").fields[0].clone(); 17],
        ..Selection::default()
    };
    let term = |text: &'static str| Some((Rule::QueryTerm, text));
    expect_each([
        (
            query("Pod", None, Selection::default()),
            term("has neither a name, nor a label that must have a value"),
        ),
        (query("Pod", None, labelled("!app,tier!=x,zone")), term("has neither")),
        (query("Pod", None, named("")), term("an empty name")),
        (
            query("Pod", None, labelled("app=a b")),
            term("the value 'a b' in the label selector"),
        ),
        (query("Pod", None, labelled(&long)), term("at most 4096")),
        (query("Pod", None, field("spec")), term("write it like .spec.nodeName")),
        (
            query("Pod", None, field(".spec.hostname")),
            term("not within the declared projection of Pod"),
        ),
        (query("Pod", None, many), term("17 fields; at most 16")),
    ]);
}

#[test]
fn a_cluster_scoped_primary_has_no_namespace_to_ask_about_without_all_namespaces() {
    for namespace in [None, Some("team-a")] {
        let queries = [query("Secret", namespace, named("a"))];
        let findings = check_queries(&cluster_scoped_manifest(), &cluster_scoped_primary(), &[], &queries);
        expect(
            &findings,
            Some((Rule::QueryNamespace, "a primary without namespace")),
            "cluster-scoped",
        );
    }
}

#[test]
fn queries_are_counted_and_have_ids_of_their_own() {
    let numbered = |number: usize| Query {
        id: number.to_string(),
        ..query("Pod", None, named("a"))
    };
    let queries: Vec<Query> = (0..64).map(numbered).collect();
    expect(&check_queries(&manifest(), &primary(), &[], &queries), None, "64");
    let queries: Vec<Query> = (0..65).map(numbered).collect();
    expect(
        &check_queries(&manifest(), &primary(), &[], &queries),
        Some((Rule::QueriesCount, "65")),
        "65",
    );
    let queries = [numbered(1), numbered(1)];
    expect(
        &check_queries(&manifest(), &primary(), &[], &queries),
        Some((Rule::QueryId, "'1' is there twice")),
        "twice",
    );
}

#[test]
fn queries_of_all_rounds_are_counted_and_measured_together() {
    let numbered = |number: usize, name: &str| Query {
        id: number.to_string(),
        ..query("Pod", None, named(name))
    };
    let asked: Vec<Query> = (0..60).map(|number| numbered(number, "a")).collect();
    let again = check_queries(&manifest(), &primary(), &asked, &asked);
    expect(&again, None, "the same again");
    let four: Vec<Query> = (60..64).map(|number| numbered(number, "a")).collect();
    expect(
        &check_queries(&manifest(), &primary(), &asked, &four),
        None,
        "64 in all",
    );
    let five: Vec<Query> = (60..65).map(|number| numbered(number, "a")).collect();
    let findings = check_queries(&manifest(), &primary(), &asked, &five);
    expect(&findings, Some((Rule::QueriesCount, "There are 65")), "65 in all");
    let long = [
        numbered(0, &"a".repeat(200 * 1024)),
        numbered(1, &"b".repeat(50 * 1024)),
    ];
    expect(&check_queries(&manifest(), &primary(), &[], &long), None, "250 KiB");
    let findings = check_queries(&manifest(), &primary(), &long, &[numbered(2, &"c".repeat(10 * 1024))]);
    expect(&findings, Some((Rule::QueriesSize, "at most 262144")), "260 KiB");
}
