//! Shows the rules for children.

use super::*;
use crate::decision::{ChildrenPlan, DesiredChild, Propagation, WantedChild, WriteMode};
use crate::kind::{KindRef, ObjectRef};

fn want(object: Object) -> DesiredChild {
    let (mode, propagation) = (WriteMode::Apply, Propagation::Background);
    DesiredChild::Want(Box::new(WantedChild {
        object,
        mode,
        propagation,
        retain: false,
    }))
}

fn exactly(entries: Vec<DesiredChild>) -> Outcome {
    Outcome {
        children: ChildrenPlan::Exactly(entries),
        ..outcome()
    }
}

/// A good ConfigMap over which some fields are laid.
fn config_map(changes: &Value) -> Object {
    let mut value = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}});
    merge(&mut value, changes);
    object(value)
}

fn merge(value: &mut Value, changes: &Value) {
    match (value, changes) {
        (Value::Object(map), Value::Object(changes)) => {
            for (key, change) in changes {
                merge(map.entry(key).or_insert(Value::Null), change);
            }
        }
        (value, changes) => *value = changes.clone(),
    }
}

fn expect_each<'a>(cases: impl IntoIterator<Item = (Value, Option<(Rule, &'a str)>)>) {
    for (changes, expected) in cases {
        let outcome = exactly(vec![want(config_map(&changes))]);
        let findings = findings(&manifest(), &primary(), outcome);
        expect(&findings, expected, &changes.to_string());
    }
}

#[test]
fn a_good_child_has_no_findings() {
    let metadata = |value: Value| json!({"metadata": value});
    expect_each([
        (json!({}), None),
        (
            metadata(json!({"namespace": "team-a", "labels": {"app": "web"}, "annotations": {"a/b": "any text"}})),
            None,
        ),
        (metadata(json!({"namespace": ""})), None),
        (
            metadata(json!({"creationTimestamp": null, "generateName": "", "uid": "", "generation": 0})),
            None,
        ),
        // As in an object that the guest was shown.
        (
            metadata(
                json!({"uid": "x", "resourceVersion": "1", "generation": 9, "managedFields": [],
                            "creationTimestamp": "2026-01-01T00:00:00Z"}),
            ),
            None,
        ),
        (json!({"status": {"replicas": 0, "conditions": []}}), None),
        (
            json!({"kind": "Role", "apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "system:web"}}),
            None,
        ),
        (
            json!({"kind": "Nginx", "apiVersion": "example.com/v1", "metadata": {"name": "other"}}),
            None,
        ),
    ]);
}

#[test]
fn a_child_is_of_a_declared_kind_named_and_in_its_primarys_namespace() {
    let long = "n".repeat(254);
    let metadata = |value: Value| json!({"metadata": value});
    expect_each([
        (
            json!({"kind": "Pod"}),
            Some((
                Rule::ChildKind,
                "Child 1 (Pod web) is a Pod.v1, which the guest's manifest does not declare",
            )),
        ),
        (
            json!({"apiVersion": "v2"}),
            Some((
                Rule::ChildKind,
                "is of version v2, but the guest's manifest declares ConfigMap.v1",
            )),
        ),
        (
            json!({"kind": null}),
            Some((Rule::ObjectShape, "Child 1 (an object without a kind) has no kind")),
        ),
        (
            json!({"kind": "Reconciler", "apiVersion": "windlass.dev/v1alpha1"}),
            Some((Rule::HostMark, "group windlass.dev")),
        ),
        (
            json!({"metadata": {"name": null}}),
            Some((
                Rule::ChildName,
                "Child 1 (a ConfigMap without a name) has no metadata.name",
            )),
        ),
        (
            metadata(json!({"name": "", "generateName": "web-"})),
            Some((Rule::ChildName, "names must be deterministic")),
        ),
        (
            metadata(json!({"name": "Web"})),
            Some((Rule::ChildName, "'Web', which must be an RFC 1123 subdomain")),
        ),
        (
            metadata(json!({"name": long})),
            Some((Rule::ChildName, "at most 253 characters")),
        ),
        (
            json!({"kind": "Service", "metadata": {"name": "a.b"}}),
            Some((Rule::ChildName, "RFC 1123 label")),
        ),
        (
            metadata(json!({"namespace": "team-b"})),
            Some((Rule::ChildNamespace, "is in namespace 'team-b'; a primary in 'team-a'")),
        ),
        (
            json!({"kind": "Namespace"}),
            Some((Rule::ChildNamespace, "is cluster-scoped")),
        ),
    ]);
}

#[test]
fn a_child_is_neither_its_primary_nor_of_a_wrong_shape() {
    let metadata = |value: Value| json!({"metadata": value});
    expect_each([
        (
            json!({"kind": "Nginx", "apiVersion": "example.com/v1"}),
            Some((Rule::ChildIsPrimary, "is the primary itself")),
        ),
        (
            metadata(json!({"labels": {"port": 80}})),
            Some((Rule::ObjectShape, "numbers and booleans go in quotes")),
        ),
        (
            metadata(json!({"labels": ["a"]})),
            Some((Rule::ObjectShape, "not a map of texts")),
        ),
        (
            metadata(json!({"finalizers": [5]})),
            Some((Rule::ObjectShape, "not a list of texts")),
        ),
        (
            metadata(json!({"namespace": 5})),
            Some((Rule::ObjectShape, "metadata.namespace that is not a text")),
        ),
    ]);
}

#[test]
fn what_others_set_is_not_set_by_a_guest() {
    let metadata = |value: Value| json!({"metadata": value});
    expect_each([
        (
            metadata(json!({"ownerReferences": [{"name": "x"}]})),
            Some((Rule::HostField, "metadata.ownerReferences")),
        ),
        (
            metadata(json!({"ownerReferences": []})),
            Some((Rule::HostField, "metadata.ownerReferences")),
        ),
        (
            json!({"status": {"replicas": 1}}),
            Some((Rule::HostField, "has a status")),
        ),
    ]);
}

#[test]
fn labels_annotations_and_finalizers_are_valid_and_not_the_hosts() {
    let long_value = "v".repeat(64);
    let metadata = |value: Value| json!({"metadata": value});
    expect_each([
        (
            metadata(json!({"labels": {"windlass.dev/primary-uid": "u"}})),
            Some((Rule::HostMark, "'windlass.dev/primary-uid' in metadata.labels")),
        ),
        (
            metadata(json!({"annotations": {"windlass.dev/applied": "x"}})),
            Some((Rule::HostMark, "metadata.annotations")),
        ),
        // A child that would be a module of its own, or the Reconciler of one, or agree to be used by one.
        (
            metadata(json!({"labels": {"windlass.dev/module": "true"}})),
            Some((Rule::HostMark, "'windlass.dev/module' in metadata.labels")),
        ),
        (
            metadata(json!({"labels": {"windlass.dev/drop-in": "true"}})),
            Some((Rule::HostMark, "'windlass.dev/drop-in' in metadata.labels")),
        ),
        (
            metadata(json!({"labels": {"windlass.dev/kept-module": "true"}})),
            Some((Rule::HostMark, "'windlass.dev/kept-module' in metadata.labels")),
        ),
        (
            metadata(json!({"annotations": {"windlass.dev/reconcilers": "nginx"}})),
            Some((Rule::HostMark, "'windlass.dev/reconcilers' in metadata.annotations")),
        ),
        (
            metadata(json!({"annotations": {"windlass.dev/approve-prune": "x"}})),
            Some((Rule::HostMark, "'windlass.dev/approve-prune' in metadata.annotations")),
        ),
        (
            metadata(json!({"finalizers": ["a.b.reconciler.windlass.dev/finalize"]})),
            Some((Rule::HostMark, "the finalizer")),
        ),
        (
            metadata(json!({"finalizers": ["windlass.dev/release"]})),
            Some((Rule::HostMark, "the finalizer")),
        ),
        (
            metadata(json!({"labels": {"app": long_value}})),
            Some((Rule::Label, "must be a label value: empty, or at most 63")),
        ),
        (
            metadata(json!({"labels": {"a b": "x"}})),
            Some((Rule::Label, "the key 'a b' in metadata.labels")),
        ),
        (
            metadata(json!({"annotations": {"/a": "x"}})),
            Some((Rule::Label, "in metadata.annotations")),
        ),
    ]);
}

#[test]
fn a_cluster_scoped_primary_has_children_anywhere_but_must_say_where() {
    let namespace = |name: Value| json!({"metadata": {"namespace": name}});
    let cases = [
        (namespace(json!("team-b")), None),
        (json!({}), Some((Rule::ChildNamespace, "has no namespace"))),
        (namespace(json!("Team")), Some((Rule::ChildNamespace, "RFC 1123 label"))),
        (json!({"kind": "Namespace"}), None),
        (
            json!({"kind": "Namespace", "metadata": {"namespace": "x"}}),
            Some((Rule::ChildNamespace, "cannot have a namespace")),
        ),
    ];
    for (changes, expected) in cases {
        let outcome = exactly(vec![want(config_map(&changes))]);
        let findings = findings(&cluster_scoped_manifest(), &cluster_scoped_primary(), outcome);
        expect(&findings, expected, &changes.to_string());
    }
}

#[test]
fn the_set_is_not_empty_not_too_large_and_names_nothing_twice() {
    let one = || want(config_map(&json!({})));
    let same = || want(config_map(&json!({"metadata": {"namespace": "team-a"}})));
    let held = || {
        let of = KindRef::new("", "v1", "ConfigMap");
        DesiredChild::Hold(ObjectRef {
            of,
            namespace: None,
            name: "web".into(),
        })
    };
    let many = |count: usize| {
        (0..count)
            .map(|n| want(config_map(&json!({"metadata": {"name": format!("c{n}")}}))))
            .collect()
    };
    let twice = Some((Rule::ChildTwice, "Child 2 (ConfigMap"));
    let cases = [
        ("empty", Vec::new(), Some((Rule::ChildrenEmpty, "says none-wanted"))),
        ("256", many(256), None),
        (
            "257",
            many(257),
            Some((Rule::ChildrenCount, "There are 257 children; at most 256")),
        ),
        ("twice", vec![one(), one()], twice),
        ("twice, once with the namespace", vec![one(), same()], twice),
        ("wanted and held", vec![one(), held()], twice),
        ("held", vec![held()], None),
    ];
    for (case, entries, expected) in cases {
        expect(&findings(&manifest(), &primary(), exactly(entries)), expected, case);
    }
}

#[test]
fn what_is_held_obeys_the_rules_of_kind_name_and_namespace() {
    let held = |kind: &str, namespace: Option<&str>, name: &str| {
        let of = KindRef::new("", "v1", kind);
        DesiredChild::Hold(ObjectRef {
            of,
            namespace: namespace.map(Into::into),
            name: name.into(),
        })
    };
    let cases = [
        (held("Pod", None, "web"), Rule::ChildKind),
        (held("ConfigMap", Some("team-b"), "web"), Rule::ChildNamespace),
        (held("ConfigMap", None, ""), Rule::ChildName),
    ];
    for (entry, rule) in cases {
        expect(
            &findings(&manifest(), &primary(), exactly(vec![entry])),
            Some((rule, "Child 1")),
            "held",
        );
    }
}

#[test]
fn an_answer_that_breaks_a_rule_at_every_label_does_not_fill_the_memory() {
    let labels: serde_json::Map<String, Value> = (0..10_000).map(|n| (format!("bad key {n}"), json!("x"))).collect();
    let outcome = exactly(vec![want(config_map(&json!({"metadata": {"labels": labels}})))]);
    let findings = findings(&manifest(), &primary(), outcome);
    assert_eq!(findings.len(), 100);
    assert!(
        rejected(&findings)
            .unwrap()
            .message
            .ends_with("97 more rules are broken.")
    );
}

#[test]
fn long_and_odd_names_are_cut_in_messages() {
    let name = format!("a\nb{}", "x".repeat(100_000));
    let outcome = exactly(vec![want(config_map(&json!({"metadata": {"name": name}})))]);
    let message = &findings(&manifest(), &primary(), outcome)[0].message;
    assert!(
        message.len() < 600 && !message.contains('\n') && message.contains("a?bxxx"),
        "{message}"
    );
}

#[test]
fn b_08_an_entry_that_a_list_has_twice_is_named_by_its_key_and_no_write_is_planned() {
    let deployment = |container: Value| json!({"kind": "Deployment", "apiVersion": "apps/v1", "spec": {"template": {"spec": {"containers": [container]}}}});
    let env = json!({"name": "nginx", "env": [{"name": "FOO"}, {"name": "FOO"}]});
    let dns = json!({"name": "dns", "ports": [{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}]});
    let outcome = |container: Value| exactly(vec![want(config_map(&deployment(container)))]);
    let mut manifest = manifest();
    let mut deployments = manifest.children[0].clone();
    deployments.kind = crate::kind::KindInfo::namespaced("apps", "v1", "Deployment", "deployments");
    manifest.children.push(deployments);
    let path = "spec.template.spec.containers[name=nginx].env[name=FOO] more than once";
    expect(
        &findings(&manifest, &primary(), outcome(env)),
        Some((Rule::ListTwice, path)),
        "env",
    );
    expect(&findings(&manifest, &primary(), outcome(dns)), None, "ports");
    expect_each([(
        json!({"metadata": {"finalizers": ["a/b", "a/b"]}}),
        Some((Rule::ListTwice, "metadata.finalizers[=a/b]")),
    )]);
}
