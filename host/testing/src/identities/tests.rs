//! Shows that what is in no row of the table is found, whoever is named in it.

use super::*;
use crate::AuditLog;
use crate::Mark;
use serde_json::{Value, json};

const READ_ROLE: &str = "RBAC: allowed by ClusterRoleBinding \"windlass:a:nginx:read\" of ClusterRole \
                         \"windlass:a:nginx:read\" to ServiceAccount \"windlass/windlass-system\"";

/// A line of an audit log in which the host sent something.
fn line(verb: &str, object: &Value, impersonated: Option<&str>, granted_by: &str) -> String {
    let mut event = json!({
        "stage": "ResponseComplete", "verb": verb, "requestURI": "/somewhere", "user": {"username": HOST_USER},
        "userAgent": "windlass/0.1.0", "objectRef": object, "responseStatus": {"code": 200},
        "annotations": {"authorization.k8s.io/reason": granted_by},
    });
    if let Some(user) = impersonated {
        event["impersonatedUser"] = json!({"username": user});
    }
    event.to_string()
}

fn is_strange(line: &str) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.log");
    std::fs::write(&path, format!("{line}\n")).unwrap();
    let requests = AuditLog::at(path).requests_since(Mark::BEGINNING).unwrap();
    assert_eq!(requests.count(), 1);
    check(&requests).is_err()
}

#[test]
fn what_the_host_does_as_itself_and_as_an_account_is_in_the_table() {
    let deployment = json!({"apiGroup": "apps", "resource": "deployments", "namespace": "a", "name": "web"});
    let own = json!({"resource": "configmaps", "namespace": NAMESPACE, "name": "windlass-module-1"});
    let status = json!({"apiGroup": "b.c", "resource": "ds", "namespace": "a", "name": "d", "subresource": "status"});
    let account = Some("system:serviceaccount:a:nginx");
    let windlass = READ_ROLE.replace("windlass:a:nginx:read", "windlass");
    for line in [
        line("watch", &deployment, None, READ_ROLE),
        line("create", &deployment, account, ""),
        line("delete", &own, None, &windlass),
        line("patch", &status, account, ""),
        line("get", &Value::Null, None, ""),
    ] {
        assert!(!is_strange(&line), "{line}");
    }
}

#[test]
fn an_account_that_it_may_not_act_as_is_told_from_what_it_may_not_do_itself() {
    let deployment = json!({"apiGroup": "apps", "resource": "deployments", "namespace": "a", "name": "web"});
    let refused = |words: &str| {
        let mut event: Value = serde_json::from_str(&line("create", &deployment, None, "")).unwrap();
        event["responseStatus"] = json!({"code": 403, "message": words});
        event.to_string()
    };
    let words =
        "serviceaccounts \"nginx\" is forbidden: User \"w\" cannot impersonate resource \"serviceaccounts\" in API";
    assert!(!is_strange(&refused(words)));
    assert!(is_strange(&refused(
        "deployments is forbidden: User \"w\" cannot create resource \"deployments\""
    )));
}

#[test]
fn what_is_in_no_row_is_found() {
    let deployment = json!({"apiGroup": "apps", "resource": "deployments", "namespace": "a", "name": "web"});
    let elsewhere = json!({"resource": "configmaps", "namespace": "a", "name": "windlass-module-1"});
    let foreign = json!({"resource": "configmaps", "namespace": NAMESPACE, "name": "mine"});
    let reconciler = json!({"apiGroup": "windlass.dev", "resource": "reconcilers", "namespace": "a", "name": "b"});
    let account = Some("system:serviceaccount:a:nginx");
    for line in [
        line("create", &deployment, None, READ_ROLE),
        line("update", &deployment, account, ""),
        line("get", &deployment, account, ""),
        line(
            "get",
            &deployment,
            None,
            &READ_ROLE.replace("windlass:a:nginx:read", "admin"),
        ),
        line("create", &deployment, Some("admin"), ""),
        line("create", &deployment, Some(HOST_USER), ""),
        line("create", &elsewhere, None, ""),
        line("delete", &foreign, None, ""),
        line("create", &reconciler, account, ""),
        line("delete", &reconciler, None, ""),
        line("create", &Value::Null, None, ""),
    ] {
        assert!(is_strange(&line), "{line}");
    }
}
