//! Tests the reading of managedFields with entries as an API server writes them.

use super::*;

const OURS: &str = "windlass:team-a:nginx";

fn object(value: Value) -> Object {
    Object::from_value(value).unwrap()
}

/// What a guest wants, spelt unlike the server spells it, without a port's protocol.
fn intent() -> Object {
    object(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "team-a", "labels": {"app": "web"}, "annotations": {"windlass.dev/applied": "1"},
            "ownerReferences": [{"apiVersion": "demo.example.com/v1", "kind": "Nginx", "name": "web", "uid": "u1", "controller": true}]},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [{"name": "nginx", "image": "nginx:1.27", "args": ["-g", "daemon off;"], "env": [],
                        "resources": {"limits": {"cpu": "1000m"}},
                        "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}],
                        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}]}],
                    "volumes": [{"name": "tmp", "emptyDir": {}}],
                },
            },
        },
    }))
}

/// The fields that a POST of that intent owns, defaults included, as a 1.37 server records them.
fn posted_fields() -> Value {
    json!({
        "f:metadata": {
            "f:annotations": {".": {}, "f:windlass.dev/applied": {}},
            "f:labels": {".": {}, "f:app": {}},
            "f:ownerReferences": {".": {}, "k:{\"uid\":\"u1\"}": {}},
        },
        "f:spec": {
            "f:progressDeadlineSeconds": {}, "f:replicas": {}, "f:revisionHistoryLimit": {}, "f:selector": {},
            "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}, "f:maxUnavailable": {}}, "f:type": {}},
            "f:template": {
                "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                "f:spec": {
                    "f:containers": {"k:{\"name\":\"nginx\"}": {
                        ".": {}, "f:args": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {},
                        "f:ports": {".": {},
                            "k:{\"containerPort\":53,\"protocol\":\"UDP\"}": {".": {}, "f:containerPort": {}, "f:protocol": {}},
                            "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}, "f:protocol": {}}},
                        "f:resources": {".": {}, "f:limits": {".": {}, "f:cpu": {}}},
                        "f:terminationMessagePath": {}, "f:terminationMessagePolicy": {},
                        "f:volumeMounts": {".": {}, "k:{\"mountPath\":\"/tmp\"}": {".": {}, "f:mountPath": {}, "f:name": {}}},
                    }},
                    "f:dnsPolicy": {}, "f:restartPolicy": {}, "f:schedulerName": {}, "f:securityContext": {},
                    "f:terminationGracePeriodSeconds": {},
                    "f:volumes": {".": {}, "k:{\"name\":\"tmp\"}": {".": {}, "f:emptyDir": {}, "f:name": {}}},
                },
            },
        },
    })
}

fn entry(operation: &str, fields: &Value) -> Value {
    json!({"manager": OURS, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
           "time": "2026-01-01T00:00:00Z", "fieldsV1": fields})
}

fn stored(entries: &[Value]) -> Object {
    object(json!({"metadata": {"resourceVersion": "7", "managedFields": entries}}))
}

/// The posted object after others have taken a field: the node at the pointer is gone.
fn without(pointer: &str, field: &str) -> Object {
    let mut fields = posted_fields();
    fields
        .pointer_mut(pointer)
        .unwrap()
        .as_object_mut()
        .unwrap()
        .remove(field)
        .unwrap();
    stored(&[json!({}), entry("Update", &fields)])
}

fn lost(object: &Object) -> Option<String> {
    first_lost(&intent(), object, OURS)
}

#[test]
fn a_fresh_post_has_lost_nothing_however_the_server_spells_it() {
    assert_eq!(lost(&stored(&[entry("Update", &posted_fields())])), None);
}

#[test]
fn another_managers_scale_takes_the_replicas() {
    assert_eq!(
        lost(&without("/f:spec", "f:replicas")).as_deref(),
        Some(".spec.replicas")
    );
}

#[test]
fn a_field_of_a_list_element_is_missed_by_its_key() {
    let object = without(
        "/f:spec/f:template/f:spec/f:containers/k:{\"name\":\"nginx\"}",
        "f:image",
    );
    assert_eq!(
        lost(&object).as_deref(),
        Some(".spec.template.spec.containers[0].image")
    );
}

#[test]
fn a_defaulted_protocol_is_not_taken_for_the_port_that_spells_another_out() {
    let ports = "/f:spec/f:template/f:spec/f:containers/k:{\"name\":\"nginx\"}/f:ports";
    let object = without(ports, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}");
    assert_eq!(
        lost(&object).as_deref(),
        Some(".spec.template.spec.containers[0].ports[0].containerPort")
    );
    let mut twice = intent();
    let port = json!([{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}]);
    *twice.0["spec"]
        .pointer_mut("/template/spec/containers/0/ports")
        .unwrap() = port;
    let object = stored(&[entry("Update", &posted_fields())]);
    let path = ".spec.template.spec.containers[0].ports[0].containerPort";
    assert_eq!(first_lost(&twice, &object, OURS).as_deref(), Some(path));
}

#[test]
fn an_owner_reference_that_was_taken_off_is_missed() {
    let object = without("/f:metadata", "f:ownerReferences");
    assert_eq!(
        lost(&object).as_deref(),
        Some(".metadata.ownerReferences[0].apiVersion")
    );
}

/// The server writes a map of which only the existence is left like a map that is one value.
#[test]
fn the_only_entry_of_a_map_is_missed_though_the_map_itself_is_still_posted_by_us() {
    let wanted = object(json!({"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}}));
    let posted = |fields: Value| stored(&[entry("Update", &fields)]);
    assert_eq!(
        first_lost(&wanted, &posted(json!({"f:data": {".": {}, "f:a": {}}})), OURS),
        None
    );
    assert_eq!(
        first_lost(&wanted, &posted(json!({"f:data": {}})), OURS).as_deref(),
        Some(".data.a")
    );
}

#[test]
fn a_leaf_of_an_applier_covers_all_below_it() {
    let wanted = object(json!({"spec": {"anything": {"a": [1, {"b": 2}]}}}));
    assert_eq!(
        first_lost(
            &wanted,
            &stored(&[entry("Apply", &json!({"f:spec": {"f:anything": {}}}))]),
            OURS
        ),
        None
    );
    let item_only = json!({"f:spec": {"f:anything": {".": {}}}});
    assert_eq!(
        first_lost(&wanted, &stored(&[entry("Apply", &item_only)]), OURS).as_deref(),
        Some(".spec.anything.a[0]")
    );
}

#[test]
fn set_elements_and_indexes_are_found() {
    let wanted = object(json!({"metadata": {"finalizers": ["x/y"]}, "spec": {"list": ["p", "q"]}}));
    let fields = json!({"f:metadata": {"f:finalizers": {".": {}, "v:\"x/y\"": {}}}, "f:spec": {"f:list": {"i:0": {}, "i:1": {}}}});
    assert_eq!(first_lost(&wanted, &stored(&[entry("Update", &fields)]), OURS), None);
    let taken = json!({"f:metadata": {"f:finalizers": {}}, "f:spec": {"f:list": {"i:0": {}}}});
    let object = stored(&[entry("Update", &taken)]);
    assert_eq!(
        first_lost(&wanted, &object, OURS).as_deref(),
        Some(".metadata.finalizers[0]")
    );
}

#[test]
fn entries_of_others_and_of_subresources_cover_nothing() {
    let mut theirs = entry("Update", &posted_fields());
    theirs["manager"] = json!("kubectl");
    let mut status = entry("Apply", &posted_fields());
    status["subresource"] = json!("status");
    assert_eq!(
        lost(&stored(&[theirs, status])).as_deref(),
        Some(".metadata.annotations.windlass.dev/applied")
    );
}

#[test]
fn what_a_post_left_is_taken_over_at_its_own_index() {
    let object = stored(&[json!({}), entry("Update", &posted_fields())]);
    assert_eq!(entry_index_to_take_over(&object, OURS), Some(1));
    let patch = json!([
        {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "test", "path": "/metadata/managedFields/1/operation", "value": "Update"},
        {"op": "replace", "path": "/metadata/managedFields/1/operation", "value": "Apply"},
    ]);
    assert_eq!(take_over(&object, OURS).map(Value::from), Some(patch));
    assert_eq!(take_over(&stored(&[entry("Apply", &json!({}))]), OURS), None);
}

#[test]
fn fields_owned_twice_become_one_entry() {
    let update = entry("Update", &json!({"f:metadata": {"f:labels": {".": {}, "f:old": {}}}}));
    let object = stored(&[
        update,
        entry("Apply", &json!({"f:metadata": {"f:labels": {"f:new": {}}}})),
    ]);
    assert!(is_split(&object, OURS));
    let both = json!({"f:metadata": {"f:labels": {".": {}, "f:old": {}, "f:new": {}}}});
    let patch = take_over(&object, OURS).unwrap();
    assert_eq!(
        patch[2],
        json!({"op": "replace", "path": "/metadata/managedFields/1/fieldsV1", "value": both})
    );
    assert_eq!(patch[3], json!({"op": "remove", "path": "/metadata/managedFields/0"}));
}

/// A primary whose status holds `status`, of which the status manager has applied `fields`.
fn primary(status: &Value, fields: &Value) -> Object {
    let mut entry = entry("Apply", &json!({"f:status": fields}));
    entry["subresource"] = json!("status");
    object(json!({"metadata": {"managedFields": [entry]}, "status": status}))
}

fn has(wanted: &Value, object: &Object) -> bool {
    has_applied(
        &self::object(json!({"status": wanted})),
        object,
        OURS,
        Subresource::Status,
    )
}

#[test]
fn applied_means_the_same_values_and_no_field_more() {
    let live = primary(&json!({"healthy": true, "theirs": 1}), &json!({"f:healthy": {}}));
    assert!(has(&json!({"healthy": true}), &live));
    assert!(!has(&json!({"healthy": false}), &live), "a value differs");
    assert!(!has(&json!({}), &live), "a field of ours is to go");
    assert!(
        !has(&json!({"healthy": true, "theirs": 1}), &live),
        "a field is not ours"
    );
    assert!(
        has(&json!({}), &object(json!({"status": {"theirs": 1}}))),
        "nothing wanted, nothing owned"
    );
}

#[test]
fn applied_lists_are_compared_as_the_server_merges_them() {
    let atomic = primary(&json!({"urls": ["a", "b"]}), &json!({"f:urls": {}}));
    assert!(has(&json!({"urls": ["a", "b"]}), &atomic));
    assert!(!has(&json!({"urls": ["b", "a"]}), &atomic));
    let fields = json!({"f:conditions": {"k:{\"type\":\"Ready\"}": {".": {}, "f:type": {}, "f:status": {}}}});
    let keyed = primary(
        &json!({"conditions": [{"type": "Audited"}, {"type": "Ready", "status": "True", "x": 1}]}),
        &fields,
    );
    assert!(has(
        &json!({"conditions": [{"type": "Ready", "status": "True"}]}),
        &keyed
    ));
    assert!(!has(
        &json!({"conditions": [{"type": "Ready", "status": "False"}]}),
        &keyed
    ));
    assert!(!has(&json!({"conditions": []}), &keyed));
    assert_eq!(
        owned_condition_types(&keyed, OURS),
        BTreeSet::from(["Ready".to_owned()])
    );
}
