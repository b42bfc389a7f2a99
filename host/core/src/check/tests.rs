//! Shows every rule for an answer on a good and a bad case.

use super::*;
use crate::kind::KindInfo;
use crate::manifest::{ChildKind, Primary, Projection, ReadKind};
use serde_json::{Value, json};

mod children;
mod queries;
mod words;

/// A namespaced primary with a child kind of either scope, in which almost everything is allowed.
fn manifest() -> Manifest {
    let child = |kind| ChildKind {
        kind,
        projection: Projection::Metadata,
        optional: false,
    };
    let read = |kind, all_namespaces| ReadKind {
        kind,
        projection: Projection::Fields(vec![".spec.nodeName".into()]),
        selector: String::new(),
        all_namespaces,
        optional: false,
    };
    Manifest {
        name: "nginx".into(),
        version: "1.0.0".into(),
        primary: Primary {
            kind: KindInfo::namespaced("example.com", "v1", "Nginx", "nginxes"),
            projection: Projection::Full,
            selector: String::new(),
        },
        children: vec![
            child(KindInfo::namespaced("", "v1", "ConfigMap", "configmaps")),
            child(KindInfo::namespaced("", "v1", "Service", "services")),
            child(KindInfo::namespaced("rbac.authorization.k8s.io", "v1", "Role", "roles")),
            child(KindInfo::cluster_scoped("", "v1", "Namespace", "namespaces")),
            child(KindInfo::namespaced(
                "windlass.dev",
                "v1alpha1",
                "Reconciler",
                "reconcilers",
            )),
            child(KindInfo::namespaced("example.com", "v1", "Nginx", "nginxes")),
        ],
        reads: vec![
            read(KindInfo::namespaced("", "v1", "Pod", "pods"), true),
            read(KindInfo::namespaced("", "v1", "Secret", "secrets"), false),
            read(KindInfo::cluster_scoped("", "v1", "Node", "nodes"), false),
        ],
        writes_status: true,
        writes_primary: vec![
            ".metadata.annotations".into(),
            ".spec.suspend".into(),
            ".spec.parts[*].replicas".into(),
        ],
        finalizes: true,
        needs_clock: false,
        needs_seed: false,
    }
}

fn cluster_scoped_manifest() -> Manifest {
    let mut manifest = manifest();
    manifest.primary.kind.namespaced = false;
    manifest
}

fn object(value: Value) -> Object {
    Object::from_value(value).unwrap()
}

fn primary() -> Object {
    object(json!({
        "apiVersion": "example.com/v1", "kind": "Nginx",
        "metadata": {"name": "web", "namespace": "team-a", "uid": "u-1"},
    }))
}

fn cluster_scoped_primary() -> Object {
    object(json!({"apiVersion": "example.com/v1", "kind": "Nginx", "metadata": {"name": "web", "uid": "u-1"}}))
}

fn outcome() -> Outcome {
    Outcome {
        children: crate::decision::ChildrenPlan::NoneWanted,
        primary: None,
        status: None,
        conditions: Vec::new(),
        events: Vec::new(),
        requeue_after: None,
    }
}

fn findings(manifest: &Manifest, primary: &Object, outcome: Outcome) -> Vec<Finding> {
    check(
        manifest,
        primary,
        &Decided::Outcome(Box::new(outcome)),
        &OutcomeLimits::default(),
    )
}

/// Exactly one rule is broken, by a message that contains the text; or none, where no rule is expected.
fn expect(findings: &[Finding], expected: Option<(Rule, &str)>, case: &str) {
    match (findings, expected) {
        ([], None) => {}
        ([finding], Some((rule, text))) if finding.rule == rule => {
            assert!(
                finding.message.contains(text),
                "{case}: {:?} lacks {text:?}",
                finding.message
            );
            assert!(
                finding.message.ends_with('.'),
                "{case}: {:?} is no sentence",
                finding.message
            );
        }
        (findings, expected) => panic!("{case}: {findings:?}, not {expected:?}"),
    }
}

#[test]
fn an_outcome_without_findings_is_not_rejected() {
    assert_eq!(rejected(&findings(&manifest(), &primary(), outcome())), None);
}

#[test]
fn what_is_no_answer_of_the_guest_has_no_findings() {
    let fault = Fault {
        kind: FaultKind::GuestTrapped,
        message: "trapped".into(),
    };
    for decided in [Decided::Done, Decided::Faulted(fault)] {
        assert_eq!(check(&manifest(), &primary(), &decided, &OutcomeLimits::default()), []);
    }
}

#[test]
fn proceed_is_checked_like_an_outcome() {
    let outcome = Outcome {
        status: Some(json!([])),
        ..outcome()
    };
    let decided = Decided::Proceed(Box::new(outcome));
    let findings = check(&manifest(), &primary(), &decided, &OutcomeLimits::default());
    expect(&findings, Some((Rule::StatusShape, "not a map")), "proceed");
}

#[test]
fn a_rejection_tells_three_findings_and_counts_the_rest() {
    let finding = |text: &str| Finding {
        rule: Rule::Event,
        message: text.into(),
    };
    let mut findings = vec![finding("A is wrong."), finding("B is wrong."), finding("C is wrong.")];
    let message = |findings: &[Finding]| {
        let fault = rejected(findings).unwrap();
        assert_eq!(fault.kind, FaultKind::GuestOutputRejected);
        fault.message
    };
    assert_eq!(message(&findings), "A is wrong. B is wrong. C is wrong.");
    findings.push(finding("D is wrong."));
    assert_eq!(
        message(&findings),
        "A is wrong. B is wrong. C is wrong. One more rule is broken."
    );
    findings.push(finding("E is wrong."));
    assert_eq!(
        message(&findings),
        "A is wrong. B is wrong. C is wrong. 2 more rules are broken."
    );
}

fn expect_primary<'a>(cases: impl IntoIterator<Item = (Value, Option<(Rule, &'a str)>)>) {
    for (wanted, expected) in cases {
        let primary_fields = Some(object(wanted.clone()));
        let outcome = Outcome {
            primary: primary_fields,
            ..outcome()
        };
        expect(
            &findings(&manifest(), &primary(), outcome),
            expected,
            &wanted.to_string(),
        );
    }
}

#[test]
fn fields_of_the_primary_within_what_is_declared_are_fine() {
    expect_primary([
        (json!({}), None),
        (
            json!({"apiVersion": "example.com/v1", "kind": "Nginx", "metadata": {"name": "web", "namespace": "team-a"}}),
            None,
        ),
        (
            json!({"metadata": {"annotations": {"example.com/a": "b"}}, "spec": {"suspend": true}}),
            None,
        ),
        (json!({"spec": {"suspend": {"deeper": 1}}}), None),
        (
            json!({"spec": {"parts": [{"replicas": 2}, {"replicas": 3}], "other": null}}),
            None,
        ),
        (
            json!({"metadata": {"ownerReferences": null, "uid": ""}, "status": {}}),
            None,
        ),
    ]);
}

#[test]
fn fields_of_the_primary_stay_within_what_is_declared() {
    let outside = |path: &'static str| Some((Rule::PrimaryField, path));
    expect_primary([
        (
            json!({"spec": {"parts": [{"name": "a"}]}}),
            outside("has .spec.parts[*].name, which is not within"),
        ),
        (
            json!({"spec": {"parts": {"replicas": 1}}}),
            outside(".spec.parts.replicas"),
        ),
        (json!({"spec": {"parts": 5}}), outside("has .spec.parts, ")),
        (json!({"spec": {"replicas": 1}}), outside(".spec.replicas")),
        (json!({"spec": 5}), outside("has .spec, ")),
        (json!({"spec": {}}), outside("has .spec, ")),
        (json!({"data": {"a.b": 1}}), outside("has .data, ")),
        (
            json!({"metadata": {"labels": {"a": "b"}}}),
            outside("has .metadata.labels, "),
        ),
        (
            json!({"metadata": {"ownerReferences": [{}]}}),
            outside(".metadata.ownerReferences"),
        ),
        (json!({"status": {"a": 1}}), outside("goes into the outcome's status")),
    ]);
}

#[test]
fn what_is_wanted_of_the_primary_is_the_primary_and_not_the_hosts() {
    let outside = |path: &'static str| Some((Rule::PrimaryField, path));
    expect_primary([
        (
            json!({"kind": "Nginx"}),
            outside("but the primary is a Nginx.example.com/v1"),
        ),
        (
            json!({"metadata": {"name": "other"}}),
            outside("names another object, 'other'"),
        ),
        (
            json!({"metadata": {"namespace": "team-b"}}),
            outside("names another object"),
        ),
        (
            json!({"metadata": {"annotations": {"windlass.dev/approve-prune": "x"}}}),
            Some((Rule::HostMark, "approve-prune")),
        ),
        (
            json!({"metadata": {"annotations": {"bad key": "x"}}}),
            Some((Rule::Label, "'bad key'")),
        ),
        (
            json!({"metadata": {"annotations": {"a": 5}}}),
            Some((Rule::ObjectShape, "go in quotes")),
        ),
    ]);
}
