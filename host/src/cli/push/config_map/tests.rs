//! Shows what is written for a module, and what becomes of what was there.

use super::*;
use crate::cli::person::MANAGER;

fn id() -> ReconcilerId {
    ReconcilerId::new("team-a", "nginx")
}

fn found(value: Value) -> Object {
    let mut object = Object::from_value(value).unwrap();
    object.0.insert("kind".into(), "ConfigMap".into());
    object.metadata_mut().insert("name".into(), "nginx".into());
    object.metadata_mut().insert("uid".into(), "u".into());
    object.metadata_mut().insert("resourceVersion".into(), "7".into());
    object
}

fn held(manager: &str, operation: &str, section: &str, key: &str) -> Value {
    json!({"manager": manager, "operation": operation, "fieldsV1": {format!("f:{section}"): {format!("f:{key}"): {}}}})
}

#[test]
fn one_config_map_holds_a_module_that_fits() {
    let object = whole(&id(), "d", "module.wasm.gz", b"abc").into_value();
    let wanted = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": "team-a", "name": "nginx", "annotations": {"windlass.dev/digest": "d"}},
        "binaryData": {"module.wasm.gz": "YWJj"},
    });
    assert_eq!(object, wanted);
}

#[test]
fn parts_are_named_by_an_index_that_the_host_can_read() {
    let names: Vec<String> = (0..2).map(|number| part_name(&id(), number)).collect();
    assert_eq!(names, ["nginx-part-0", "nginx-part-1"]);
    let object = part(&id(), "d", "module.wasm.gz", (1, 2), b"abc").into_value();
    let wanted = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "namespace": "team-a", "name": "nginx-part-1", "labels": {"windlass.dev/part-of": "nginx"},
            "annotations": {"windlass.dev/digest": "d", "windlass.dev/parts": "2"},
        },
        "binaryData": {"module.wasm.gz.1": "YWJj"},
    });
    assert_eq!(object, wanted);
    let object = index(&id(), "d", "module.wasm.gz", &names).unwrap();
    assert_eq!(object.at(&["binaryData"]), None);
    let index: Index = serde_saphyr::from_str(object.text_at(&["data", "index.yaml"]).unwrap()).unwrap();
    assert_eq!(index.digest, "d");
    let parts: Vec<_> = index
        .parts
        .iter()
        .map(|part| (part.name.as_str(), part.key.as_deref()))
        .collect();
    assert_eq!(
        parts,
        [
            ("nginx-part-0", Some("module.wasm.gz.0")),
            ("nginx-part-1", Some("module.wasm.gz.1"))
        ]
    );
}

#[test]
fn keys_of_modules_are_told_from_others() {
    for key in ["module.wasm", "a.wasm.gz", "a.wasm.zst", "a.wasm.0", "a.wasm.gz.12"] {
        assert!(is_module(BINARY, key), "{key}");
        assert!(!is_module(DATA, key), "{key}");
    }
    for key in ["logo.png", "wasm", "a.wasm.", "a.wasm.gz.1a", "a.wasm1", "12"] {
        assert!(!is_module(BINARY, key), "{key}");
    }
    assert!(is_module(DATA, "index.yaml") && !is_module(DATA, "settings.yaml"));
}

#[test]
fn what_is_no_module_is_not_overwritten() {
    let other = found(json!({"data": {"config.toml": "a = 1"}}));
    let Err(error) = Found::new(Some(&other)) else {
        panic!("it was taken for a module");
    };
    assert!(
        error.contains("ConfigMap nginx is there and holds no module, but config.toml"),
        "{error}"
    );
    for module in [
        json!({}),
        json!({"binaryData": {"nginx.wasm": "AA=="}, "data": {"settings.yaml": "a: 1"}}),
        json!({"data": {"index.yaml": ""}}),
        json!({"data": {"settings.yaml": "a: 1"}, "metadata": {"labels": {"windlass.dev/module": "true"}}}),
    ] {
        let module = found(module);
        assert!(Found::new(Some(&module)).is_ok(), "{module:?}");
    }
}

#[test]
fn room_is_what_else_is_there() {
    let there = found(json!({"binaryData": {"a.wasm": "AAAA", "logo": "AAAA"}, "data": {"settings.yaml": "12345"}}));
    assert_eq!(Found::new(Some(&there)).unwrap().bytes_beside, 8);
    assert_eq!(Found::new(None).unwrap().bytes_beside, 0);
}

#[test]
fn what_somebody_else_put_there_is_replaced_in_one_request_and_said() {
    let there = found(json!({
        "metadata": {"managedFields": [held("kubectl-create", "Update", "binaryData", "nginx.wasm")]},
        "binaryData": {"nginx.wasm": "AAAA"}, "data": {"settings.yaml": "a: 1"},
    }));
    let wanted = whole(&id(), "d", "module.wasm.gz", b"abc");
    let (patch, notes) = Found::new(Some(&there)).unwrap().replacement(&wanted);
    let patched = json!({
        "metadata": {"uid": "u", "resourceVersion": "7"},
        "binaryData": {"nginx.wasm": null, "module.wasm.gz": "YWJj"},
    });
    assert_eq!(patch, Some(patched));
    assert_eq!(notes, ["nginx.wasm, which kubectl-create put there, is removed"]);
}

#[test]
fn what_our_own_apply_put_there_needs_no_patch() {
    let there = found(json!({
        "metadata": {"managedFields": [held(MANAGER, "Apply", "binaryData", "module.wasm.gz")]},
        "binaryData": {"module.wasm.gz": "AAAA"},
    }));
    let found_it = Found::new(Some(&there)).unwrap();
    let names = [part_name(&id(), 0)];
    for wanted in [
        whole(&id(), "d", "module.wasm.gz", b"abc"),
        index(&id(), "d", "module.wasm.gz", &names).unwrap(),
    ] {
        assert_eq!(found_it.replacement(&wanted), (None, Vec::new()));
    }
    let edited = found(json!({
        "metadata": {"managedFields": [held("kubectl-edit", "Update", "binaryData", "module.wasm.gz")]},
        "binaryData": {"module.wasm.gz": "AAAA"},
    }));
    let wanted = whole(&id(), "d", "module.wasm.gz", b"abc");
    let (patch, notes) = Found::new(Some(&edited)).unwrap().replacement(&wanted);
    assert_eq!(patch, None, "force takes it over");
    assert_eq!(notes, ["module.wasm.gz, which kubectl-edit put there, is replaced"]);
}
