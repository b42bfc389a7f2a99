//! Shows finalizers, preconditions and garbage collection.

use super::*;
use windlass_core::decision::Propagation;

fn owned_by(name: &str, owner: &Object, block: bool) -> Object {
    let mut object = config_map(name, json!({}));
    let reference = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": owner.name(), "uid": owner.uid(),
        "controller": true, "blockOwnerDeletion": block,
    }]);
    set(&mut object, &["metadata", "ownerReferences"], reference);
    object
}

fn with_finalizer(mut object: Object) -> Object {
    set(&mut object, &["metadata", "finalizers"], json!(["example.com/hold"]));
    object
}

fn release(cluster: &MemoryCluster, object: &ObjectRef) -> Option<Object> {
    cluster
        .patch(object, &json!({"metadata": {"finalizers": null}}))
        .expect("released")
}

#[test]
fn an_object_with_a_finalizer_stays_until_it_is_taken_off() {
    let cluster = cluster();
    let object = cluster.create(&with_finalizer(deployment("web"))).expect("created");
    let left = cluster
        .delete(&object.reference(), Propagation::Background)
        .expect("marked")
        .expect("there");
    assert!(left.is_being_deleted());
    assert_eq!(left.generation(), Some(2));
    let again = cluster.delete(&object.reference(), Propagation::Background);
    assert_eq!(again, Ok(Some(left)));
    let patch = json!({"metadata": {"finalizers": ["example.com/hold", "example.com/new"]}});
    let error = cluster.patch(&object.reference(), &patch).expect_err("refused");
    assert!(
        error
            .to_string()
            .contains("no new finalizers can be added if the object is being deleted"),
        "{error}"
    );
    assert_eq!(release(&cluster, &object.reference()), None);
    assert_eq!(cluster.find(&object.reference()), None);
}

#[tokio::test]
async fn a_deletion_with_another_uid_or_version_conflicts() {
    let cluster = cluster();
    let object = cluster.create(&config_map("one", json!({}))).expect("created");
    let delete = |uid: &str, resource_version: &str| {
        let (uid, resource_version) = (uid.into(), resource_version.into());
        let propagation = Propagation::Background;
        write(
            &config_maps(),
            "one",
            "",
            Request::Delete {
                uid,
                resource_version,
                propagation,
            },
        )
    };
    let error = send(&cluster, delete("other", "")).await.expect_err("refused");
    assert!(
        matches!(&error, WriteError::Conflict(text) if text.contains("the UID in the precondition (other) does not match")),
        "{error}"
    );
    let error = send(&cluster, delete(object.uid(), "0815")).await.expect_err("refused");
    assert!(
        matches!(&error, WriteError::Conflict(text) if text.contains("the ResourceVersion in the precondition (0815)")),
        "{error}"
    );
    assert_eq!(
        send(&cluster, delete(object.uid(), object.resource_version())).await,
        Ok(None)
    );
    let error = send(&cluster, delete(object.uid(), "")).await;
    assert_eq!(error, Err(WriteError::NotFound("configmaps \"one\" not found".into())));
}

#[test]
fn dependents_go_after_their_owner_and_theirs_after_them() {
    let cluster = cluster();
    let owner = cluster.create(&config_map("owner", json!({}))).expect("created");
    let child = cluster.create(&owned_by("child", &owner, false)).expect("created");
    let grandchild = cluster.create(&owned_by("grandchild", &child, false)).expect("created");
    cluster
        .delete(&owner.reference(), Propagation::Background)
        .expect("deleted");
    assert_eq!(cluster.find(&child.reference()), None);
    assert_eq!(cluster.find(&grandchild.reference()), None);
}

#[test]
fn a_dependent_with_another_owner_stays_and_forgets_the_first() {
    let cluster = cluster();
    let first = cluster.create(&config_map("first", json!({}))).expect("created");
    let second = cluster.create(&config_map("second", json!({}))).expect("created");
    let mut object = config_map("child", json!({}));
    let references = [&first, &second]
        .map(|owner| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner.name(), "uid": owner.uid()}));
    set(&mut object, &["metadata", "ownerReferences"], json!(references));
    let child = cluster.create(&object).expect("created");
    cluster
        .delete(&first.reference(), Propagation::Background)
        .expect("deleted");
    let owners = cluster.find(&child.reference()).expect("there").owner_references();
    assert_eq!(
        owners.iter().map(|owner| owner.name.as_str()).collect::<Vec<_>>(),
        ["second"]
    );
}

#[test]
fn orphans_lose_their_owner_reference_and_stay() {
    let cluster = cluster();
    let owner = cluster.create(&config_map("owner", json!({}))).expect("created");
    let child = cluster.create(&owned_by("child", &owner, true)).expect("created");
    assert_eq!(cluster.delete(&owner.reference(), Propagation::Orphan), Ok(None));
    assert_eq!(cluster.find(&child.reference()).expect("there").owner_references(), []);
}

#[test]
fn a_foreground_deletion_waits_for_dependents_that_block_it() {
    let cluster = cluster();
    let owner = cluster.create(&config_map("owner", json!({}))).expect("created");
    let child = cluster
        .create(&with_finalizer(owned_by("child", &owner, true)))
        .expect("created");
    let left = cluster
        .delete(&owner.reference(), Propagation::Foreground)
        .expect("marked")
        .expect("there");
    assert_eq!(left.finalizers().collect::<Vec<_>>(), ["foregroundDeletion"]);
    assert!(cluster.find(&child.reference()).expect("there").is_being_deleted());
    release(&cluster, &child.reference());
    assert_eq!(cluster.find(&owner.reference()), None);
}

#[test]
fn an_object_whose_owner_never_was_is_collected() {
    let cluster = cluster();
    let mut owner = config_map("owner", json!({}));
    set(
        &mut owner,
        &["metadata", "uid"],
        json!("00000000-0000-4000-8000-00000000ffff"),
    );
    let child = cluster.create(&owned_by("child", &owner, false)).expect("created");
    assert_eq!(cluster.find(&child.reference()), None);
}

#[test]
fn a_namespace_goes_when_its_content_is_gone() {
    let cluster = cluster();
    let mut held = with_finalizer(config_map("held", json!({})));
    set(&mut held, &["metadata", "namespace"], json!("team"));
    let held = cluster.create(&held).expect("created");
    let left = cluster
        .delete(&namespace("team"), Propagation::Background)
        .expect("marked")
        .expect("there");
    assert_eq!(left.at(&["status", "phase"]), Some(&json!("Terminating")));
    let mut late = config_map("late", json!({}));
    set(&mut late, &["metadata", "namespace"], json!("team"));
    assert!(matches!(cluster.create(&late), Err(WriteError::Forbidden(_))));
    release(&cluster, &held.reference());
    assert_eq!(cluster.find(&namespace("team")), None);
}
