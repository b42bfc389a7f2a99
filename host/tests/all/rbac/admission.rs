//! Shows who may have a module run as which account: the admission policies that are shipped with the host.

use crate::spec_on_real::{Bare, on_bare};
use crate::things::{in_system, nginx, reconcilers};
use crate::world::World;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tokio::process::Command;
use windlass_testing::product::{self, DEADLINE, HOST_USER, NAMESPACE};
use windlass_testing::{ControlPlane, eventually};

/// Somebody who may write Reconcilers and ConfigMaps, and nothing else.
async fn writer(cluster: &ControlPlane, user: &str) -> Result<()> {
    let group = "rbac.authorization.k8s.io";
    let metadata = json!({"name": format!("writer-{user}"), "namespace": NAMESPACE});
    let verbs = ["get", "create", "patch", "delete"];
    let role = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": metadata,
        "rules": [
            {"apiGroups": ["windlass.dev"], "resources": ["reconcilers"], "verbs": verbs},
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs},
        ],
    });
    let binding = json!({
        "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": "Role", "name": metadata["name"]},
        "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
    });
    cluster
        .apply(&json!({"apiVersion": "v1", "kind": "List", "items": [role, binding]}).to_string())
        .await?;
    Ok(())
}

/// Does what a refusal says in its backticks.
async fn follow(cluster: &ControlPlane, refusal: &str) -> Result<()> {
    let command = refusal.split('`').nth(1).unwrap_or_default();
    let mut shell = Command::new("bash");
    let program = std::path::Path::new(crate::scenarios::real::PROGRAM);
    let path = std::env::join_paths(
        [program.parent().unwrap_or(program), cluster.directory()]
            .into_iter()
            .map(std::path::Path::to_path_buf)
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )?;
    shell
        .args(["-euo", "pipefail", "-c", command])
        .env("PATH", path)
        .env("KUBECONFIG", cluster.kubeconfig());
    let done = shell.output().await?;
    ensure!(
        done.status.success(),
        "{command}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    Ok(())
}

/// Waits until somebody is refused for want of `use` on an account; gives the words.
async fn refused(what: &str, account: &str, mut tried: impl AsyncFnMut() -> Result<String>) -> Result<String> {
    // A policy is in force a moment after it was made, and a right gone a moment after it was taken.
    eventually(DEADLINE, what, async || {
        let words = match tried().await {
            Ok(taken) => anyhow::bail!("it was taken: {taken}"),
            Err(refused) => format!("{refused:#}"),
        };
        let wanted = format!("may not use ServiceAccount {NAMESPACE}/{account}, as which the module");
        ensure!(words.contains(&wanted), "{words}");
        Ok(words)
    })
    .await
}

fn reconciler(name: &str, account: &str) -> String {
    json!({
        "apiVersion": "windlass.dev/v1alpha1", "kind": "Reconciler",
        "metadata": {"namespace": NAMESPACE, "name": name},
        "spec": {
            "source": {"configMap": {"name": name}}, "serviceAccountName": account, "suspend": true,
        },
    })
    .to_string()
}

#[test]
fn whoever_says_as_whom_a_module_runs_has_the_verb_use_on_that_account() {
    on_bare(async |bare| {
        let cluster = &bare.cluster;
        writer(cluster, "alice").await?;
        let create = async |dry_run: &str, name: &str, account: &str| {
            let arguments = ["create", "--as", "alice", dry_run, "-f", "-"];
            cluster.kubectl_with_input(&arguments, &reconciler(name, account)).await
        };
        let words = refused("alice may not use it", "chosen", async || {
            create("--dry-run=server", "of-alice", "chosen").await
        })
        .await?;
        follow(cluster, &words).await?;
        eventually(DEADLINE, "alice may use it", async || {
            create("--dry-run=none", "of-alice", "chosen").await
        })
        .await?;
        let patch = async |patch: Value| {
            let patch = patch.to_string();
            let arguments = [
                "patch",
                "reconciler",
                "of-alice",
                "-n",
                NAMESPACE,
                "--as",
                "alice",
                "--type=merge",
                "-p",
                &patch,
            ];
            cluster.kubectl(&arguments).await
        };
        refused("alice may not use another one", "other", async || {
            patch(json!({"spec": {"serviceAccountName": "other"}})).await
        })
        .await?;
        cluster
            .kubectl(&["delete", "rolebinding", "-n", NAMESPACE, "windlass:chosen:use:alice"])
            .await?;
        // What is done as the account is asked for like the account; everything else is not.
        refused("alice may not have something else run as it", "chosen", async || {
            patch(json!({"spec": {"source": {"configMap": {"name": "else"}}}})).await
        })
        .await?;
        refused("nor another version", "chosen", async || {
            patch(json!({"spec": {"digest": "1".repeat(64)}})).await
        })
        .await?;
        for more in [
            json!({"settings": {"a": 1}}),
            json!({"namespaces": ["*"]}),
            json!({"adoption": {"fromFieldManagers": ["helm"]}}),
            json!({"secretValues": true}),
            json!({"approvedRights": "1".repeat(64)}),
        ] {
            refused(&format!("nor {more}"), "chosen", async || {
                patch(json!({"spec": more})).await
            })
            .await?;
        }
        let less = json!({"suspend": false, "limits": {"children": 1}, "onFinalizeFailure": "Skip"});
        patch(json!({"spec": less, "metadata": {"labels": {"a": "b"}}})).await?;
        let kept = product::get(cluster, &["reconciler", "of-alice", "-n", NAMESPACE]).await?;
        ensure!(
            kept["spec"]["serviceAccountName"] == "chosen" && kept["spec"]["suspend"] == false,
            "{kept}"
        );
        // The host's own writes pass: it said how the Reconciler goes.
        product::await_reconciler(cluster, "of-alice", "Ready", "False").await?;
        cluster
            .kubectl(&["delete", "reconciler", "-n", NAMESPACE, "of-alice"])
            .await?;
        Ok(())
    });
}

#[test]
fn whoever_drops_a_module_in_has_the_verb_use_on_the_account_of_its_name() {
    on_bare(async |bare| {
        let cluster = &bare.cluster;
        writer(cluster, "bob").await?;
        let config_map = |text: &str| {
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "data": {"settings.yaml": text},
                "metadata": {"namespace": NAMESPACE, "name": "dropped", "labels": {"windlass.dev/module": "true"}},
            })
            .to_string()
        };
        let as_bob = async |arguments: &[&str], input: &str| {
            let arguments: Vec<&str> = arguments
                .iter()
                .chain(&["-n", NAMESPACE, "--as", "bob"])
                .copied()
                .collect();
            cluster.kubectl_with_input(&arguments, input).await
        };
        refused("bob may not drop it in", "dropped", async || {
            as_bob(&["create", "--dry-run=server", "-f", "-"], &config_map("")).await
        })
        .await?;
        let plain = ["create", "configmap", "dropped", "--from-literal=settings.yaml=first"];
        as_bob(&plain, "").await?;
        let label = ["label", "configmap", "dropped", "windlass.dev/module=true"];
        let words = refused("nor label one that is there", "dropped", async || {
            as_bob(&label, "").await
        })
        .await?;
        // A Reconciler may name any ConfigMap, however it is labelled.
        for content in [
            json!({"binaryData": {"whatever": "AA=="}}),
            json!({"data": {"index.yaml": "digest: ''"}}),
        ] {
            let mut source = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": NAMESPACE, "name": "source"},
            });
            source
                .as_object_mut()
                .unwrap()
                .extend(content.as_object().unwrap().clone());
            refused("nor bring one without the label", "source", async || {
                as_bob(&["create", "-f", "-"], &source.to_string()).await
            })
            .await?;
            source["metadata"] = json!({
                "namespace": NAMESPACE, "name": "source-part-0", "labels": {"windlass.dev/part-of": "source"},
            });
            refused("nor a part of one", "source", async || {
                as_bob(&["create", "-f", "-"], &source.to_string()).await
            })
            .await?;
        }
        cluster.kubectl(&[&label[..], &["-n", NAMESPACE]].concat()).await?;
        drops_in_as_its_own_account(bare).await?;
        let data = json!({"data": {"settings.yaml": "second"}}).to_string();
        let change = ["patch", "configmap", "dropped", "-p", &data];
        refused("nor change what is in it", "dropped", async || {
            as_bob(&change, "").await
        })
        .await?;
        let unlabelled =
            json!({"metadata": {"labels": {"windlass.dev/module": null}}, "data": {"settings.yaml": "third"}});
        let unlabel = ["patch", "configmap", "dropped", "-p", &unlabelled.to_string()];
        refused("nor by taking the label off with it", "dropped", async || {
            as_bob(&unlabel, "").await
        })
        .await?;
        as_bob(&["annotate", "configmap", "dropped", "unrelated=yes"], "").await?;
        follow(cluster, &words).await?;
        eventually(DEADLINE, "bob may by now", async || as_bob(&change, "").await).await?;
        as_bob(&["label", "configmap", "dropped", "windlass.dev/module-"], "").await?;
        cluster
            .kubectl(&["delete", "configmap", "dropped", "-n", NAMESPACE])
            .await?;
        cluster
            .kubectl(&["delete", "reconciler", "dropped", "-n", NAMESPACE])
            .await?;
        Ok(())
    });
}

#[test]
fn the_host_makes_its_key_and_no_secret_that_could_be_filled_with_a_token() {
    on_bare(async |bare| {
        let cluster = &bare.cluster;
        let host = ["create", "--dry-run=server", "--as", HOST_USER, "-f", "-"];
        let secret = |name: &str, type_: &str| {
            json!({
                "apiVersion": "v1", "kind": "Secret", "type": type_,
                "metadata": {
                    "namespace": NAMESPACE, "name": name,
                    "annotations": {"kubernetes.io/service-account.name": "default"},
                },
            })
            .to_string()
        };
        for (name, type_) in [
            ("windlass-key", "kubernetes.io/service-account-token"),
            ("another", "Opaque"),
        ] {
            let what = format!("{name} of type {type_}");
            eventually(DEADLINE, &what, async || {
                let Err(refused) = cluster.kubectl_with_input(&host, &secret(name, type_)).await else {
                    anyhow::bail!("it was taken")
                };
                let words = format!("{refused:#}");
                ensure!(
                    words.contains("the host may make the Secret windlass-key of type Opaque"),
                    "{words}"
                );
                Ok(())
            })
            .await?;
        }
        Ok(())
    });
}

/// The host makes the Reconciler of a drop-in without having `use` on any account.
async fn drops_in_as_its_own_account(bare: &Bare) -> Result<()> {
    let cluster = &bare.cluster;
    let reconciler = ["reconciler", "dropped", "-n", NAMESPACE];
    let made = product::await_value(cluster, &reconciler, "/spec/serviceAccountName", "dropped").await?;
    ensure!(made["metadata"]["labels"]["windlass.dev/drop-in"] == "true", "{made}");
    // Nobody makes it run as another one, not even whoever may use every account.
    let other = json!({"spec": {"serviceAccountName": "other"}}).to_string();
    let patch = [
        "patch",
        "reconciler",
        "dropped",
        "-n",
        NAMESPACE,
        "--type=merge",
        "-p",
        &other,
    ];
    let refused = cluster.kubectl(&patch).await;
    let words = format!("{:#}", refused.unwrap_err());
    ensure!(
        words.contains("a drop-in runs as the ServiceAccount of its own name"),
        "{words}"
    );
    Ok(())
}

/// The host would have to be granted `use` for anything else that it makes.
#[test]
fn the_host_makes_reconcilers_of_drop_ins_alone_and_only_with_the_account_of_their_name() {
    on_bare(async |bare| {
        let tried = async |name: &str, account: &str, label: &str| {
            let mut object: Value = serde_json::from_str(&reconciler(name, account))?;
            object["metadata"]["labels"] = json!({label: "true"});
            let host = ["create", "--as", product::HOST_USER, "--dry-run=server", "-f", "-"];
            bare.cluster.kubectl_with_input(&host, &object.to_string()).await
        };
        refused("another account", "other", async || {
            tried("made", "other", "windlass.dev/drop-in").await
        })
        .await?;
        refused("no drop-in", "made", async || tried("made", "made", "other").await).await?;
        tried("made", "made", "windlass.dev/drop-in").await?;
        Ok(())
    });
}

/// Where the policies are not installed the host itself sees to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drop_in_that_was_given_another_account_takes_no_decision() {
    let world = World::with_guests(&["nginx"]).await;
    world.account("other", "nginx");
    let what = in_system(reconcilers(), "nginx");
    world.patch(&what, &json!({"spec": {"serviceAccountName": "other"}}));
    world
        .until("it is told", || {
            let message = world.message("nginx", "Permitted");
            message.contains("a drop-in runs as the ServiceAccount of its own name, and not as windlass-system/other")
        })
        .await;
    let mark = world.cluster.mark();
    world.create(nginx("web", 1));
    world.quiet().await;
    for account in ["nginx", "other"] {
        assert_eq!(world.writes_for(account, mark), []);
    }
    world.patch(&what, &json!({"metadata": {"labels": {"windlass.dev/drop-in": null}}}));
    world.canary("canary").await;
}
