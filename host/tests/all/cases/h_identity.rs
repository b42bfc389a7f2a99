//! Group H: a guest can do nothing through the host that its account could not do alone.

use crate::spec_on_real::{Bare, on_bare};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use windlass_testing::product::{self, DEADLINE, HOST_USER, NAMESPACE};
use windlass_testing::{Requests, eventually};

/// Creates a primary of the hostile guest.
async fn hostile(bare: &Bare, namespace: &str, name: &str, behaviour: &str) -> Result<()> {
    let primary = json!({
        "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
        "metadata": {"namespace": namespace, "name": name}, "spec": {"behaviour": behaviour},
    });
    bare.cluster.apply(&primary.to_string()).await?;
    Ok(())
}

/// Waits until a primary of the hostile guest is told a reason; gives the message.
async fn told(bare: &Bare, namespace: &str, name: &str, reason: &str) -> Result<String> {
    let arguments = ["hostiles.hostile.windlass.test", name, "-n", namespace];
    let path = "/status/conditions/0/reason";
    let found = product::await_value(&bare.cluster, &arguments, path, reason).await?;
    Ok(found["status"]["conditions"][0]["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned())
}

fn account(name: &str) -> String {
    format!("system:serviceaccount:{NAMESPACE}:{name}")
}

/// What was sent as an account since a mark.
fn sent(bare: &Bare, mark: windlass_testing::Mark, name: &str) -> Result<Requests> {
    Ok(bare.cluster.audit().writes_since(mark)?.impersonating(&account(name)))
}

#[test]
fn h_02_a_guest_acts_neither_elsewhere_nor_with_more_rights_than_its_account() {
    on_bare(async |bare| {
        let settings = json!({"settings": {"describe": "roles"}});
        let mark = bare.cluster.audit().mark()?;
        bare.take_up("h02", windlass_artifacts::HOSTILE, &settings).await?;
        for (behaviour, words) in [
            ("foreign-namespace", "has children in that namespace only"),
            ("cluster-role-binding", "is cluster-scoped; a primary in a namespace"),
        ] {
            hostile(bare, "h02", behaviour, behaviour).await?;
            let message = told(bare, "h02", behaviour, "GuestOutputRejected").await?;
            ensure!(message.contains(words), "{message}");
        }
        hostile(bare, "h02", "role-binding", "role-binding").await?;
        let message = told(bare, "h02", "role-binding", "ApplyForbidden").await?;
        ensure!(message.contains("attempting to grant RBAC permissions"), "{message}");
        let elsewhere = json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "Reconciler",
            "metadata": {"namespace": NAMESPACE, "name": "h02-elsewhere"},
            "spec": {
                "source": {"configMap": {"name": "h02"}}, "serviceAccountName": "kube-system/default",
                "namespaces": ["h02"],
            },
        });
        let refused = bare.cluster.apply(&elsewhere.to_string()).await;
        let words = format!("{:#}", refused.unwrap_err());
        ensure!(words.contains("spec.serviceAccountName"), "{words}");
        eventually(DEADLINE, "the refusal is in the audit log", async || {
            let writes = sent(bare, mark, "h02")?;
            let bindings = writes.resource("rolebindings");
            ensure!(
                !bindings.is_empty() && bindings.iter().all(|write| write.code == 403),
                "{writes}"
            );
            let never = writes.filter(|write| {
                write.resource == "clusterrolebindings"
                    || write.resource == "configmaps"
                    || (!write.namespace.is_empty() && write.namespace != "h02")
            });
            ensure!(never.is_empty(), "{never}");
            let in_h02 = bare.cluster.audit().writes_since(mark)?.by(HOST_USER);
            let in_h02 = in_h02.filter(|write| write.namespace == "h02" && write.resource != "events");
            ensure!(
                in_h02.count() == in_h02.impersonating(&account("h02")).count(),
                "{in_h02}"
            );
            Ok(())
        })
        .await
    });
}

#[test]
fn h_03_a_child_is_pruned_as_the_account_and_stays_where_that_may_not() {
    on_bare(async |bare| {
        let cluster = &bare.cluster;
        bare.take_up("h03", windlass_artifacts::HOSTILE, &json!({})).await?;
        hostile(bare, "h03", "one", "three").await?;
        told(bare, "h03", "one", "Reconciled").await?;
        let role = "windlass:windlass-system:h03:write";
        let granted = product::get(cluster, &["clusterrole", role]).await?;
        let mut less = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": role},
            "rules": granted["rules"],
        });
        let whole = less.clone();
        for rule in less["rules"].as_array_mut().into_iter().flatten() {
            rule["verbs"].as_array_mut().unwrap().retain(|verb| verb != "delete");
        }
        cluster.apply(&less.to_string()).await?;
        let mark = cluster.audit().mark()?;
        hostile(bare, "h03", "one", "good").await?;
        let message = told(bare, "h03", "one", "ApplyForbidden").await?;
        for words in [
            "ConfigMap h03/one-",
            "cannot delete resource \"configmaps\"",
            "grant it with `windlass rbac MODULE",
        ] {
            ensure!(message.contains(words), "{words} is not in {message}");
        }
        eventually(DEADLINE, "the refusal is in the audit log", async || {
            let deletes = cluster.audit().writes_since(mark)?.by(HOST_USER).verbs(&["delete"]);
            let deletes = deletes.filter(|write| write.namespace == "h03");
            ensure!(!deletes.is_empty(), "none");
            ensure!(
                deletes
                    .iter()
                    .all(|delete| delete.code == 403
                        && delete.impersonated_user.as_deref() == Some(account("h03").as_str())),
                "{deletes}"
            );
            Ok(())
        })
        .await?;
        let left = ["configmaps", "-n", "h03", "-l", "windlass.dev/reconciler=h03"];
        let found = product::get(cluster, &left).await?;
        ensure!(found["items"].as_array().map(Vec::len) == Some(3), "{found}");
        cluster.apply(&whole.to_string()).await?;
        told(bare, "h03", "one", "Reconciled").await?;
        let found = product::get(cluster, &left).await?;
        ensure!(found["items"].as_array().map(Vec::len) == Some(1), "{found}");
        Ok(())
    });
}

#[test]
fn h_04_equal_names_in_two_namespaces_and_of_two_kinds_share_no_answer() {
    on_bare(async |bare| {
        let cluster = &bare.cluster;
        let spec = json!({"namespaces": ["h04", "h04-b"]});
        cluster.kubectl(&["create", "namespace", "h04-b"]).await?;
        bare.take_up("h04", windlass_artifacts::HOSTILE, &spec).await?;
        let friend = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": "h04", "name": "x-friend", "labels": {"friend": "yes"}},
        });
        cluster.apply(&friend.to_string()).await?;
        bare.take_up(
            "h04-friend",
            windlass_artifacts::FRIEND,
            &json!({"namespaces": ["h04", "h04-b"]}),
        )
        .await?;
        for namespace in ["h04", "h04-b"] {
            hostile(bare, namespace, "x", "count").await?;
            let same_name = json!({
                "apiVersion": "mycustomresources.poc.test.domain/v1", "kind": "MyCustomResource",
                "metadata": {"namespace": namespace, "name": "x"}, "spec": {"name": "nobody"},
            });
            cluster.apply(&same_name.to_string()).await?;
        }
        let child = |namespace| ["configmap", "x", "-n", namespace];
        product::await_value(cluster, &child("h04"), "/data/text", "1").await?;
        product::await_value(cluster, &child("h04-b"), "/data/text", "0").await?;
        let before = bare.host.decisions("h04").await?;
        let mut random = 7_u32;
        for round in 0..50 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let namespace = if random >> 31 == 0 { "h04" } else { "h04-b" };
            let mark = format!("example.com/touched={round}");
            let annotate = [
                "annotate",
                "--overwrite",
                "hostiles.hostile.windlass.test",
                "x",
                &mark,
                "-n",
                namespace,
            ];
            cluster.kubectl(&annotate).await?;
        }
        eventually(DEADLINE, "decisions were taken", async || {
            let taken = bare.host.decisions("h04").await? - before;
            ensure!(taken >= 10, "{taken}");
            Ok(())
        })
        .await?;
        for (namespace, wanted) in [("h04", "1"), ("h04-b", "0")] {
            let found = product::get(cluster, &[&child(namespace)[..], &["--show-managed-fields"]].concat()).await?;
            ensure!(found["data"]["text"] == wanted, "{found}");
            // It was written once: nobody was ever shown anything else.
            let entries = found["metadata"]["managedFields"].as_array().map_or(0, Vec::len);
            ensure!(entries == 1 && found["metadata"]["generation"].is_null(), "{found}");
        }
        Ok(())
    });
}

#[test]
fn h_05_what_a_guest_may_read_is_decided_by_the_host_and_by_its_account() {
    on_bare(async |bare| {
        let cluster = &bare.cluster;
        let mark = cluster.audit().mark()?;
        bare.take_up("h05", windlass_artifacts::HOSTILE, &json!({})).await?;
        for behaviour in ["ask-undeclared", "ask-elsewhere", "ask-node", "ask-self"] {
            hostile(bare, "h05", behaviour, behaviour).await?;
            told(bare, "h05", behaviour, "GuestOutputRejected").await?;
        }
        hostile(bare, "h05", "counts", "count").await?;
        told(bare, "h05", "counts", "Reconciled").await?;
        let all = cluster.audit().requests_since(mark)?.by(HOST_USER);
        let never = all.filter(|request| {
            request.resource == "nodes"
                || request.namespace == "kube-system"
                || (request.resource == "secrets" && request.name != "windlass-key")
        });
        ensure!(never.is_empty(), "{never}");
        // What it may ask is asked of the authorizer as the account itself.
        let reviews = all.resource("selfsubjectaccessreviews");
        ensure!(!reviews.impersonating(&account("h05")).is_empty(), "{reviews}");
        let as_itself = reviews.filter(|review| review.impersonated_user.is_none());
        ensure!(as_itself.is_empty(), "{as_itself}");
        Ok(())
    });
}

#[test]
fn h_07_a_kind_without_rights_is_forgotten_with_the_version_that_wanted_it() {
    on_bare(async |bare| {
        let cluster = &bare.cluster;
        bare.take_up("h07", windlass_artifacts::HOSTILE, &json!({})).await?;
        hostile(bare, "h07", "one", "good").await?;
        told(bare, "h07", "one", "Reconciled").await?;
        // The rights are approved, and not granted.
        let more = json!({"settings": {"describe": "more-rights"}, "approvedRights": null});
        bare.change("h07", &more).await?;
        let reconciler = ["reconciler", "h07", "-n", NAMESPACE];
        eventually(DEADLINE, "the missing rights are told", async || {
            let found = product::get(cluster, &reconciler).await?;
            let status = found["status"].to_string();
            ensure!(
                product::condition(&found, "Permitted") == "False" && status.contains("watch secrets in namespace h07"),
                "{status}"
            );
            Ok(())
        })
        .await?;
        let began = Instant::now();
        bare.change("h07", &json!({"settings": {"describe": null}})).await?;
        product::await_reconciler(cluster, "h07", "Ready", "True").await?;
        ensure!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        let mark = cluster.audit().mark()?;
        hostile(bare, "h07", "two", "good").await?;
        told(bare, "h07", "two", "Reconciled").await?;
        let secrets = cluster.audit().requests_since(mark)?.by(HOST_USER).resource("secrets");
        ensure!(secrets.is_empty(), "{secrets}");
        Ok(())
    });
}

/// A child never asks for what the plugin wants a right on finalizers for.
pub(super) fn owner_of(child: &Value) -> Value {
    child["metadata"]["ownerReferences"][0].clone()
}
