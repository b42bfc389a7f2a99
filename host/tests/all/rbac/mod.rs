//! Shows on a real control plane that the host has the rights it needs and no more, and says which are missing.

mod admission;
mod command;
mod identities;
mod missing;
mod superfluous;
mod taken;

use crate::golden;
use crate::scenarios::real::{PROGRAM, Real};
use crate::scenarios::{RUNTIME, real};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::path::Path;
use windlass_testing::eventually;
use windlass_testing::product::{DEADLINE, NAMESPACE};

/// Plays on the real stage.
fn on_real(test: impl AsyncFnOnce(&'static Real) -> Result<()>) {
    RUNTIME.block_on(async {
        let stage = real().await;
        let played = test(stage).await.and_then(|()| stage.cluster.check_identities());
        played.unwrap_or_else(|error| panic!("{error:#}"));
    });
}

#[test]
fn the_shipped_manifests_are_taken_and_their_pod_passes_pod_security_restricted() {
    on_real(async |stage| {
        let folder = golden::path("../deploy/kustomize").display().to_string();
        let apply = [
            "apply",
            "--server-side",
            "--force-conflicts",
            "--dry-run=server",
            "-k",
            &folder,
        ];
        let said = stage.cluster.kubectl(&apply).await?;
        ensure!(said.contains("deployment.apps/windlass serverside-applied"), "{said}");
        let built = stage.cluster.kubectl(&["kustomize", &folder]).await?;
        let objects: Vec<Value> = serde_saphyr::from_multiple(&built)?;
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment");
        let template = &deployment.unwrap()["spec"]["template"];
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": NAMESPACE, "name": "tried"},
            "spec": template["spec"],
        });
        let create = ["create", "--dry-run=server", "-f", "-"];
        stage.cluster.kubectl_with_input(&create, &pod.to_string()).await?;
        pod["spec"]["containers"][0]["securityContext"] = Value::Null;
        let refused = stage.cluster.kubectl_with_input(&create, &pod.to_string()).await;
        let words = format!("{:#}", refused.unwrap_err());
        ensure!(words.contains("violates PodSecurity \"restricted"), "{words}");
        Ok(())
    });
}

#[test]
fn names_that_do_not_fit_a_label_are_refused_and_every_field_is_explained() {
    on_real(async |stage| {
        for name in ["a".repeat(41), "with.dot".into()] {
            let reconciler = json!({
                "apiVersion": "windlass.dev/v1alpha1", "kind": "Reconciler",
                "metadata": {"namespace": NAMESPACE, "name": name},
                "spec": {"source": {"configMap": {"name": "friend"}}, "serviceAccountName": "friend"},
            });
            let refused = stage.cluster.apply(&reconciler.to_string()).await;
            let words = format!("{:#}", refused.unwrap_err());
            ensure!(words.contains("use a DNS label of at most 40 characters"), "{words}");
        }
        for (field, words) in [
            ("reconciler", "Runs one module"),
            ("reconciler.spec", "Where the module's bytes come from"),
            ("reconciler.spec.serviceAccountName", "It has to consent"),
            ("reconciler.status", "The module that runs"),
        ] {
            let said = eventually(DEADLINE, field, async || {
                stage
                    .cluster
                    .kubectl(&["explain", "--api-version=windlass.dev/v1alpha1", field])
                    .await
            });
            let said = said.await?;
            let said: Vec<&str> = said.split_whitespace().collect();
            let said = said.join(" ");
            ensure!(said.contains(words), "{field}: {said}");
            ensure!(!said.contains("Auto-generated"), "{field}: {said}");
        }
        Ok(())
    });
}

#[test]
fn a_kind_that_nobody_serves_is_named_with_what_may_be_meant() {
    on_real(async |stage| {
        for command in ["list", "watch"] {
            let output = std::process::Command::new(Path::new(PROGRAM))
                .args([command, "ngnix"])
                .env("KUBECONFIG", stage.cluster.kubeconfig())
                .output()?;
            let said = String::from_utf8(output.stderr)?;
            ensure!(!output.status.success(), "it succeeded");
            ensure!(said.contains("no kind called `ngnix`; did you mean `nginx`?"), "{said}");
        }
        Ok(())
    });
}
