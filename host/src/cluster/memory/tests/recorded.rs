//! Holds ownership and defaults against what Kubernetes 1.37.2 answered to the same requests.

use super::*;

/// A body with most kinds of lists and maps.
fn sent() -> Object {
    object(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "labels": {"a": "b"}},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "w"}},
            "template": {
                "metadata": {"labels": {"app": "w"}},
                "spec": {
                    "containers": [{
                        "name": "web",
                        "image": "nginx:1",
                        "ports": [{"containerPort": 80}],
                        "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}},
                        "env": [{"name": "A", "value": "b"}],
                    }],
                    "volumes": [{"name": "v", "emptyDir": {}}],
                    "nodeSelector": {"a": "b"},
                    "imagePullSecrets": [{"name": "x"}],
                },
            },
        },
    }))
}

/// What the poster owned of it.
fn owned_by_the_poster() -> Value {
    json!({
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {
            "f:progressDeadlineSeconds": {},
            "f:replicas": {},
            "f:revisionHistoryLimit": {},
            "f:selector": {},
            "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}, "f:maxUnavailable": {}}, "f:type": {}},
            "f:template": {
                "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                "f:spec": {
                    "f:containers": {"k:{\"name\":\"web\"}": {
                        ".": {},
                        "f:env": {".": {}, "k:{\"name\":\"A\"}": {".": {}, "f:name": {}, "f:value": {}}},
                        "f:image": {},
                        "f:imagePullPolicy": {},
                        "f:name": {},
                        "f:ports": {".": {}, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {
                            ".": {}, "f:containerPort": {}, "f:protocol": {},
                        }},
                        "f:resources": {".": {}, "f:limits": {".": {}, "f:cpu": {}, "f:memory": {}}},
                        "f:terminationMessagePath": {},
                        "f:terminationMessagePolicy": {},
                    }},
                    "f:dnsPolicy": {},
                    "f:imagePullSecrets": {".": {}, "k:{\"name\":\"x\"}": {}},
                    "f:nodeSelector": {},
                    "f:restartPolicy": {},
                    "f:schedulerName": {},
                    "f:securityContext": {},
                    "f:terminationGracePeriodSeconds": {},
                    "f:volumes": {".": {}, "k:{\"name\":\"v\"}": {".": {}, "f:emptyDir": {}, "f:name": {}}},
                },
            },
        },
    })
}

/// What somebody owned who then applied it by force.
fn owned_by_the_applier() -> Value {
    json!({
        "f:metadata": {"f:labels": {"f:a": {}}},
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:template": {
                "f:metadata": {"f:labels": {"f:app": {}}},
                "f:spec": {
                    "f:containers": {"k:{\"name\":\"web\"}": {
                        ".": {},
                        "f:env": {"k:{\"name\":\"A\"}": {".": {}, "f:name": {}, "f:value": {}}},
                        "f:image": {},
                        "f:name": {},
                        "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}},
                        "f:resources": {"f:limits": {"f:cpu": {}, "f:memory": {}}},
                    }},
                    "f:imagePullSecrets": {"k:{\"name\":\"x\"}": {}},
                    "f:nodeSelector": {},
                    "f:volumes": {"k:{\"name\":\"v\"}": {".": {}, "f:emptyDir": {}, "f:name": {}}},
                },
            },
        },
    })
}

async fn posted() -> (MemoryCluster, Object) {
    let cluster = cluster();
    let created = send(&cluster, write(&deployments(), "web", "ours", Request::Create(sent()))).await;
    (cluster, created.expect("created").expect("there"))
}

#[tokio::test]
async fn a_posted_deployment_is_owned_as_on_the_api_server() {
    let (_, object) = posted().await;
    let entries = &object.0["metadata"]["managedFields"];
    assert_eq!(entries[0]["fieldsV1"], owned_by_the_poster());
    assert_eq!(entries[1], Value::Null);
}

#[tokio::test]
async fn a_posted_deployment_gets_the_defaults_of_the_api_server() {
    let (_, object) = posted().await;
    let spec = json!({
        "replicas": 2,
        "selector": {"matchLabels": {"app": "w"}},
        "template": {"metadata": {"labels": {"app": "w"}}, "spec": {
            "volumes": [{"name": "v", "emptyDir": {}}],
            "containers": [{
                "name": "web", "image": "nginx:1",
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "env": [{"name": "A", "value": "b"}],
                "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                "imagePullPolicy": "IfNotPresent",
            }],
            "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
            "nodeSelector": {"a": "b"}, "securityContext": {}, "imagePullSecrets": [{"name": "x"}],
            "schedulerName": "default-scheduler",
        }},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    });
    assert_eq!(object.0["spec"], spec);
}

#[tokio::test]
async fn an_apply_by_force_after_a_post_and_a_scale_leaves_the_owners_of_the_api_server() {
    let (cluster, object) = posted().await;
    cluster.scale(&object.reference(), 5).expect("scaled");
    let object = cluster.apply_by_force_as("other", &sent()).expect("applied");
    assert_eq!(object.generation(), Some(3));
    let entries = &object.0["metadata"]["managedFields"];
    assert_eq!(entries[0]["fieldsV1"], owned_by_the_applier());
    let mut left = owned_by_the_poster();
    left["f:spec"].as_object_mut().expect("a map").remove("f:replicas");
    let container = &mut left["f:spec"]["f:template"]["f:spec"]["f:containers"]["k:{\"name\":\"web\"}"];
    container["f:resources"]["f:limits"] = json!({});
    assert_eq!(entries[1]["fieldsV1"], left);
    assert_eq!(entries[2], Value::Null, "the owner of scale owns nothing any more");
}

#[tokio::test]
async fn a_posted_pod_and_service_are_owned_as_on_the_api_server() {
    let cluster = cluster();
    let pods = KindInfo::namespaced("", "v1", "Pod", "pods");
    let body = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "i"}]}});
    let pod = send(&cluster, write(&pods, "p", "ours", Request::Create(object(body)))).await;
    let pod = pod.expect("created").expect("there");
    let expected = json!({"f:spec": {
        "f:containers": {"k:{\"name\":\"a\"}": {
            ".": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {}, "f:resources": {},
            "f:terminationMessagePath": {}, "f:terminationMessagePolicy": {},
        }},
        "f:dnsPolicy": {}, "f:enableServiceLinks": {}, "f:restartPolicy": {}, "f:schedulerName": {},
        "f:securityContext": {}, "f:terminationGracePeriodSeconds": {},
    }});
    assert_eq!(pod.0["metadata"]["managedFields"][0]["fieldsV1"], expected);
    assert_eq!(pod.0["spec"]["containers"][0]["imagePullPolicy"], "Always");

    let services = KindInfo::namespaced("", "v1", "Service", "services");
    let body = json!({"metadata": {"name": "s"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}});
    let service = send(&cluster, write(&services, "s", "ours", Request::Create(object(body)))).await;
    let expected = json!({"f:spec": {
        "f:internalTrafficPolicy": {},
        "f:ports": {".": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": {
            ".": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {},
        }},
        "f:selector": {}, "f:sessionAffinity": {}, "f:type": {},
    }});
    assert_eq!(
        service.expect("created").expect("there").0["metadata"]["managedFields"][0]["fieldsV1"],
        expected
    );
}
