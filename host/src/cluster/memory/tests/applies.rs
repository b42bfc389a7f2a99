//! Shows what writes do to an object's metadata and content.

use super::*;

#[test]
fn a_new_object_gets_its_metadata() {
    let object = cluster().create(&deployment("web")).expect("created");
    assert_eq!(object.generation(), Some(1));
    assert_eq!(object.uid().len(), 36);
    assert_eq!(
        object.text_at(&["metadata", "creationTimestamp"]),
        Some("2026-01-01T00:00:00Z")
    );
    assert!(!object.resource_version().is_empty());
}

#[test]
fn what_exists_is_not_created_again() {
    let cluster = cluster();
    cluster.create(&deployment("web")).expect("created");
    assert_eq!(cluster.create(&deployment("web")), Err(WriteError::AlreadyExists));
}

#[tokio::test]
async fn a_missing_namespace_is_not_made_by_a_write_through_the_port() {
    let cluster = cluster();
    let mut write = write(
        &config_maps(),
        "one",
        "ours",
        Request::Create(object(json!({"metadata": {"name": "one"}}))),
    );
    write.target.namespace = Some("nowhere".into());
    let expected = WriteError::NotFound("namespaces \"nowhere\" not found".into());
    assert_eq!(send(&cluster, write).await, Err(expected));
}

#[test]
fn an_apply_that_changes_nothing_leaves_the_resource_version() {
    let cluster = cluster();
    let first = cluster.apply_as("ours", &deployment("web")).expect("applied");
    cluster.advance(jiff::SignedDuration::from_secs(60));
    assert_eq!(cluster.apply_as("ours", &deployment("web")), Ok(first));
}

#[test]
fn generation_counts_what_is_wanted_only() {
    let cluster = cluster();
    let object = cluster.create(&deployment("web")).expect("created");
    let reference = object.reference();
    let patched = |patch: Value| {
        cluster
            .patch(&reference, &patch)
            .expect("patched")
            .expect("there")
            .generation()
    };
    assert_eq!(patched(json!({"metadata": {"labels": {"new": "label"}}})), Some(1));
    assert_eq!(patched(json!({"status": {"replicas": 9}})), Some(1));
    assert_eq!(patched(json!({"spec": {"replicas": 9}})), Some(2));
    assert_eq!(
        patched(json!({"metadata": {"annotations": {"a": "b"}}})),
        Some(3),
        "Deployments count annotations"
    );
    assert_eq!(
        cluster.find(&reference).expect("there").at(&["status", "replicas"]),
        None
    );
}

#[tokio::test]
async fn the_status_subresource_changes_status_alone() {
    let cluster = cluster();
    let mut object = cluster.create(&deployment("web")).expect("created");
    set(&mut object, &["status"], json!({"replicas": 2}));
    set(&mut object, &["spec", "replicas"], json!(9));
    let changed = cluster.update_status(&object).expect("written").expect("there");
    assert_eq!(changed.at(&["status", "replicas"]), Some(&json!(2)));
    assert_eq!(changed.at(&["spec", "replicas"]), Some(&json!(2)));
    assert_eq!(changed.generation(), Some(1));
    assert!(
        owners(&changed)
            .iter()
            .any(|line| line.starts_with("kubectl Update status: .status"))
    );
}

#[tokio::test]
async fn two_managers_own_conditions_of_their_own() {
    let cluster = cluster();
    cluster.declare(widgets());
    cluster.create(&widget("one", json!({}))).expect("created");
    let status = |manager: &str, condition: &str| {
        let object = super::object(
            json!({"metadata": {"name": "one"}, "status": {"conditions": [{"type": condition, "status": "True"}]}}),
        );
        let mut write = write(&widgets(), "one", manager, Request::Apply { object, force: false });
        write.subresource = Subresource::Status;
        write
    };
    send(&cluster, status("first", "Ready")).await.expect("applied");
    let object = send(&cluster, status("second", "Reconciled"))
        .await
        .expect("applied")
        .expect("there");
    assert_eq!(
        object
            .at(&["status", "conditions"])
            .and_then(Value::as_array)
            .map(Vec::len),
        Some(2)
    );
    let lines = owners(&object);
    assert!(
        lines
            .iter()
            .any(|line| line.contains("first Apply status: .status.conditions[type=\"Ready\"]")),
        "{lines:?}"
    );
}

#[tokio::test]
async fn an_old_resource_version_conflicts() {
    let cluster = cluster();
    let object = cluster.create(&config_map("one", json!({"a": "1"}))).expect("created");
    cluster
        .patch(&object.reference(), &json!({"data": {"a": "2"}}))
        .expect("patched");
    let patch = json!({"metadata": {"resourceVersion": object.resource_version()}, "data": {"a": "3"}});
    let error = send(
        &cluster,
        write(&config_maps(), "one", "ours", Request::MergePatch(patch)),
    )
    .await;
    let expected = "Operation cannot be fulfilled on configmaps \"one\": the object has been modified; please apply your \
                    changes to the latest version and try again";
    assert_eq!(error, Err(WriteError::Conflict(expected.into())));
}

#[test]
fn apply_creates_what_is_missing_unless_it_names_a_uid() {
    let cluster = cluster();
    let mut body = config_map("one", json!({"a": "1"}));
    set(
        &mut body,
        &["metadata", "uid"],
        json!("00000000-0000-4000-8000-00000000ffff"),
    );
    let error = cluster.apply_as("ours", &body).expect_err("refused");
    assert!(
        matches!(&error, WriteError::Conflict(text) if text.contains("uid mismatch")),
        "{error}"
    );
    for empty in ["", "0", "77"] {
        let mut body = config_map(&format!("two{empty}"), json!({"a": "1"}));
        set(&mut body, &["metadata", "uid"], json!(""));
        set(&mut body, &["metadata", "resourceVersion"], json!(empty));
        cluster.apply_as("ours", &body).expect("created");
    }
}

#[test]
fn a_selector_is_immutable_and_matches_its_template() {
    let cluster = cluster();
    let mut object = deployment("web");
    cluster.create(&object).expect("created");
    set(
        &mut object,
        &["spec", "selector"],
        json!({"matchLabels": {"app": "other"}}),
    );
    set(
        &mut object,
        &["spec", "template", "metadata", "labels"],
        json!({"app": "other"}),
    );
    let error = cluster.apply_by_force_as("ours", &object).expect_err("refused");
    let text = "Deployment.apps \"web\" is invalid: spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"other\"}}: \
                field is immutable";
    assert_eq!(error, WriteError::Invalid(text.into()));
    set(&mut object, &["metadata", "name"], json!("new"));
    set(
        &mut object,
        &["spec", "template", "metadata", "labels"],
        json!({"app": "third"}),
    );
    let error = cluster.create(&object).expect_err("refused");
    assert!(
        error
            .to_string()
            .contains("`selector` does not match template `labels`"),
        "{error}"
    );
}

#[test]
fn names_and_labels_have_limits() {
    let cluster = cluster();
    let refused = |object: Object, what: &str| {
        let error = cluster.create(&object).expect_err("refused");
        assert!(error.to_string().contains(what), "{error}");
    };
    refused(
        config_map(&"a".repeat(254), json!({})),
        "must be no more than 253 characters",
    );
    refused(config_map("Upper", json!({})), "a lowercase RFC 1123 subdomain");
    let mut object = config_map("one", json!({}));
    set(&mut object, &["metadata", "labels"], json!({"a": "b".repeat(64)}));
    refused(object, "must be no more than 63 bytes");
}

#[test]
fn lists_merge_in_the_servers_order() {
    let cluster = cluster();
    let with = |names: &[&str]| {
        let mut object = deployment("web");
        let containers: Vec<Value> = names.iter().map(|name| json!({"name": name, "image": "i"})).collect();
        set(
            &mut object,
            &["spec", "template", "spec", "containers"],
            json!(containers),
        );
        object
    };
    cluster.apply_as("first", &with(&["a", "b", "c"])).expect("applied");
    let object = cluster.apply_as("second", &with(&["c", "a", "d"])).expect("applied");
    let containers = object
        .at(&["spec", "template", "spec", "containers"])
        .and_then(Value::as_array);
    let names: Vec<_> = containers
        .into_iter()
        .flatten()
        .map(|container| container["name"].clone())
        .collect();
    assert_eq!(names, ["b", "c", "a", "d"]);
}
