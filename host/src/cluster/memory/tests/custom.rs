//! Shows what CRDs do: serving, pruning, defaults and validation.

use super::*;

fn with_crd() -> MemoryCluster {
    let cluster = cluster();
    cluster.create(&crd()).expect("created");
    cluster
}

#[tokio::test]
async fn a_crd_is_served_at_once() {
    let cluster = cluster();
    assert_eq!(cluster.discover(&widgets().of).await, Ok(None));
    let error = cluster
        .create(&widget("one", json!({"image": "a"})))
        .expect_err("not served");
    assert_eq!(
        error,
        WriteError::NotFound("the server could not find the requested resource".into())
    );
    let crd = cluster.create(&crd()).expect("created");
    assert_eq!(crd.0["status"]["conditions"][1]["type"], "Established");
    let served = cluster
        .discover(&widgets().of)
        .await
        .expect("answered")
        .expect("served");
    assert!(served.status_subresource && served.observed_generation);
}

#[test]
fn unknown_fields_are_pruned_and_defaults_set() {
    let cluster = with_crd();
    let spec = json!({"image": "a", "unknown": 1, "nested": {"known": "b", "other": 2}, "free": {"any": {"thing": 1}}});
    let object = cluster.create(&widget("one", spec)).expect("created");
    let expected = json!({"image": "a", "replicas": 1, "nested": {"known": "b"}, "free": {"any": {"thing": 1}}});
    assert_eq!(object.at(&["spec"]), Some(&expected));
}

#[test]
fn an_apply_of_an_unknown_field_is_refused() {
    let cluster = with_crd();
    let error = cluster
        .apply_as("ours", &widget("one", json!({"image": "a", "unknown": 1})))
        .expect_err("refused");
    assert!(
        error
            .to_string()
            .contains(".spec.unknown: field not declared in schema"),
        "{error}"
    );
}

#[test]
fn wrong_values_are_refused_in_the_servers_words() {
    let cluster = with_crd();
    let refused = |spec: Value, what: &str| {
        let expected = WriteError::Invalid(format!("Widget.example.com \"one\" is invalid: {what}"));
        assert_eq!(cluster.create(&widget("one", spec)), Err(expected));
    };
    refused(json!({}), "spec.image: Required value");
    refused(
        json!({"image": "a", "replicas": "two"}),
        "spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type integer: \"string\"",
    );
    refused(
        json!({"image": "a", "replicas": 0}),
        "spec.replicas: Invalid value: 0: spec.replicas in body should be greater than or equal to 1",
    );
    refused(
        json!({"image": ""}),
        "spec.image: Invalid value: \"\": spec.image in body should be at least 1 chars long",
    );
    refused(
        json!({"image": "a", "mode": "slow"}),
        "spec.mode: Unsupported value: \"slow\": supported values: \"fast\", \"safe\"",
    );
}

#[test]
fn lists_with_keys_in_the_schema_are_shared_between_managers() {
    let cluster = with_crd();
    let parts = |names: &[&str]| {
        let parts: Vec<Value> = names.iter().map(|name| json!({"name": name, "size": 1})).collect();
        widget("one", json!({"image": "a", "parts": parts}))
    };
    cluster.apply_as("first", &parts(&["x"])).expect("applied");
    cluster.apply_as("second", &parts(&["y"])).expect("applied");
    let object = cluster.apply_as("first", &parts(&[])).expect("applied");
    assert_eq!(object.at(&["spec", "parts"]), Some(&json!([{"name": "y", "size": 1}])));
}

#[test]
fn deleting_a_crd_deletes_its_objects_and_stops_serving() {
    let cluster = with_crd();
    let object = cluster.create(&widget("one", json!({"image": "a"}))).expect("created");
    let left = cluster.delete(&crd().reference(), windlass_core::decision::Propagation::Background);
    assert_eq!(left, Ok(None));
    assert_eq!(cluster.find(&object.reference()), None);
    assert!(matches!(
        cluster.create(&widget("two", json!({"image": "a"}))),
        Err(WriteError::NotFound(_))
    ));
}

#[test]
fn loading_keeps_status_and_uids_and_collects_nothing() {
    let cluster = cluster();
    let mut owned = config_map("owned", json!({}));
    let owner = json!([{"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "elsewhere"}]);
    set(&mut owned, &["metadata", "ownerReferences"], owner);
    let mut one = widget("one", json!({"image": "a"}));
    set(&mut one, &["status"], json!({"ready": 3}));
    set(&mut one, &["metadata", "uid"], json!("given"));
    cluster.load(vec![owned.clone(), one.clone(), crd()]).expect("loaded");
    let found = cluster.find(&one.reference()).expect("there");
    assert_eq!(
        (found.uid(), found.at(&["status", "ready"])),
        ("given", Some(&json!(3)))
    );
    cluster
        .patch(&owned.reference(), &json!({"data": {"a": "b"}}))
        .expect("patched");
    assert!(cluster.find(&owned.reference()).is_some());
}

#[test]
fn an_applied_body_of_the_wrong_type_is_refused_before_it_is_merged() {
    let cluster = with_crd();
    let refused = |spec: Value, what: &str| {
        let text = format!("failed to create typed patch object (default/one; example.com/v1, Kind=Widget): {what}");
        assert_eq!(
            cluster.apply_as("ours", &widget("one", spec)),
            Err(WriteError::Invalid(text))
        );
    };
    refused(
        json!({"replicas": "two"}),
        ".spec.replicas: expected numeric (int or float), got string",
    );
    refused(
        json!({"parts": [{"name": "x"}, {"name": "x"}]}),
        ".spec.parts: duplicate entries for key [name=\"x\"]",
    );
    refused(
        json!({"image": 1}),
        ".spec.image: expected string, got &value.valueUnstructured{Value:1}",
    );
}
