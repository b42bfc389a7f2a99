//! Shows what of an object is stored, compared and handed on.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn object(value: Value) -> Object {
    Object::from_value(value).unwrap()
}

fn ingress() -> Object {
    object(json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": "web", "resourceVersion": "7", "managedFields": [
            {"manager": "kubectl", "fieldsV1": {"f:spec": {}}},
            {"manager": "windlass:team:web", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:metadata": {}}},
            {"manager": "windlass", "fieldsV1": {"f:status": {}}},
        ]},
        "spec": {"class": "a", "tls": [{"secretName": "s1", "hosts": ["x"]}, {"hosts": []}, "odd"], "rules": [1, 2]},
        "status": {"ready": true},
    }))
}

fn fields(paths: &[&str]) -> Projection {
    Projection::Fields(paths.iter().map(|path| (*path).into()).collect())
}

#[test]
fn only_the_declared_paths_are_kept() {
    let cases = [
        (Projection::Metadata, json!(null), json!(null)),
        (
            Projection::Full,
            ingress().at(&["spec"]).unwrap().clone(),
            json!({"ready": true}),
        ),
        (fields(&[".spec.class"]), json!({"class": "a"}), json!(null)),
        (
            fields(&[".spec.tls[*].secretName"]),
            json!({"tls": [{"secretName": "s1"}, {}]}),
            json!(null),
        ),
        (
            fields(&[".spec.tls[*].secretName", ".spec.tls"]),
            json!({"tls": ingress().at(&["spec", "tls"])}),
            json!(null),
        ),
        (
            fields(&[".spec.rules[*]", ".status.ready"]),
            json!({"rules": [1, 2]}),
            json!({"ready": true}),
        ),
        (
            fields(&[".spec.class.deeper", ".spec[*]", ".spec.tls.secretName"]),
            json!({}),
            json!(null),
        ),
        (fields(&[".spec[*]"]), json!(null), json!(null)),
        (fields(&[".none"]), json!(null), json!(null)),
    ];
    for (projection, spec, status) in cases {
        for cut in [for_store(ingress(), &projection), for_guest(&ingress(), &projection)] {
            assert_eq!(cut.at(&["spec"]).unwrap_or(&Value::Null), &spec, "{projection:?}");
            assert_eq!(cut.at(&["status"]).unwrap_or(&Value::Null), &status, "{projection:?}");
            assert_eq!((cut.name(), cut.kind()), ("web", ingress().kind()), "{projection:?}");
        }
    }
}

#[test]
fn our_managed_fields_keep_their_index_and_foreign_ones_are_dropped() {
    let stored = for_store(ingress(), &Projection::Metadata);
    let entries = stored.at(&["metadata", "managedFields"]).unwrap().as_array().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0], json!({}));
    assert_eq!(entries[1]["manager"], "windlass:team:web");
    let mut foreign = ingress();
    foreign
        .metadata_mut()
        .insert("managedFields".into(), json!([{"manager": "kubectl"}]));
    assert_eq!(
        for_store(foreign, &Projection::Full).at(&["metadata", "managedFields"]),
        None
    );
}

#[test]
fn a_guest_sees_neither_resource_version_nor_managed_fields() {
    let shown = for_guest(&ingress(), &Projection::Full);
    assert_eq!(shown.at(&["metadata"]), Some(&json!({"name": "web"})));
    assert_eq!(shown.at(&["status"]), Some(&json!({"ready": true})));
}

#[test]
fn only_what_nobody_can_ask_about_is_left_out_of_the_comparison() {
    let stored = for_store(ingress(), &Projection::Full);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut value = ingress().into_value();
        change(&mut value);
        for_store(object(value), &Projection::Full)
    };
    let same = [
        changed(&|value| value["metadata"]["resourceVersion"] = json!("8")),
        changed(&|value| value["metadata"]["managedFields"][0]["fieldsV1"] = json!({"f:data": {}})),
        changed(&|value| value["metadata"]["managedFields"][1]["time"] = json!("2026-02-02T00:00:00Z")),
        changed(&|value| drop(value["metadata"]["managedFields"].as_array_mut().unwrap().remove(0))),
    ];
    for new in same {
        assert!(unchanged(&stored, &new), "{new:?}");
    }
    let different = [
        changed(&|value| value["metadata"]["managedFields"][1]["fieldsV1"] = json!({"f:spec": {}})),
        changed(&|value| value["metadata"]["managedFields"] = json!([])),
        changed(&|value| value["metadata"]["labels"] = json!({})),
        changed(&|value| value["spec"]["class"] = json!("b")),
        changed(&|value| drop(value.as_object_mut().unwrap().remove("status"))),
        changed(&|value| drop(value.as_object_mut().unwrap().remove("metadata"))),
    ];
    for new in different {
        assert!(!unchanged(&stored, &new) && !unchanged(&new, &stored), "{new:?}");
    }
}

#[test]
fn a_projection_covers_its_paths_and_what_is_below() {
    let projection = fields(&[".spec.tls[*].secretName", ".spec.template"]);
    for path in [
        ".metadata.labels.app",
        ".kind",
        ".spec.tls[*].secretName",
        ".spec.template.spec",
    ] {
        assert!(covers(&projection, path), "{path}");
    }
    for path in [".spec", ".spec.tls", ".spec.tls[*].hosts", ".metadatas", ".status"] {
        assert!(!covers(&projection, path), "{path}");
    }
    assert!(covers(&Projection::Full, ".status"));
    assert!(!covers(&Projection::Metadata, ".spec"));
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_projection() -> impl Strategy<Value = Projection> {
    let path = prop::collection::vec(prop_oneof!["\\.[a-c]", Just("[*]".to_string())], 1..4)
        .prop_map(|steps| format!(".spec{}", steps.concat()));
    prop_oneof![
        Just(Projection::Full),
        Just(Projection::Metadata),
        prop::collection::vec(path, 0..4).prop_map(Projection::Fields),
    ]
}

proptest! {
    #[test]
    fn cutting_twice_is_cutting_once(spec in any_value(), projection in any_projection()) {
        let mut whole = ingress();
        whole.0.insert("spec".into(), spec);
        let stored = for_store(whole.clone(), &projection);
        prop_assert_eq!(&for_store(stored.clone(), &projection), &stored);
        let shown = for_guest(&whole, &projection);
        prop_assert_eq!(&for_guest(&shown, &projection), &shown);
        prop_assert_eq!(&for_guest(&stored, &projection), &shown);
    }

    #[test]
    fn every_object_is_unchanged_against_itself(spec in any_value(), metadata in any_value()) {
        let mut whole = ingress();
        whole.0.insert("spec".into(), spec);
        prop_assert!(unchanged(&whole, &whole));
        whole.0.insert("metadata".into(), metadata);
        prop_assert!(unchanged(&whole, &whole));
    }

    #[test]
    fn what_a_path_finds_is_still_found_in_its_projection(spec in any_value(), steps in prop::collection::vec(prop_oneof!["\\.[a-c]", Just("[*]".to_string())], 1..4)) {
        let path = format!(".spec{}", steps.concat());
        let mut whole = ingress();
        whole.0.insert("spec".into(), spec);
        let stored = for_store(whole.clone(), &Projection::Fields(vec![path.clone()]));
        let found = |object: &Object| {
            let mut values = Vec::new();
            crate::path::any(object, &path, &mut |value| {
                values.push(value.clone());
                false
            });
            values
        };
        prop_assert_eq!(found(&stored), found(&whole));
    }
}
