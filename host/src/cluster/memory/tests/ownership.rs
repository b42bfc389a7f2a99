//! Shows who owns which field after which writes: the lines of the facts that were tried on the API server.

use super::*;

fn without_extra(name: &str) -> Object {
    let mut object = deployment(name);
    set(&mut object, &["metadata", "labels"], json!({"app": name}));
    object
}

fn posted(cluster: &MemoryCluster) -> impl Future<Output = Object> {
    let write = write(&deployments(), "web", "ours", Request::Create(deployment("web")));
    let cluster = cluster.clone();
    async move { send(&cluster, write).await.expect("created").expect("there") }
}

fn apply(object: Object, force: bool) -> Write {
    write(&deployments(), "web", "ours", Request::Apply { object, force })
}

fn take_over(object: &Object) -> Write {
    write(
        &deployments(),
        "web",
        "ours",
        Request::JsonPatch(vec![
            json!({"op": "test", "path": "/metadata/resourceVersion", "value": object.resource_version()}),
            json!({"op": "test", "path": "/metadata/managedFields/0/manager", "value": "ours"}),
            json!({"op": "replace", "path": "/metadata/managedFields/0/operation", "value": "Apply"}),
        ]),
    )
}

#[tokio::test]
async fn posted_fields_stay_after_a_later_apply_without_take_over() {
    let cluster = cluster();
    posted(&cluster).await;
    let object = send(&cluster, apply(without_extra("web"), false))
        .await
        .expect("applied")
        .expect("there");
    assert_eq!(object.label("extra"), Some("yes"));
    let lines = owners(&object);
    assert!(
        lines.len() == 2 && lines[0].starts_with("ours Apply") && lines[1].starts_with("ours Update"),
        "{lines:?}"
    );
}

#[tokio::test]
async fn posted_fields_go_with_the_first_apply_after_a_take_over() {
    let cluster = cluster();
    let object = posted(&cluster).await;
    let taken = send(&cluster, take_over(&object))
        .await
        .expect("patched")
        .expect("there");
    assert_eq!(owners(&taken).len(), 1);
    assert_ne!(taken.resource_version(), object.resource_version());
    let object = send(&cluster, apply(without_extra("web"), false))
        .await
        .expect("applied")
        .expect("there");
    assert_eq!(object.label("extra"), None);
    assert_eq!(object.label("app"), Some("web"));
    assert_eq!(owners(&object).len(), 1, "{:?}", owners(&object));
}

#[tokio::test]
async fn a_take_over_of_an_older_state_is_refused() {
    let cluster = cluster();
    let object = posted(&cluster).await;
    cluster.scale(&object.reference(), 5).expect("scaled");
    let error = send(&cluster, take_over(&object)).await.expect_err("refused");
    assert!(matches!(error, WriteError::Invalid(_)), "{error}");
}

#[tokio::test]
async fn a_scale_takes_replicas_from_whoever_posted_or_applied_them() {
    let cluster = cluster();
    let object = posted(&cluster).await;
    let scaled = cluster.scale(&object.reference(), 5).expect("scaled").expect("there");
    let lines = owners(&scaled);
    assert!(
        lines.iter().any(|line| line == "kubectl Update scale: .spec.replicas"),
        "{lines:?}"
    );
    assert!(
        lines
            .iter()
            .filter(|line| line.starts_with("ours"))
            .all(|line| !line.contains("replicas")),
        "{lines:?}"
    );
}

#[tokio::test]
async fn what_scale_changed_conflicts_naming_kubectl_and_the_subresource() {
    let cluster = cluster();
    let object = cluster.apply_as("ours", &deployment("web")).expect("applied");
    cluster.scale(&object.reference(), 5).expect("scaled");
    let error = send(&cluster, apply(deployment("web"), false))
        .await
        .expect_err("conflict");
    let expected = "Apply failed with 1 conflict: conflict with \"kubectl\" with subresource \"scale\" using apps/v1: \
                    .spec.replicas";
    assert_eq!(error, WriteError::Conflict(expected.into()));
}

#[tokio::test]
async fn force_takes_over_what_scale_changed() {
    let cluster = cluster();
    let object = cluster.apply_as("ours", &deployment("web")).expect("applied");
    cluster.scale(&object.reference(), 5).expect("scaled");
    let object = send(&cluster, apply(deployment("web"), true))
        .await
        .expect("applied")
        .expect("there");
    assert_eq!(object.at(&["spec", "replicas"]), Some(&json!(2)));
    assert_eq!(owners(&object).len(), 1, "{:?}", owners(&object));
}

#[tokio::test]
async fn writing_the_value_that_is_there_leaves_ownership_as_it_was() {
    let cluster = cluster();
    let object = posted(&cluster).await;
    let patched = cluster
        .patch(&object.reference(), &json!({"spec": {"replicas": 2}}))
        .expect("patched");
    assert_eq!(patched, Some(object));
}

#[tokio::test]
async fn apply_with_the_uid_of_another_object_is_refused() {
    let cluster = cluster();
    let object = posted(&cluster).await;
    let mut body = deployment("web");
    set(
        &mut body,
        &["metadata", "uid"],
        json!("00000000-0000-4000-8000-00000000ffff"),
    );
    set(&mut body, &["spec", "replicas"], json!(7));
    let error = send(&cluster, apply(body, true)).await.expect_err("refused");
    assert!(
        matches!(&error, WriteError::Invalid(text) if text.contains("metadata.uid")),
        "{error}"
    );
    assert_eq!(cluster.find(&object.reference()), Some(object));
}

#[tokio::test]
async fn a_posted_quantity_in_another_spelling_conflicts_with_its_own_poster() {
    let cluster = cluster();
    let mut body = deployment("web");
    let container = json!([{"name": "web", "image": "nginx:1", "resources": {"limits": {"cpu": "1000m"}}}]);
    set(&mut body, &["spec", "template", "spec", "containers"], container);
    let object = send(
        &cluster,
        write(&deployments(), "web", "ours", Request::Create(body.clone())),
    );
    let object = object.await.expect("created").expect("there");
    assert_eq!(
        object.0["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"],
        "1"
    );
    let error = send(&cluster, apply(body.clone(), false)).await.expect_err("conflict");
    assert!(
        matches!(&error, WriteError::Conflict(text) if text.contains("\"ours\" using apps/v1")),
        "{error}"
    );
    let forced = send(&cluster, apply(body, true))
        .await
        .expect("applied")
        .expect("there");
    assert_eq!(forced.0["spec"], object.0["spec"]);
}

#[tokio::test]
async fn managed_fields_in_a_posted_body_are_ignored() {
    let cluster = cluster();
    let mut body = config_map("one", json!({"a": "1"}));
    let entry = json!([{"manager": "other", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}}}]);
    set(&mut body, &["metadata", "managedFields"], entry);
    let object = send(&cluster, write(&config_maps(), "one", "ours", Request::Create(body))).await;
    assert_eq!(
        owners(&object.expect("created").expect("there")),
        ["ours Update : .data .data.a"]
    );
}

#[test]
fn entries_of_keyed_lists_are_owned_by_their_keys() {
    let cluster = cluster();
    let object = cluster.apply_as("ours", &deployment("web")).expect("applied");
    let lines = owners(&object).join("\n");
    assert!(
        lines.contains(".spec.template.spec.containers[name=\"web\"].image"),
        "{lines}"
    );
    assert!(
        lines.contains(".ports[containerPort=80,protocol=\"TCP\"].containerPort"),
        "{lines}"
    );
    assert!(
        lines.contains(".spec.selector") && !lines.contains("matchLabels"),
        "{lines}"
    );
}

#[test]
fn a_field_that_two_applied_stays_until_both_drop_it() {
    let cluster = cluster();
    let both = json!({"shared": "x", "mine": "y"});
    cluster.apply_as("ours", &config_map("one", both)).expect("applied");
    cluster
        .apply_as("theirs", &config_map("one", json!({"shared": "x"})))
        .expect("applied");
    let object = cluster
        .apply_as("ours", &config_map("one", json!({})))
        .expect("applied");
    assert_eq!(object.at(&["data"]), Some(&json!({"shared": "x"})));
    let object = cluster
        .apply_as("theirs", &config_map("one", json!({})))
        .expect("applied");
    assert_eq!(object.at(&["data"]).cloned().unwrap_or(json!({})), json!({}));
}

#[test]
fn conflicts_are_listed_by_manager() {
    let cluster = cluster();
    cluster
        .apply_as("first", &config_map("one", json!({"a": "1", "b": "1"})))
        .expect("applied");
    let error = cluster
        .apply_as("second", &config_map("one", json!({"a": "2", "b": "2"})))
        .expect_err("conflict");
    let expected = "Apply failed with 2 conflicts: conflicts with \"first\":\n- .data.a\n- .data.b";
    assert_eq!(error, WriteError::Conflict(expected.into()));
}
