//! Shows what `windlass rbac` prints, that applying it is all that a module needs, and what it refuses.

use crate::scenarios::real::PROGRAM;
use crate::spec_on_real::on_bare;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::{Command, Output};
use windlass_artifacts::{FRIEND, HOSTILE, NGINX};
use windlass_testing::product::{self, NAMESPACE};

fn rbac(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).arg("rbac").args(arguments).output().unwrap()
}

/// What is printed.
fn printed(arguments: &[&str]) -> String {
    let output = rbac(arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_difference_of_two_modules_is_told_both_ways() {
    let text = printed(&[NGINX, FRIEND]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.contains(&"- create,delete,get,list,patch,watch deployments.apps in its namespaces"));
    assert!(lines.contains(&"+ list,watch pods in all namespaces"), "{text}");
    assert!(!text.contains("events"), "what both need is not told: {text}");
    let told: Value = serde_json::from_str(&printed(&[NGINX, FRIEND, "-o", "json"])).unwrap();
    for (key, sign) in [("removed", "- "), ("added", "+ ")] {
        let wanted: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix(sign)).collect();
        assert_eq!(told[key], json!(wanted));
    }
    assert_eq!(told["rightsHash"].as_str().map(str::len), Some(64));
    assert_eq!(printed(&[NGINX, NGINX]), "both need the same rights\n");
}

#[test]
fn what_cannot_be_meant_is_refused_in_a_sentence() {
    for (arguments, words) in [
        (
            &[NGINX, "--namespace", "BAD/ns"][..],
            "the name of a namespace must be an RFC 1123 label",
        ),
        (
            &[NGINX, "--for-namespace", "a.b"],
            "the name of a namespace must be an RFC 1123 label",
        ),
        (
            &[NGINX, "--service-account", "No Name"],
            "the name of a ServiceAccount must be",
        ),
        (&[NGINX, "--name", "with.dot"], "the name of a Reconciler must be"),
        (&[NGINX, NGINX, NGINX], "unexpected value"),
        (&[], "the following required arguments were not provided"),
        (&["--use", "nginx"], "--user <USER>"),
        (&[NGINX, "--use", "nginx", "--user", "alice"], "cannot be used with"),
        (&["--use", "nginx", "--user", ""], "a value is required for '--user"),
        (
            &["--use", "nginx", "--user", "a", "--group", "b"],
            "cannot be used with",
        ),
    ] {
        let output = rbac(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains(words),
            "{arguments:?}: {said}"
        );
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn everybody_who_may_use_an_account_has_a_binding_of_their_own() {
    let subject = |kind: &str, who: &str| {
        let text = printed(&["--use", "nginx", kind, who, "-o", "json"]);
        let binding = serde_json::from_str::<Value>(&text).unwrap()["items"][1].clone();
        (
            binding["metadata"]["name"].as_str().unwrap().to_owned(),
            binding["subjects"][0].clone(),
        )
    };
    let everybody = [
        ("--user", "alice"),
        ("--user", "oidc/alice"),
        ("--user", "oidc-alice"),
        ("--user", "oidc=2falice"),
        ("--group", "alice"),
    ];
    let subjects = everybody.map(|(kind, who)| subject(kind, who));
    let names: BTreeSet<&String> = subjects.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), everybody.len(), "{names:?}");
    assert!(names.iter().all(|name| !name.contains(['/', '%'])), "{names:?}");
    assert_eq!(subjects[1].1["name"], "oidc/alice");
    assert_eq!(subjects[4].1["kind"], "Group");
}

#[test]
fn an_account_of_another_name_is_said_to_consent_to_this_one_alone() {
    let output = rbac(&[NGINX, "--name", "one", "--service-account", "shared"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("consents to Reconciler one alone"),
        "{said}"
    );
    assert!(rbac(&[NGINX, "--name", "one"]).stderr.is_empty());
}

/// With settings that need more, another account, and two namespaces.
#[test]
fn what_is_printed_is_all_that_a_module_needs() {
    on_bare(async |bare| {
        let cluster = &bare.cluster;
        let settings = cluster.directory().join("settings-of-printed.yaml");
        std::fs::write(&settings, "describe: more-rights\nfinalizes: true\n")?;
        let roles = printed(&[
            HOSTILE,
            "--settings",
            &settings.display().to_string(),
            "--name",
            "printed",
            "--service-account",
            "another",
            "--for-namespace",
            "printed-a",
            "--for-namespace",
            "printed-b",
        ]);
        let namespaces = ["printed-a", "printed-b"];
        for namespace in namespaces {
            cluster.kubectl(&["create", "namespace", namespace]).await?;
        }
        cluster.apply(&roles).await?;
        let from = format!("--from-file=module.wasm={HOSTILE}");
        cluster
            .kubectl(&["create", "configmap", "printed", "-n", NAMESPACE, &from])
            .await?;
        let reconciler = json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "Reconciler",
            "metadata": {"namespace": NAMESPACE, "name": "printed"},
            "spec": {
                "source": {"configMap": {"name": "printed"}}, "serviceAccountName": "another",
                "namespaces": namespaces,
                "settings": {"describe": "more-rights", "finalizes": true, "finalize": "done", "behaviour": "three"},
            },
        });
        cluster.apply(&reconciler.to_string()).await?;
        product::await_reconciler(cluster, "printed", "Ready", "True").await?;
        for namespace in namespaces {
            lives_and_goes(cluster, namespace).await?;
        }
        let mark = windlass_testing::Mark::BEGINNING;
        let as_another = cluster.audit().writes_since(mark)?;
        let as_another = as_another.impersonating("system:serviceaccount:windlass-system:another");
        ensure!(as_another.filter(|write| write.code == 403).is_empty(), "{as_another}");
        Ok(())
    });
}

/// A primary gets its children, and goes with them by the host's hand.
async fn lives_and_goes(cluster: &windlass_testing::ControlPlane, namespace: &str) -> Result<()> {
    let one = json!({
        "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
        "metadata": {"namespace": namespace, "name": "one"}, "spec": {},
    });
    cluster.apply(&one.to_string()).await?;
    let hostile = ["hostiles.hostile.windlass.test", "one", "-n", namespace];
    product::await_value(cluster, &hostile, "/status/conditions/0/reason", "Reconciled").await?;
    cluster
        .kubectl(&["delete", hostile[0], "one", "-n", namespace, "--wait=false"])
        .await?;
    product::await_gone(cluster, &hostile).await?;
    product::await_gone(
        cluster,
        &["configmaps", "-n", namespace, "-l", "windlass.dev/reconciler=printed"],
    )
    .await
}
