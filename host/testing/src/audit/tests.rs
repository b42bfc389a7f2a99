//! Shows what the audit log counts, on lines as the API server writes them.

use std::io::Write;

use super::*;

const HOST: &str = "system:serviceaccount:windlass-system:windlass";
const GUEST: &str = "system:serviceaccount:windlass-system:nginx";

/// One line: who, as whom, verb, group, resource and what follows it in the path.
fn line(stage: &str, impersonated: Option<&str>, verb: &str, group: &str, resource: &str, rest: &str) -> String {
    let mut event = serde_json::json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": "1", "stage": stage,
        "requestURI": format!("/apis/{group}/v1/namespaces/default/{resource}{rest}"), "verb": verb,
        "user": {"username": HOST, "uid": "2", "groups": ["system:serviceaccounts"]},
        "sourceIPs": ["127.0.0.1"], "userAgent": "windlass/0.1.0",
        "objectRef": {"resource": resource, "namespace": "default", "name": "a", "apiGroup": group, "apiVersion": "v1"},
        "responseStatus": {"metadata": {}, "code": 201}, "requestReceivedTimestamp": "2026-01-02T03:04:05.000006Z",
    });
    if let Some(user) = impersonated {
        event["impersonatedUser"] = serde_json::json!({"username": user, "groups": ["system:serviceaccounts"]});
    }
    format!("{event}\n")
}

fn done(impersonated: Option<&str>, verb: &str, group: &str, resource: &str, rest: &str) -> String {
    line("ResponseComplete", impersonated, verb, group, resource, rest)
}

fn log(lines: &[String]) -> (tempfile::NamedTempFile, AuditLog) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(lines.concat().as_bytes()).unwrap();
    let log = AuditLog::at(file.path());
    (file, log)
}

#[test]
fn a_log_that_is_not_there_yet_is_empty() {
    let log = AuditLog::at("/nonexistent/audit.log");
    assert_eq!(log.mark().unwrap(), Mark::BEGINNING);
    assert!(log.writes_since(Mark::BEGINNING).unwrap().is_empty());
}

#[test]
fn writes_count_for_the_sender_also_when_it_acted_as_somebody_else() {
    let (_file, log) = log(&[
        done(Some(GUEST), "create", "apps", "deployments", ""),
        done(None, "patch", "windlass.dev", "reconcilers", "/a/status"),
        done(None, "get", "apps", "deployments", "/a"),
    ]);
    let writes = log.writes_by(HOST).unwrap();
    assert_eq!(writes.count(), 2, "{writes}");
    assert_eq!(
        writes
            .impersonating(GUEST)
            .resource("deployments")
            .verbs(&["create"])
            .named("a")
            .count(),
        1
    );
    assert_eq!(writes.impersonating(HOST).count(), 0);
    assert_eq!(log.writes_by(GUEST).unwrap().count(), 0);
    assert!(writes.to_string().contains(&format!(
        "create /apis/apps/v1/namespaces/default/deployments -> 201 by {HOST} as {GUEST}"
    )));
}

#[test]
fn what_changes_nothing_is_no_write() {
    let (_file, log) = log(&[
        done(
            Some(GUEST),
            "create",
            "authorization.k8s.io",
            "selfsubjectaccessreviews",
            "",
        ),
        done(None, "patch", "apps", "deployments", "/a?fieldManager=x&dryRun=All"),
        done(None, "watch", "apps", "deployments", "?watch=true"),
    ]);
    assert!(log.writes_by(HOST).unwrap().is_empty());
    assert_eq!(log.requests_since(Mark::BEGINNING).unwrap().count(), 3);
}

#[test]
fn a_request_counts_once_although_a_watch_is_logged_at_its_start_too() {
    let (_file, log) = log(&[
        line("ResponseStarted", None, "watch", "apps", "deployments", "?watch=true"),
        done(None, "watch", "apps", "deployments", "?watch=true"),
    ]);
    assert_eq!(log.requests_since(Mark::BEGINNING).unwrap().count(), 1);
}

#[test]
fn a_mark_leaves_out_what_was_before_and_takes_a_half_written_line_later() {
    let (mut file, log) = log(&[done(None, "create", "apps", "deployments", "")]);
    let next = done(None, "delete", "apps", "deployments", "/a");
    let (first_half, second_half) = next.split_at(40);
    file.write_all(first_half.as_bytes()).unwrap();
    let mark = log.mark().unwrap();
    assert!(log.writes_since(mark).unwrap().is_empty());
    file.write_all(second_half.as_bytes()).unwrap();
    let writes = log.writes_since(mark).unwrap();
    assert_eq!(
        writes.iter().map(|request| request.verb.as_str()).collect::<Vec<_>>(),
        ["delete"]
    );
}

#[test]
fn junk_in_the_log_is_an_error_that_shows_it() {
    let (_file, log) = log(&["junk\n".to_owned()]);
    assert!(format!("{:#}", log.writes_by(HOST).unwrap_err()).contains("junk"));
}
