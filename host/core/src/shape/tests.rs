//! Tests what is taken for one value and what for two entries of one name.

use super::*;

fn found(of: (&str, &str, &str), object: &Value) -> Vec<String> {
    let kind = KindRef::new(of.0, of.1, of.2);
    duplicates(object, Shape::of_kind(&kind))
}

fn pod(container: &Value) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [container]}}}})
}

const DEPLOYMENT: (&str, &str, &str) = ("apps", "v1", "Deployment");

#[test]
fn b_08_entries_of_one_key_are_named_by_it() {
    let env = json!({"name": "nginx", "env": [{"name": "FOO", "value": "1"}, {"name": "BAR"}, {"name": "FOO", "value": "1"}]});
    let path = "spec.template.spec.containers[name=nginx]";
    assert_eq!(found(DEPLOYMENT, &pod(&env)), [format!("{path}.env[name=FOO]")]);
    let ports = json!({"name": "nginx", "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]});
    assert_eq!(
        found(DEPLOYMENT, &pod(&ports)),
        [format!("{path}.ports[containerPort=80,protocol=TCP]")]
    );
    let mounts =
        json!({"name": "nginx", "volumeMounts": [{"mountPath": "/a", "name": "v"}, {"mountPath": "/a", "name": "w"}]});
    assert_eq!(
        found(DEPLOYMENT, &pod(&mounts)),
        [format!("{path}.volumeMounts[mountPath=/a]")]
    );
    let spec = json!({"spec": {"ports": [{"port": 53}, {"port": 53, "protocol": "TCP"}]}});
    assert_eq!(
        found(("", "v1", "Service"), &spec),
        ["spec.ports[port=53,protocol=TCP]"]
    );
}

#[test]
fn b_08_what_differs_in_one_of_its_keys_is_no_duplicate() {
    let dns = json!({"name": "dns", "ports": [{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}],
                     "volumeMounts": [{"mountPath": "/a", "name": "v"}, {"mountPath": "/b", "name": "v"}],
                     "args": ["-v", "-v"], "envFrom": [{"prefix": "a"}, {"prefix": "a"}]});
    assert_eq!(found(DEPLOYMENT, &pod(&dns)), [""; 0]);
}

#[test]
fn b_08_sets_and_owner_references_have_each_entry_once() {
    let owner = json!({"uid": "u", "name": "a"});
    let object = json!({"metadata": {"finalizers": ["a/b", "a/c", "a/b"], "ownerReferences": [owner, owner]}});
    let expected = ["metadata.finalizers[=a/b]", "metadata.ownerReferences[uid=u]"];
    assert_eq!(found(("example.com", "v1", "Any"), &object), expected);
    let template = json!({"spec": {"template": {"metadata": {"finalizers": ["a/b", "a/b"]}}}});
    assert_eq!(
        found(DEPLOYMENT, &template),
        ["spec.template.metadata.finalizers[=a/b]"]
    );
}

#[test]
fn kinds_of_other_groups_are_not_taken_for_builtin_ones_of_their_name() {
    let spec = json!({"spec": {"ports": [{"port": 53}, {"port": 53}], "containers": [{"name": "a"}, {"name": "a"}]}});
    for group in ["serving.knative.dev", "gateway.networking.k8s.io"] {
        assert_eq!(found((group, "v1", "Service"), &spec), [""; 0], "{group}");
    }
}

#[test]
fn an_answer_that_is_one_long_list_of_the_same_is_told_in_a_few_words() {
    let ports: Vec<Value> = (0..20_000).map(|number| json!({"containerPort": number / 2})).collect();
    let found = found(DEPLOYMENT, &pod(&json!({"name": "a", "ports": ports})));
    assert_eq!(found.len(), MAX_DUPLICATES);
}

#[test]
fn keys_that_people_chose_are_not_taken_for_fields() {
    let kind = KindRef::new("", "v1", "ConfigMap");
    for name in ["data", "labels", "limits"] {
        let place = Shape::of_kind(&kind).field("data").field(name);
        assert_eq!(place.wanted_type(), None, "{name}");
    }
}

#[test]
fn one_value_is_only_what_is_known_to_be_one() {
    let kind = KindRef::new("apps", "v1", "Deployment");
    let spec = Shape::of_kind(&kind).field("spec");
    assert!(spec.field("selector").is_one_value(&json!({"matchLabels": {}})));
    assert!(!spec.field("template").is_one_value(&json!({"spec": {}})));
    let container = spec.field("template").field("spec").field("containers").item();
    assert!(container.field("args").is_one_value(&json!(["-v"])));
    assert!(!container.field("env").is_one_value(&json!([{"name": "A"}])));
    let other = KindRef::new("example.com", "v1", "Deployment");
    let spec = Shape::of_kind(&other).field("spec");
    assert!(!spec.field("selector").is_one_value(&json!({"matchLabels": {}})));
    assert!(!spec.field("args").is_one_value(&json!(["-v"])));
    assert!(spec.field("replicas").is_one_value(&json!(1)));
}
