//! Compares requests with what the API server documents.

use super::*;
use windlass_core::object::Object;

fn deployments() -> KindInfo {
    KindInfo::namespaced("apps", "v1", "Deployment", "deployments")
}

fn account() -> Identity {
    Identity::ServiceAccount {
        namespace: "team-a".into(),
        name: "nginx".into(),
    }
}

fn object() -> Object {
    Object::from_value(json!({"metadata": {"name": "web"}})).unwrap()
}

fn a_write(kind: KindInfo, subresource: Subresource, request: write::Request) -> Write {
    let target = Target {
        kind,
        namespace: Some("team-a".into()),
        name: "web".into(),
    };
    Write {
        identity: account(),
        target,
        subresource,
        manager: "windlass:team-a:nginx".into(),
        request,
    }
}

fn key(selector: &str, projection: Projection) -> WatchKey {
    WatchKey {
        kind: deployments(),
        namespace: None,
        selector: selector.into(),
        projection,
    }
}

#[test]
fn every_write_should_become_exactly_one_request() {
    let delete = |uid: &str, version: &str, propagation| write::Request::Delete {
        uid: uid.into(),
        resource_version: version.into(),
        propagation,
    };
    let web = "/apis/apps/v1/namespaces/team-a/deployments/web";
    let manager = "fieldManager=windlass:team-a:nginx";
    let table = [
        (
            Subresource::None,
            write::Request::Create(object()),
            format!("POST /apis/apps/v1/namespaces/team-a/deployments?{manager}&fieldValidation=Strict"),
            "application/json",
            json!({"metadata": {"name": "web"}}),
        ),
        (
            Subresource::None,
            write::Request::Apply {
                object: object(),
                force: true,
            },
            format!("PATCH {web}?{manager}&force=true&fieldValidation=Strict"),
            "application/apply-patch+yaml",
            json!({"metadata": {"name": "web"}}),
        ),
        (
            Subresource::Status,
            write::Request::Apply {
                object: object(),
                force: false,
            },
            format!("PATCH {web}/status?{manager}&force=false&fieldValidation=Strict"),
            "application/apply-patch+yaml",
            json!({"metadata": {"name": "web"}}),
        ),
        (
            Subresource::None,
            write::Request::JsonPatch(vec![json!({"op": "remove", "path": "/metadata/finalizers/0"})]),
            format!("PATCH {web}?{manager}"),
            "application/json-patch+json",
            json!([{"op": "remove", "path": "/metadata/finalizers/0"}]),
        ),
        (
            Subresource::Status,
            write::Request::MergePatch(json!({"status": {"ready": true}})),
            format!("PATCH {web}/status?{manager}&fieldValidation=Strict"),
            "application/merge-patch+json",
            json!({"status": {"ready": true}}),
        ),
        (
            Subresource::None,
            delete("u-1", "7", Propagation::Foreground),
            format!("DELETE {web}"),
            "application/json",
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground",
                "preconditions": {"uid": "u-1", "resourceVersion": "7"}}),
        ),
        (
            Subresource::None,
            delete("u-1", "", Propagation::Orphan),
            format!("DELETE {web}"),
            "application/json",
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Orphan",
                "preconditions": {"uid": "u-1"}}),
        ),
    ];
    for (subresource, request, line, content_type, body) in table {
        let sent = write(&a_write(deployments(), subresource, request)).unwrap();
        assert_eq!(format!("{} {}", sent.method(), sent.uri()), line);
        assert_eq!(sent.headers()["content-type"], content_type, "{line}");
        assert_eq!(
            sent.headers()["impersonate-user"],
            "system:serviceaccount:team-a:nginx",
            "{line}"
        );
        assert_eq!(serde_json::from_slice::<Value>(sent.body()).unwrap(), body, "{line}");
    }
}

#[test]
fn the_host_should_impersonate_nobody() {
    let mut create = a_write(deployments(), Subresource::None, write::Request::Create(object()));
    create.identity = Identity::Host;
    assert!(!write(&create).unwrap().headers().contains_key("impersonate-user"));
}

#[test]
fn an_account_that_breaks_the_header_should_be_refused() {
    let mut create = a_write(deployments(), Subresource::None, write::Request::Create(object()));
    create.identity = Identity::ServiceAccount {
        namespace: "a".into(),
        name: "b\r\nImpersonate-Group: c".into(),
    };
    assert!(matches!(write(&create), Err(RequestError::Identity(..))));
}

#[test]
fn paths_should_follow_group_and_scope() {
    let table = [
        (
            KindInfo::namespaced("", "v1", "Pod", "pods"),
            Some("a"),
            "/api/v1/namespaces/a/pods/x",
        ),
        (
            KindInfo::cluster_scoped("", "v1", "Node", "nodes"),
            None,
            "/api/v1/nodes/x",
        ),
        (
            KindInfo::cluster_scoped("", "v1", "Node", "nodes"),
            Some("a"),
            "/api/v1/nodes/x",
        ),
        (
            KindInfo::cluster_scoped("g.io", "v2", "Thing", "things"),
            None,
            "/apis/g.io/v2/things/x",
        ),
    ];
    for (kind, namespace, path) in table {
        let target = Target {
            kind,
            namespace: namespace.map(Into::into),
            name: "x".into(),
        };
        assert_eq!(get(&target).unwrap().uri(), path);
    }
}

#[test]
fn a_name_that_would_change_the_path_should_be_refused() {
    for name in ["", ".", "..", "a/b", "a%2Fb"] {
        let target = Target {
            kind: deployments(),
            namespace: Some("a".into()),
            name: name.into(),
        };
        assert!(matches!(get(&target), Err(RequestError::Name(_))), "{name}");
        let target = Target {
            kind: deployments(),
            namespace: Some(name.into()),
            name: "a".into(),
        };
        assert!(matches!(get(&target), Err(RequestError::Name(_))), "{name}");
    }
}

#[test]
fn names_with_colons_should_stay_and_everything_else_be_encoded() {
    let kind = KindInfo::cluster_scoped("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles");
    let target = Target {
        kind,
        namespace: None,
        name: "system:a b?c".into(),
    };
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:a%20b%3Fc";
    assert_eq!(get(&target).unwrap().uri().to_string(), path);
}

#[test]
fn lists_should_be_paged_and_selected() {
    let request = list(&key("a in (b,c),!d", Projection::Full), Some(500), "t=").unwrap();
    let path = "/apis/apps/v1/deployments?labelSelector=a%20in%20%28b%2Cc%29%2C%21d&limit=500&continue=t%3D";
    assert_eq!(request.uri().to_string(), path);
    assert_eq!(request.headers()["accept"], "application/json");
    assert_eq!(
        list(&key("", Projection::Full), None, "").unwrap().uri(),
        "/apis/apps/v1/deployments"
    );
}

#[test]
fn metadata_should_be_asked_for_as_metadata() {
    let accept = list(&key("", Projection::Metadata), None, "").unwrap().headers()["accept"].clone();
    assert!(
        accept
            .to_str()
            .unwrap()
            .starts_with("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
    );
    let accept = watch(&key("", Projection::Metadata), "7", 250).unwrap().headers()["accept"].clone();
    assert!(
        accept
            .to_str()
            .unwrap()
            .starts_with("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
    );
    let fields = Projection::Fields(vec![".spec.nodeName".into()]);
    assert_eq!(
        list(&key("", fields), None, "").unwrap().headers()["accept"],
        "application/json"
    );
}

#[test]
fn watches_should_begin_at_a_version_and_end_by_themselves() {
    let request = watch(
        &WatchKey {
            namespace: Some("a".into()),
            ..key("x=y", Projection::Full)
        },
        "7",
        250,
    )
    .unwrap();
    let query = "labelSelector=x%3Dy&watch=true&allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=250";
    assert_eq!(
        request.uri().to_string(),
        format!("/apis/apps/v1/namespaces/a/deployments?{query}")
    );
}
