//! Groups D and G on a whole control plane: what the garbage collector and the namespace controller do with it.

use crate::spec_on_real::{Bare, on_whole};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use windlass_testing::eventually;
use windlass_testing::product::{self, DEADLINE, HOST_USER, NAMESPACE};

const HOSTILES: &str = "hostiles.hostile.windlass.test";

fn hostile(namespace: &str, name: &str, behaviour: &str) -> Value {
    json!({
        "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
        "metadata": {"namespace": namespace, "name": name}, "spec": {"behaviour": behaviour},
    })
}

async fn told(bare: &Bare, namespace: &str, name: &str, reason: &str) -> Result<Value> {
    let arguments = [HOSTILES, name, "-n", namespace];
    product::await_value(&bare.cluster, &arguments, "/status/conditions/0/reason", reason).await
}

/// Deletes an account with all that `windlass rbac` granted it, as `kubectl delete -f` would.
async fn delete_account(bare: &Bare, name: &str) -> Result<()> {
    let cluster = &bare.cluster;
    cluster
        .kubectl(&["delete", "serviceaccount", name, "-n", NAMESPACE])
        .await?;
    let impersonate = format!("windlass:{name}:impersonate");
    cluster
        .kubectl(&["delete", "rolebinding", &impersonate, "-n", NAMESPACE])
        .await?;
    for role in ["read", "write"] {
        let binding = format!("windlass:{NAMESPACE}:{name}:{role}");
        cluster.kubectl(&["delete", "clusterrolebinding", &binding]).await?;
    }
    Ok(())
}

#[test]
fn d_07_what_needs_no_account_goes_without_one_and_what_does_goes_when_it_is_back() {
    on_whole(async |bare| {
        let cluster = &bare.cluster;
        bare.take_up("d07", windlass_artifacts::HOSTILE, &json!({})).await?;
        cluster.apply(&hostile("d07", "one", "three").to_string()).await?;
        told(bare, "d07", "one", "Reconciled").await?;
        delete_account(bare, "d07").await?;
        let began = Instant::now();
        cluster
            .kubectl(&["delete", HOSTILES, "one", "-n", "d07", "--wait=false"])
            .await?;
        product::await_gone(cluster, &[HOSTILES, "one", "-n", "d07"]).await?;
        ensure!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        // The garbage collector looks for new kinds every 30 s, and this one is new.
        product::await_gone(
            cluster,
            &["configmaps", "-n", "d07", "-l", "windlass.dev/reconciler=d07"],
        )
        .await?;

        let settings = json!({"finalizes": true, "finalize": "done", "behaviour": "three"});
        let spec = json!({"settings": settings});
        bare.take_up("d07-holding", windlass_artifacts::HOSTILE, &spec).await?;
        cluster.apply(&hostile("d07-holding", "one", "").to_string()).await?;
        let held = told(bare, "d07-holding", "one", "Reconciled").await?;
        ensure!(held["metadata"]["finalizers"].is_array(), "{held}");
        delete_account(bare, "d07-holding").await?;
        cluster
            .kubectl(&["delete", HOSTILES, "one", "-n", "d07-holding", "--wait=false"])
            .await?;
        eventually(DEADLINE, "the account that is missing is named", async || {
            let reconciler = product::get(cluster, &["reconciler", "d07-holding", "-n", NAMESPACE]).await?;
            let status = reconciler["status"].to_string();
            ensure!(
                product::condition(&reconciler, "Permitted") == "False"
                    && status.contains("ServiceAccount windlass-system/d07-holding does not exist"),
                "{status}"
            );
            Ok(())
        })
        .await?;
        product::get(cluster, &[HOSTILES, "one", "-n", "d07-holding"]).await?;
        let (program, module) = (
            crate::scenarios::real::PROGRAM.as_ref(),
            windlass_artifacts::HOSTILE.as_ref(),
        );
        let began = Instant::now();
        product::grant(cluster, program, "d07-holding", module, &settings.to_string()).await?;
        product::await_gone(cluster, &[HOSTILES, "one", "-n", "d07-holding"]).await?;
        ensure!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
        Ok(())
    });
}

#[test]
fn d_12_no_owner_is_in_another_namespace_or_in_one_at_all_where_the_child_is_in_none() {
    on_whole(async |bare| {
        let cluster = &bare.cluster;
        let mark = cluster.audit().mark()?;
        let settings = json!({"settings": {"describe": "roles"}});
        bare.take_up("d12", windlass_artifacts::HOSTILE, &settings).await?;
        for (behaviour, words) in [
            (
                "foreign-namespace",
                "'kube-system'; a primary in 'd12' has children in that namespace only",
            ),
            (
                "cluster-role",
                "is cluster-scoped; a primary in a namespace has children in that namespace only",
            ),
        ] {
            cluster.apply(&hostile("d12", behaviour, behaviour).to_string()).await?;
            let told = told(bare, "d12", behaviour, "GuestOutputRejected").await?;
            let message = told["status"]["conditions"][0]["message"].to_string();
            ensure!(message.contains(words), "{message}");
        }
        cluster.apply(&hostile("d12", "good", "good").to_string()).await?;
        told(bare, "d12", "good", "Reconciled").await?;
        // The canary was converged after both: nothing else was written by then.
        let writes = cluster.audit().writes_since(mark)?.by(HOST_USER);
        let children = writes.filter(|write| {
            write.impersonated_user.as_deref() == Some("system:serviceaccount:windlass-system:d12")
                && ["configmaps", "clusterroles"].contains(&write.resource.as_str())
        });
        ensure!(
            children.count() == 1 && children.named("good").count() == 1,
            "{children}"
        );
        let child = product::get(cluster, &["configmap", "good", "-n", "d12"]).await?;
        ensure!(child["metadata"]["ownerReferences"][0]["name"] == "good", "{child}");
        let complaints = [
            "events",
            "--all-namespaces",
            "--field-selector",
            "reason=OwnerRefInvalidNamespace",
        ];
        let complaints = product::get(cluster, &complaints).await?;
        ensure!(complaints["items"] == json!([]), "{complaints}");
        Ok(())
    });
}

#[test]
fn g_04_a_namespace_that_cannot_end_keeps_no_other_waiting() {
    on_whole(async |bare| {
        let cluster = &bare.cluster;
        let others: Vec<String> = (0..10).map(|number| format!("g04-{number}")).collect();
        let mut namespaces = others.clone();
        namespaces.push("g04".into());
        let objects: Vec<Value> = others
            .iter()
            .map(|name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
            .collect();
        cluster
            .apply(&json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string())
            .await?;
        bare.take_up("g04", windlass_artifacts::HOSTILE, &json!({"namespaces": namespaces}))
            .await?;
        for number in 0..5 {
            let mut stuck = hostile("g04", &format!("stuck-{number}"), "good");
            stuck["metadata"]["finalizers"] = json!(["example.com/held"]);
            cluster.apply(&stuck.to_string()).await?;
        }
        told(bare, "g04", "stuck-4", "Reconciled").await?;
        cluster.kubectl(&["delete", "namespace", "g04", "--wait=false"]).await?;
        let phase = ["namespace", "g04"];
        product::await_value(cluster, &phase, "/status/phase", "Terminating").await?;
        eventually(DEADLINE, "what is in it is being deleted, and stays", async || {
            let stuck = product::get(cluster, &[HOSTILES, "stuck-4", "-n", "g04"]).await?;
            ensure!(stuck["metadata"]["deletionTimestamp"].is_string(), "{stuck}");
            Ok(())
        })
        .await?;
        let began = Instant::now();
        let primaries: Vec<Value> = others.iter().map(|name| hostile(name, "one", "good")).collect();
        cluster
            .apply(&json!({"apiVersion": "v1", "kind": "List", "items": primaries}).to_string())
            .await?;
        for name in &others {
            told(bare, name, "one", "Reconciled").await?;
        }
        ensure!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
        product::await_value(cluster, &phase, "/status/phase", "Terminating").await?;
        Ok(())
    });
}
