//! Group D on a whole control plane: what goes, what keeps it, and that nothing is made again meanwhile.

use crate::spec_on_real::{Bare, on_whole};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use windlass_artifacts::HOSTILE;
use windlass_testing::product::{self, DEADLINE, HOST_USER};
use windlass_testing::{Mark, Requests, eventually};

const HOSTILES: &str = "hostiles.hostile.windlass.test";

fn hostile(namespace: &str, name: &str, behaviour: &str) -> Value {
    json!({
        "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
        "metadata": {"namespace": namespace, "name": name}, "spec": {"behaviour": behaviour},
    })
}

/// What the host wrote since then as the account of a Reconciler.
fn writes(bare: &Bare, name: &str, mark: Mark) -> Result<Requests> {
    let account = format!("system:serviceaccount:windlass-system:{name}");
    let writes = bare.cluster.audit().writes_since(mark)?.by(HOST_USER);
    Ok(writes.filter(|write| write.impersonated_user.as_deref() == Some(account.as_str())))
}

/// Waits until the conditions of a primary say this, with all of these words.
async fn says(bare: &Bare, namespace: &str, name: &str, reason: &str, words: &[&str]) -> Result<Value> {
    eventually(DEADLINE, &format!("{namespace}/{name} says {reason}"), async || {
        let object = product::get(&bare.cluster, &[HOSTILES, name, "-n", namespace]).await?;
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
        let ready = ready.cloned().unwrap_or_default();
        ensure!(ready["reason"] == reason, "{}", object["status"]);
        let message = ready["message"].as_str().unwrap_or_default();
        ensure!(words.iter().all(|word| message.contains(word)), "{message}");
        ensure!(
            ready["observedGeneration"] == object["metadata"]["generation"],
            "{object}"
        );
        Ok(object)
    })
    .await
}

async fn create(bare: &Bare, objects: impl IntoIterator<Item = Value>) -> Result<()> {
    let items: Vec<Value> = objects.into_iter().collect();
    let all = json!({"apiVersion": "v1", "kind": "List", "items": items});
    bare.cluster.apply(&all.to_string()).await.map(drop)
}

#[test]
fn d_01_a_foreground_deletion_of_twenty_primaries_ends_and_no_child_is_made_after_the_mark() {
    on_whole(async |bare| {
        bare.take_up("d01", HOSTILE, &json!({})).await?;
        let names: Vec<String> = (0..20).map(|number| format!("p{number:02}")).collect();
        create(bare, names.iter().map(|name| hostile("d01", name, "three"))).await?;
        for name in &names {
            says(bare, "d01", name, "Reconciled", &[]).await?;
        }
        let mark = bare.cluster.audit().mark()?;
        let delete = [
            "delete",
            HOSTILES,
            "--all",
            "-n",
            "d01",
            "--cascade=foreground",
            "--wait=false",
        ];
        bare.cluster.kubectl(&delete).await?;
        product::await_gone(&bare.cluster, &[HOSTILES, "-n", "d01"]).await?;
        let label = ["configmaps", "-n", "d01", "-l", "windlass.dev/reconciler=d01"];
        product::await_gone(&bare.cluster, &label).await?;
        let written = writes(bare, "d01", mark)?;
        let children = written.filter(|write| write.resource == "configmaps");
        ensure!(children.count() == 0, "after the mark: {children}");
        Ok(())
    });
}

#[test]
fn d_03_an_object_that_is_going_gets_no_finalizer_and_no_error() {
    on_whole(async |bare| {
        let cluster = &bare.cluster;
        cluster.kubectl(&["create", "namespace", "d03-primaries"]).await?;
        let mut one = hostile("d03-primaries", "one", "three");
        one["metadata"]["finalizers"] = json!(["example.com/of-somebody-else"]);
        create(bare, [one]).await?;
        let delete = ["delete", HOSTILES, "one", "-n", "d03-primaries", "--wait=false"];
        cluster.kubectl(&delete).await?;
        let mark = cluster.audit().mark()?;
        let spec = json!({"namespaces": ["d03-primaries"], "settings": {"finalizes": true}});
        bare.take_up("d03", HOSTILE, &spec).await?;
        let told = says(bare, "d03-primaries", "one", "Deleting", &["is being deleted"]).await?;
        ensure!(
            told["metadata"]["finalizers"] == json!(["example.com/of-somebody-else"]),
            "{told}"
        );
        let written = writes(bare, "d03", mark)?;
        let beside = written.filter(|write| write.subresource.as_deref() != Some("status"));
        ensure!(beside.count() == 0, "{beside}");
        let events = ["events", "-n", "d03-primaries", "--field-selector", "type=Warning"];
        let events = product::get(cluster, &events).await?;
        ensure!(events["items"] == json!([]), "{events}");
        let free = json!({"metadata": {"finalizers": null}}).to_string();
        let patch = [
            "patch",
            HOSTILES,
            "one",
            "-n",
            "d03-primaries",
            "--type=merge",
            "-p",
            &free,
        ];
        cluster.kubectl(&patch).await?;
        product::await_gone(cluster, &[HOSTILES, "one", "-n", "d03-primaries"]).await
    });
}

#[test]
fn d_09_a_namespace_that_ends_takes_all_with_it_and_each_primary_costs_at_most_one_refused_create() {
    on_whole(async |bare| {
        let cluster = &bare.cluster;
        cluster.kubectl(&["create", "namespace", "d09-primaries"]).await?;
        bare.take_up("d09", HOSTILE, &json!({"namespaces": ["d09-primaries"]}))
            .await?;
        let names: Vec<String> = (0..10).map(|number| format!("p{number:02}")).collect();
        create(bare, names.iter().map(|name| hostile("d09-primaries", name, "three"))).await?;
        for name in &names {
            says(bare, "d09-primaries", name, "Reconciled", &[]).await?;
        }
        let process = bare.host.pid();
        let mark = cluster.audit().mark()?;
        cluster
            .kubectl(&["delete", "namespace", "d09-primaries", "--wait=false"])
            .await?;
        product::await_gone(cluster, &["namespace", "d09-primaries"]).await?;
        let written = writes(bare, "d09", mark)?;
        // A refused create is logged without the name of what was not created.
        let refused = written.filter(|write| write.resource == "configmaps" && write.code == 403);
        ensure!(refused.count() <= names.len(), "{refused}");
        ensure!(bare.host.pid() == process, "the host is the same process");
        Ok(())
    });
}

#[test]
fn d_11_a_primary_that_is_held_says_what_its_deletion_waits_for() {
    on_whole(async |bare| {
        let cluster = &bare.cluster;
        // Without a finalizer it waits for nothing: owner references of the host block no deletion (H-01).
        let settings = json!({"settings": {"finalizes": true, "finalize": "done"}});
        bare.take_up("d11", HOSTILE, &settings).await?;
        create(bare, [hostile("d11", "one", "three")]).await?;
        says(bare, "d11", "one", "Reconciled", &[]).await?;
        let finalizers = async |name: &str, finalizers: Value| {
            let patch = json!({"metadata": {"finalizers": finalizers}}).to_string();
            let patch = ["patch", "configmap", name, "-n", "d11", "--type=merge", "-p", &patch];
            cluster.kubectl(&patch).await
        };
        for name in ["one", "one-2"] {
            finalizers(name, json!([format!("example.com/holds-{name}")])).await?;
        }
        let delete = [
            "delete",
            HOSTILES,
            "one",
            "-n",
            "d11",
            "--cascade=foreground",
            "--wait=false",
        ];
        cluster.kubectl(&delete).await?;
        let words = [
            "ConfigMap d11/one is still being deleted and waits for its finalizers example.com/holds-one",
            "ConfigMap d11/one-2 is still being deleted",
        ];
        says(bare, "d11", "one", "Deleting", &words).await?;
        for name in ["one", "one-2"] {
            let kept = product::get(cluster, &["configmap", name, "-n", "d11"]).await?;
            let held = kept["metadata"]["finalizers"].to_string();
            ensure!(
                held.contains("example.com/holds"),
                "what others put there is theirs to take off: {kept}"
            );
            finalizers(name, Value::Null).await?;
        }
        product::await_gone(cluster, &[HOSTILES, "one", "-n", "d11"]).await?;
        Ok(())
    });
}

#[test]
fn d_13_a_job_that_its_ttl_has_removed_is_not_run_again() {
    on_whole(async |bare| {
        let cluster = &bare.cluster;
        let job = json!({"group": "batch", "version": "v1", "kind": "Job", "plural": "jobs"});
        let settings = json!({"describe": "told", "behaviour": "run-once", "manifest": {"children": [job]}});
        let mark = cluster.audit().mark()?;
        bare.take_up("d13", HOSTILE, &json!({"settings": settings})).await?;
        let primary = |text: &str| {
            json!({
                "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
                "metadata": {"namespace": "d13", "name": "one"}, "spec": {"farewell": {"run": text}},
            })
        };
        let created = || -> Result<usize> {
            let jobs = writes(bare, "d13", mark)?.filter(|write| write.resource == "jobs");
            Ok(jobs.filter(|write| write.verb == "create" && write.code == 201).count())
        };
        for (runs, text) in ["first", "second"].iter().enumerate() {
            create(bare, [primary(text)]).await?;
            let one = [HOSTILES, "one", "-n", "d13"];
            product::await_value(cluster, &one, "/status/told/done/run", *text).await?;
            product::await_gone(cluster, &["job", "one", "-n", "d13"]).await?;
            for number in 0..5 {
                let mark = format!("example.com/touched={number}");
                let annotate = ["annotate", HOSTILES, "one", "-n", "d13", "--overwrite", &mark];
                cluster.kubectl(&annotate).await?;
            }
            // A decision about what was annotated last has been taken once another object that came after it has its own.
            let canary = hostile("d13", &format!("canary-{text}"), "none");
            create(bare, [canary]).await?;
            says(bare, "d13", &format!("canary-{text}"), "Reconciled", &[]).await?;
            ensure!(created()? == runs + 1, "{} Jobs were made", created()?);
        }
        Ok(())
    });
}
