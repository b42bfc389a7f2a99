//! Shows that nothing of what `windlass rbac` prints is superfluous: without any one verb, subject or the consent something
//! breaks, and is named.

use crate::scenarios::real::PROGRAM;
use crate::scenarios::{CRDS, RUNTIME};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use windlass_testing::product::{self, DEADLINE, NAMESPACE};
use windlass_testing::{ControlPlane, eventually};

/// What stands for the name of a variant in what is printed: of its Reconciler, its account and its namespace.
const NAME: &str = "name-of-the-variant";

/// What is printed, less one thing.
struct Variant {
    name: String,
    objects: Vec<Value>,
    /// What is said then: a condition that is False, and words of its message.
    told: Option<(&'static str, String)>,
}

#[test]
fn without_any_one_thing_that_is_printed_something_breaks_and_is_named() {
    RUNTIME.block_on(async {
        play().await.unwrap_or_else(|error| panic!("{error:#}"));
    });
}

/// On a control plane of its own, since a right that the host has for another module would stand in for a missing one.
async fn play() -> Result<()> {
    let cluster = &ControlPlane::start_api_only().await?;
    let environment = product::account(cluster).await?;
    product::apply_file(cluster, "deploy/crds/reconcilers.yaml").await?;
    for crd in CRDS {
        product::apply_file(cluster, crd).await?;
    }
    let mut host = product::host(Path::new(PROGRAM), &environment, "host-of-variants.log").start()?;
    host.ready(DEADLINE).await?;
    let mut together = Vec::new();
    for (guest, module) in [
        ("nginx", windlass_artifacts::NGINX),
        ("friend", windlass_artifacts::FRIEND),
    ] {
        let from = format!("--from-file=module.wasm={module}");
        cluster
            .kubectl(&["create", "configmap", guest, "-n", NAMESPACE, &from])
            .await?;
        for (variant, alone) in variants(guest, &printed(module)?) {
            if alone {
                take_up(cluster, guest, &[&variant]).await?;
                told(cluster, &variant).await?;
                cluster
                    .kubectl(&["delete", "reconciler", &variant.name, "-n", NAMESPACE])
                    .await?;
            } else {
                together.push((guest, variant));
            }
        }
    }
    ensure!(together.len() > 25, "{} variants", together.len());
    for guest in ["nginx", "friend"] {
        let of_guest = together.iter().filter(|(of, _)| *of == guest);
        take_up(
            cluster,
            guest,
            &of_guest.map(|(_, variant)| variant).collect::<Vec<_>>(),
        )
        .await?;
    }
    for (_, variant) in &together {
        told(cluster, variant).await?;
    }
    works(cluster).await
}

/// With all that is printed, and no more, a module does its work.
async fn works(cluster: &ControlPlane) -> Result<()> {
    let nginx = json!({
        "apiVersion": "stable.underneathall.com/v1", "kind": "Nginx",
        "metadata": {"namespace": "nginx-whole", "name": "web"}, "spec": {"replicas": 1},
    });
    cluster.apply(&nginx.to_string()).await?;
    let nginx = ["nginx.stable.underneathall.com", "web", "-n", "nginx-whole"];
    product::await_value(cluster, &nginx, "/status/conditions/0/reason", "Reconciled").await?;
    product::get(cluster, &["deployment", "web-deploy", "-n", "nginx-whole"]).await?;
    Ok(())
}

/// What is printed for a variant.
fn printed(module: &str) -> Result<Vec<Value>> {
    let output = Command::new(PROGRAM)
        .args(["rbac", module, "-o", "json", "--name", NAME, "--for-namespace", NAME])
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let list: Value = serde_json::from_slice(&output.stdout)?;
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}

/// Every way of leaving one thing out, and whether that shows only where no other variant is.
fn variants(guest: &str, printed: &[Value]) -> Vec<(Variant, bool)> {
    let mut variants = Vec::new();
    let mut add = |objects: Vec<Value>, told: Option<(&'static str, String)>, alone: bool| {
        let name = match &told {
            Some(_) => format!("{guest}-{}", variants.len()),
            None => format!("{guest}-whole"),
        };
        let text = json!(objects).to_string().replace(NAME, &name);
        let objects = serde_json::from_str(&text).unwrap();
        variants.push((Variant { name, objects, told }, alone));
    };
    add(printed.to_vec(), None, false);
    for (number, object) in printed.iter().enumerate() {
        let with = |changed: Value| {
            let mut objects = printed.to_vec();
            objects[number] = changed;
            objects
        };
        let kind = object["kind"].as_str().unwrap_or_default();
        match kind {
            "ServiceAccount" => {
                let mut silent = object.clone();
                silent["metadata"]["annotations"] = json!({});
                add(with(silent), Some(("Permitted", "does not consent".into())), false);
                let mut objects = printed.to_vec();
                objects.remove(number);
                add(objects, Some(("Permitted", "does not exist".into())), false);
            }
            "Role" | "ClusterRole" => {
                for (less, what) in less_one_verb(object) {
                    add(with(less), Some(("Permitted", what)), false);
                }
            }
            _ => {
                let subjects = object["subjects"].as_array().cloned().unwrap_or_default();
                for (position, subject) in subjects.iter().enumerate() {
                    let mut less = object.clone();
                    less["subjects"].as_array_mut().unwrap().remove(position);
                    let is_host = subject["name"] == "windlass";
                    let impersonates = object["metadata"]["name"].to_string().contains(":impersonate");
                    let told = match (is_host, impersonates) {
                        (_, true) => ("Permitted", "the host may not act as the ServiceAccount"),
                        (true, false) => ("Synced", "cannot be watched yet"),
                        (false, false) => ("Permitted", "the ServiceAccount lacks rights that the module needs"),
                    };
                    let alone = is_host && kind == "ClusterRoleBinding";
                    add(with(less), Some((told.0, told.1.into())), alone);
                }
            }
        }
    }
    variants
}

/// A role without each verb on each resource, and how that is told.
fn less_one_verb(role: &Value) -> Vec<(Value, String)> {
    let rules = role["rules"].as_array().cloned().unwrap_or_default();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut less = Vec::new();
    for (number, rule) in rules.iter().enumerate() {
        for resource in list(&rule["resources"]) {
            for verb in list(&rule["verbs"]) {
                let mut others = rule.clone();
                others["resources"]
                    .as_array_mut()
                    .unwrap()
                    .retain(|other| *other != resource);
                let mut this = rule.clone();
                this["resources"] = json!([resource]);
                this["verbs"].as_array_mut().unwrap().retain(|other| *other != verb);
                let mut rules = rules.clone();
                rules[number] = others;
                rules.push(this);
                rules.retain(|rule| !list(&rule["resources"]).is_empty() && !list(&rule["verbs"]).is_empty());
                let mut role = role.clone();
                role["rules"] = json!(rules);
                let told = match verb.as_str() {
                    Some("impersonate") => "the host may not act as the ServiceAccount".into(),
                    verb => {
                        let resource = resource.as_str().unwrap_or_default();
                        format!(": {} {}", verb.unwrap_or_default(), full_name(rule, resource))
                    }
                };
                less.push((role, told));
            }
        }
    }
    less
}

fn full_name(rule: &Value, resource: &str) -> String {
    let group = rule["apiGroups"][0].as_str().unwrap_or_default();
    match resource.split_once('/') {
        _ if group.is_empty() => resource.into(),
        Some((resource, subresource)) => format!("{resource}.{group}/{subresource}"),
        None => format!("{resource}.{group}"),
    }
}

/// Applies variants with a namespace and a Reconciler each.
async fn take_up(cluster: &ControlPlane, guest: &str, variants: &[&Variant]) -> Result<()> {
    let namespaces = variants
        .iter()
        .map(|variant| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": variant.name}}));
    let objects = variants.iter().flat_map(|variant| variant.objects.iter().cloned());
    let reconcilers = variants.iter().map(|variant| {
        json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "Reconciler",
            "metadata": {"namespace": NAMESPACE, "name": variant.name},
            "spec": {
                "source": {"configMap": {"name": guest}}, "serviceAccountName": variant.name,
                "namespaces": [variant.name],
            },
        })
    });
    let items: Vec<Value> = namespaces.chain(objects).chain(reconcilers).collect();
    cluster
        .apply(&json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string())
        .await?;
    Ok(())
}

/// Waits until a variant says what is missing, or that it is ready where nothing is.
async fn told(cluster: &ControlPlane, variant: &Variant) -> Result<()> {
    let (type_, status, words) = match &variant.told {
        Some((type_, words)) => (*type_, "False", words.as_str()),
        None => ("Ready", "True", ""),
    };
    let what = format!("{} says {type_}={status} {words}", variant.name);
    eventually(DEADLINE * 2, &what, async || {
        let object = product::get(cluster, &["reconciler", &variant.name, "-n", NAMESPACE]).await?;
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions.iter().find(|condition| condition["type"] == type_);
        let found = found.cloned().unwrap_or_default();
        let message = found["message"].as_str().unwrap_or_default();
        ensure!(found["status"] == status && message.contains(words), "{conditions:?}");
        Ok(())
    })
    .await
}
