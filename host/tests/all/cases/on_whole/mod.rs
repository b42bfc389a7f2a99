//! Cases on a whole control plane with a fault proxy before the host: what networks, servers and admission do on bad days.

mod health;
mod ownership;
mod deletion;
mod refused;
mod admission;

use crate::spec_on_real::Bare;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windlass_testing::eventually;
use windlass_testing::fault_proxy::Passed;
use windlass_testing::product::{self, DEADLINE};

const HOSTILES: &str = "hostiles.hostile.windlass.test";

/// A Hostile that is told what to want.
fn told(namespace: &str, name: &str, told: &Value) -> Value {
    json!({
        "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
        "metadata": {"namespace": namespace, "name": name}, "spec": {"told": told},
    })
}

/// A ConfigMap as a child, with one value.
fn config_map(name: &str, value: &str) -> Value {
    json!({"object": {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": value},
    }})
}

fn wants(children: &[Value]) -> Value {
    json!({"children": children})
}

/// Puts objects there, all at once.
async fn put(bare: &Bare, objects: &[Value]) -> Result<()> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    bare.cluster.apply(&list.to_string()).await?;
    Ok(())
}

/// Waits until the host gives a reason for the present generation of a Hostile; gives the condition.
async fn says(bare: &Bare, namespace: &str, name: &str, reason: &str) -> Result<Value> {
    let what = format!("{namespace}/{name} is told {reason}");
    eventually(DEADLINE, &what, async || {
        let object = product::get(&bare.cluster, &[HOSTILES, name, "-n", namespace]).await?;
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let reconciled = conditions.into_iter().find(|one| one["type"] == "Reconciled");
        let reconciled = reconciled.with_context(|| format!("it has no status: {object}"))?;
        ensure!(
            reconciled["reason"] == reason && reconciled["observedGeneration"] == object["metadata"]["generation"],
            "{reconciled}"
        );
        Ok(reconciled)
    })
    .await
}

/// Deletes a Hostile and does not wait for it.
async fn delete(bare: &Bare, namespace: &str, name: &str) -> Result<()> {
    let arguments = ["delete", HOSTILES, name, "-n", namespace, "--wait=false"];
    bare.cluster.kubectl(&arguments).await?;
    Ok(())
}

async fn gone(bare: &Bare, kind: &str, namespace: &str, name: &str) -> Result<()> {
    product::await_gone(&bare.cluster, &[kind, name, "-n", namespace]).await
}

/// One object, with its uid.
async fn uid(bare: &Bare, kind: &str, namespace: &str, name: &str) -> Result<String> {
    let object = product::get(&bare.cluster, &[kind, name, "-n", namespace]).await?;
    Ok(object["metadata"]["uid"].as_str().unwrap_or_default().to_owned())
}

/// The host's writes to a kind in a namespace since a mark of the proxy.
fn writes(bare: &Bare, mark: u64, namespace: &str, kind: &str) -> Vec<Passed> {
    let passed = bare.proxy().passed_since(mark);
    let wanted =
        |passed: &Passed| passed.call.is_write() && passed.call.namespace == namespace && passed.call.kind() == kind;
    passed.into_iter().filter(wanted).collect()
}

/// Another primary, in the same namespace, converges: nobody but those in trouble is kept waiting.
async fn canary(bare: &Bare, namespace: &str) -> Result<()> {
    put(
        bare,
        &[told(namespace, "canary", &wants(&[config_map("canary", "sings")]))],
    )
    .await?;
    says(bare, namespace, "canary", "Reconciled").await?;
    Ok(())
}
