//! Shows as whom the host does what, what it may do by itself, and that it acts as no account that was not granted by name.

use super::on_real;
use crate::golden;
use crate::scenarios::play::Play;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use windlass_testing::product::{self, DEADLINE, HOST_USER, NAMESPACE};
use windlass_testing::{ControlPlane, eventually, identities};

const ROLES: &str = "../deploy/kustomize/roles.yaml";

#[test]
fn the_committed_tables_are_those_that_hold() {
    let roles = golden::text(ROLES);
    let own = own_rights(&roles);
    let text = format!(
        "# Who does what\n\n\
         Written by `BLESS=1 cargo test --workspace --test all -- the_committed_tables`; every request of the host in every \
         test on an API server is compared with the first table, from the audit log.\n\n\
         ## As whom the host acts\n\n{}\n\
         A person's commands (`windlass push`, `windlass release` and so on) act with that person's own rights alone.\n\n\
         ## What the host may do by itself\n\n{own}",
        identities::Markdown
    );
    golden::assert("../deploy/IDENTITIES.md", &text);
}

/// One line for each rule of the host's own roles, with the comment above it.
fn own_rights(roles: &str) -> String {
    let mut text = "| where | what | why |\n|---|---|---|\n".to_owned();
    for document in roles.split("---\n") {
        let role: Value = serde_saphyr::from_str(document).unwrap();
        let rules = role["rules"].as_array().cloned().unwrap_or_default();
        let reasons = reasons(document);
        assert_eq!(rules.len(), reasons.len(), "{document}");
        let place = role["metadata"]["namespace"].as_str().unwrap_or("the whole cluster");
        for (rule, reason) in rules.iter().zip(reasons) {
            let words = |key: &str| {
                let words = rule[key].as_array().into_iter().flatten();
                words.filter_map(Value::as_str).collect::<Vec<_>>()
            };
            let group = words("apiGroups").join(",");
            let dot = if group.is_empty() { "" } else { "." };
            let resources = words("resources")
                .iter()
                .map(|name| match name.split_once('/') {
                    Some((name, subresource)) => format!("`{name}{dot}{group}/{subresource}`"),
                    None => format!("`{name}{dot}{group}`"),
                })
                .collect::<Vec<_>>();
            let named = match words("resourceNames").join(", ") {
                names if names.is_empty() => names,
                names => format!(" named `{names}`"),
            };
            let verbs = words("verbs").join(", ");
            writeln!(text, "| {place} | {verbs} {}{named} | {reason} |", resources.join(", ")).unwrap();
        }
    }
    text
}

/// The comment above each rule.
fn reasons(document: &str) -> Vec<String> {
    let (mut reasons, mut comment) = (Vec::new(), Vec::new());
    for line in document.lines() {
        if let Some(words) = line.strip_prefix("# ") {
            comment.push(words);
            continue;
        }
        if line.starts_with("- apiGroups:") {
            assert!(!comment.is_empty(), "a rule without a reason in {ROLES}: {document}");
            reasons.push(comment.join(" ").trim_end_matches('.').to_owned());
        }
        comment.clear();
    }
    reasons
}

#[test]
fn every_write_about_primaries_and_children_is_sent_as_the_modules_account() {
    on_real(async |stage| {
        Play::new(stage, "rbac-audit", None).nginx("web", 1).await?;
        eventually(DEADLINE, "the writes are in the audit log", async || {
            let writes = stage.cluster.audit().writes_by(HOST_USER)?;
            let mine = writes.filter(|write| write.namespace == "rbac-audit");
            let accounts = mine.impersonating("system:serviceaccount:windlass-system:nginx");
            for resource in ["nginx", "deployments"] {
                ensure!(accounts.resource(resource).count() > 0, "{writes}");
                ensure!(
                    mine.resource(resource).count() == accounts.resource(resource).count(),
                    "{mine}"
                );
            }
            Ok(())
        })
        .await
    });
}

/// Verb, group, resource with subresource, namespace, name, and whether the host may.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    bool,
);

const RBAC: &str = "rbac.authorization.k8s.io";
const TABLE: &[Row] = &[
    ("get", "", "secrets", "default", "", false),
    ("list", "", "secrets", "", "", false),
    ("list", "", "secrets", NAMESPACE, "", false),
    ("watch", "", "secrets", NAMESPACE, "", false),
    ("get", "", "secrets", NAMESPACE, "somebodys", false),
    ("get", "", "secrets", NAMESPACE, "windlass-key", true),
    ("update", "", "secrets", NAMESPACE, "windlass-key", false),
    ("delete", "", "secrets", NAMESPACE, "windlass-key", false),
    ("create", "", "secrets", "default", "", false),
    ("impersonate", "", "users", "", "admin", false),
    ("impersonate", "", "groups", "", "system:masters", false),
    ("impersonate", "authentication.k8s.io", "uids", "", "1", false),
    (
        "impersonate",
        "authentication.k8s.io",
        "userextras/scopes",
        "",
        "all",
        false,
    ),
    (
        "impersonate:user-info",
        "authentication.k8s.io",
        "users",
        "",
        "admin",
        false,
    ),
    (
        "impersonate:arbitrary-node",
        "authentication.k8s.io",
        "nodes",
        "",
        "node-1",
        false,
    ),
    (
        "impersonate:serviceaccount",
        "authentication.k8s.io",
        "serviceaccounts",
        NAMESPACE,
        "nginx",
        false,
    ),
    (
        "impersonate-on:serviceaccount:create",
        "apps",
        "deployments",
        "default",
        "",
        false,
    ),
    ("impersonate", "", "serviceaccounts", NAMESPACE, "", false),
    ("impersonate", "", "serviceaccounts", NAMESPACE, "default", false),
    ("impersonate", "", "serviceaccounts", NAMESPACE, "windlass", false),
    ("impersonate", "", "serviceaccounts", "default", "nginx", false),
    (
        "impersonate",
        "",
        "serviceaccounts",
        "kube-system",
        "namespace-controller",
        false,
    ),
    ("impersonate", "", "serviceaccounts", NAMESPACE, "nginx", true),
    ("create", "", "serviceaccounts/token", NAMESPACE, "nginx", false),
    ("create", "", "serviceaccounts/token", NAMESPACE, "windlass", false),
    ("patch", "", "serviceaccounts", NAMESPACE, "nginx", false),
    ("use", "", "serviceaccounts", NAMESPACE, "nginx", false),
    ("create", "", "pods", NAMESPACE, "", false),
    ("create", "", "pods/exec", NAMESPACE, "windlass", false),
    ("get", "", "pods/log", NAMESPACE, "windlass", false),
    ("get", "", "nodes/proxy", "", "node-1", false),
    ("create", "apps", "deployments", "default", "", false),
    ("patch", "apps", "deployments", "default", "", false),
    ("patch", "apps", "deployments", NAMESPACE, "windlass", false),
    ("patch", "stable.underneathall.com", "nginx", "default", "", false),
    (
        "patch",
        "stable.underneathall.com",
        "nginx/status",
        "default",
        "",
        false,
    ),
    ("update", "", "configmaps", NAMESPACE, "", false),
    ("create", "", "configmaps", "default", "", false),
    ("delete", "", "configmaps", "default", "", false),
    ("create", RBAC, "clusterroles", "", "", false),
    ("create", RBAC, "rolebindings", NAMESPACE, "", false),
    ("escalate", RBAC, "roles", NAMESPACE, "windlass", false),
    ("escalate", RBAC, "clusterroles", "", "windlass", false),
    ("bind", RBAC, "clusterroles", "", "cluster-admin", false),
    ("bind", RBAC, "roles", NAMESPACE, "windlass", false),
    (
        "patch",
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        "",
        "",
        false,
    ),
    (
        "patch",
        "admissionregistration.k8s.io",
        "validatingadmissionpolicies",
        "",
        "reconcilers.windlass.dev",
        false,
    ),
    ("approve", "certificates.k8s.io", "signers", "", "", false),
    ("create", "windlass.dev", "reconcilers", "default", "", false),
    ("delete", "windlass.dev", "reconcilers", NAMESPACE, "", false),
];

#[test]
fn the_host_may_neither_read_secrets_nor_act_as_others() {
    on_real(async |stage| {
        let asked: Vec<Value> = TABLE
            .iter()
            .map(|(verb, group, resource, namespace, name, _)| review(verb, group, resource, namespace, name))
            .collect();
        for ((row, asked), allowed) in TABLE.iter().zip(&asked).zip(allowed(stage.cluster, &asked).await?) {
            ensure!(allowed == row.5, "{row:?} is {allowed}: {asked}");
        }
        Ok(())
    });
}

/// What the host, with all its groups, is to be asked for.
fn review(verb: &str, group: &str, resource: &str, namespace: &str, name: &str) -> Value {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let groups = [
        "system:serviceaccounts",
        "system:serviceaccounts:windlass-system",
        "system:authenticated",
    ];
    json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": HOST_USER, "groups": groups, "resourceAttributes": {
            "verb": verb, "group": group, "resource": resource, "subresource": subresource, "namespace": namespace,
            "name": name,
        }},
    })
}

/// What the authorizer says to each review.
async fn allowed(cluster: &ControlPlane, reviews: &[Value]) -> Result<Vec<bool>> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": reviews}).to_string();
    let arguments = ["create", "-f", "-", "-o", "jsonpath={.status.allowed}{\"\\n\"}"];
    let said = cluster.kubectl_with_input(&arguments, &list).await?;
    let said: Vec<bool> = said.lines().map(|line| line == "true").collect();
    ensure!(said.len() == reviews.len(), "{said:?}");
    Ok(said)
}

#[test]
fn of_all_accounts_of_the_cluster_only_those_that_were_granted_by_name_can_be_acted_as() {
    on_real(async |stage| {
        let cluster = stage.cluster;
        let text = |object: &Value, key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
        let accounts = product::get(cluster, &["serviceaccounts", "--all-namespaces"]).await?;
        let accounts: Vec<(String, String)> = accounts["items"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|account| (text(account, "namespace"), text(account, "name")))
            .collect();
        ensure!(accounts.len() > 20, "{accounts:?}");
        let reviews = accounts
            .iter()
            .map(|(namespace, name)| review("impersonate", "", "serviceaccounts", namespace, name));
        let said = allowed(cluster, &reviews.collect::<Vec<_>>()).await?;
        let roles = product::get(cluster, &["roles", "--all-namespaces"]).await?;
        let granted: BTreeSet<(String, String)> = roles["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|role| {
                let name = text(role, "name");
                let account = name.strip_prefix("windlass:")?.strip_suffix(":impersonate")?;
                Some((text(role, "namespace"), account.to_owned()))
            })
            .collect();
        ensure!(granted.len() >= 3, "{granted:?}");
        for (account, allowed) in accounts.iter().zip(said) {
            ensure!(!allowed || granted.contains(account), "it may act as {account:?}");
        }
        Ok(())
    });
}

/// Not what the authorizer says about it, but what happens.
#[test]
fn whoever_has_the_hosts_token_acts_as_nobody_else_and_adds_nothing_to_a_modules_account() {
    on_real(async |stage| {
        let cluster = stage.cluster;
        let files = cluster.directory().join("host-token");
        let environment = cluster.in_cluster_environment(NAMESPACE, "windlass", &files).await?;
        let kubeconfig = environment.kubeconfig().display().to_string();
        let tried = async |what: &[&str], more: &[&str]| {
            let all = [&["--kubeconfig", &kubeconfig], what, more].concat();
            cluster.kubectl(&all).await
        };
        let nginx = "system:serviceaccount:windlass-system:nginx";
        let said = tried(&["auth", "whoami", "-o", "json"], &["--as", nginx]).await?;
        ensure!(said.contains(nginx) && !said.contains("system:masters"), "{said}");
        for more in [
            &["--as", "system:serviceaccount:kube-system:default"][..],
            &["--as", "system:serviceaccount:windlass-system:default"],
            &["--as", "admin"],
            &["--as", nginx, "--as-group", "system:masters"],
            &["--as", nginx, "--as-uid", "1"],
            &["--as", nginx, "--as-user-extra", "scopes=all"],
        ] {
            let refused = tried(&["get", "pods"], more)
                .await
                .err()
                .map(|error| format!("{error:#}"));
            let words = refused.unwrap_or_else(|| format!("{more:?} was taken"));
            ensure!(words.contains("cannot impersonate resource"), "{words}");
        }
        Ok(())
    });
}
