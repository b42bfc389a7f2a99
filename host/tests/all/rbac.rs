//! Shows on a real control plane that the host has the rights it needs and no more, and says which are missing.

use crate::golden;
use crate::scenarios::play::Play;
use crate::scenarios::real::{PROGRAM, Real};
use crate::scenarios::{RUNTIME, real};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use windlass_testing::product::{self, DEADLINE, HOST_USER, NAMESPACE};
use windlass_testing::{ControlPlane, eventually};

/// Plays on the real stage.
fn on_real(test: impl AsyncFnOnce(&'static Real) -> Result<()>) {
    RUNTIME.block_on(async {
        let played = test(real().await).await;
        played.unwrap_or_else(|error| panic!("{error:#}"));
    });
}

#[test]
fn every_write_about_primaries_and_children_is_sent_as_the_modules_account() {
    on_real(async |stage| {
        Play::new(stage, "rbac-audit", None).nginx("web", 1).await?;
        let guests = ["nginx", "deployments", "mycustomresources", "hostiles"];
        let mine = |namespace: &str| namespace == "rbac-audit";
        eventually(DEADLINE, "the writes are in the audit log", async || {
            let writes = stage.cluster.audit().writes_by(HOST_USER)?;
            let seen = |resource: &str| writes.resource(resource).filter(|write| mine(&write.namespace)).count();
            ensure!(seen("nginx") > 0 && seen("deployments") > 0, "{writes}");
            Ok(())
        })
        .await?;
        let writes = stage.cluster.audit().writes_by(HOST_USER)?;
        let (as_account, as_itself) = (
            writes.filter(|write| write.impersonated_user.is_some()),
            writes.filter(|write| write.impersonated_user.is_none()),
        );
        let about_guests = as_itself.filter(|write| guests.contains(&write.resource.as_str()));
        ensure!(about_guests.is_empty(), "the host wrote as itself: {about_guests}");
        let strange = as_account.filter(|write| {
            let user = write.impersonated_user.as_deref().unwrap_or_default();
            write.resource == "deployments" && user != "system:serviceaccount:windlass-system:nginx"
        });
        ensure!(strange.is_empty(), "as somebody else: {strange}");
        let own: BTreeSet<&str> = as_itself.iter().map(|write| write.resource.as_str()).collect();
        let allowed = BTreeSet::from(["reconcilers", "events", "secrets", "configmaps"]);
        ensure!(own.is_subset(&allowed), "the host wrote {own:?} as itself: {as_itself}");
        let elsewhere = as_itself.filter(|write| write.resource == "configmaps" && write.namespace != NAMESPACE);
        ensure!(
            elsewhere.is_empty(),
            "modules are kept in the host's namespace alone: {elsewhere}"
        );
        Ok(())
    });
}

#[test]
fn the_host_may_neither_read_secrets_nor_act_as_others() {
    on_real(async |stage| {
        let table = [
            ("get", "", "secrets", "default", "", false),
            ("list", "", "secrets", "", "", false),
            ("list", "", "secrets", NAMESPACE, "", false),
            ("get", "", "secrets", NAMESPACE, "somebodys", false),
            ("get", "", "secrets", NAMESPACE, "windlass-key", true),
            ("impersonate", "", "users", "", "admin", false),
            ("impersonate", "", "groups", "", "system:masters", false),
            ("impersonate", "", "serviceaccounts", NAMESPACE, "default", false),
            ("impersonate", "", "serviceaccounts", NAMESPACE, "windlass", false),
            ("impersonate", "", "serviceaccounts", "default", "nginx", false),
            ("impersonate", "", "serviceaccounts", NAMESPACE, "nginx", true),
            ("create", "apps", "deployments", "default", "", false),
            ("patch", "apps", "deployments", "default", "", false),
            ("patch", "stable.underneathall.com", "nginx", "default", "", false),
            ("update", "", "configmaps", NAMESPACE, "", false),
            ("create", "rbac.authorization.k8s.io", "clusterroles", "", "", false),
            ("delete", "windlass.dev", "reconcilers", NAMESPACE, "", false),
        ];
        for (verb, group, resource, namespace, name, wanted) in table {
            let attributes =
                json!({"verb": verb, "group": group, "resource": resource, "namespace": namespace, "name": name});
            let review = json!({
                "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
                "spec": {"user": HOST_USER, "resourceAttributes": attributes},
            });
            let arguments = ["create", "-f", "-", "-o", "jsonpath={.status.allowed}"];
            let said = stage
                .cluster
                .kubectl_with_input(&arguments, &review.to_string())
                .await?;
            ensure!((said == "true") == wanted, "{attributes}: {said}");
        }
        Ok(())
    });
}

#[test]
fn a_reconciler_without_account_consent_or_rights_waits_and_says_what_is_missing() {
    on_real(async |stage| {
        let cluster = stage.cluster;
        cluster.kubectl(&["create", "namespace", "rbac-poor"]).await?;
        let reconciler = json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "Reconciler",
            "metadata": {"namespace": NAMESPACE, "name": "poor"},
            "spec": {
                "source": {"configMap": {"name": "hostile"}}, "serviceAccountName": "poor", "namespaces": ["rbac-poor"],
                // Whoever writes no status may share the primaries of another one.
                "settings": {"describe": "no-status"},
            },
        });
        cluster.apply(&reconciler.to_string()).await?;
        told(cluster, "ServiceAccount windlass-system/poor does not exist").await?;
        cluster
            .kubectl(&["create", "serviceaccount", "poor", "-n", NAMESPACE])
            .await?;
        told(
            cluster,
            "does not consent; annotate it with windlass.dev/reconcilers: \"poor\"",
        )
        .await?;
        let consent = [
            "annotate",
            "serviceaccount",
            "poor",
            "-n",
            NAMESPACE,
            "windlass.dev/reconcilers=poor",
        ];
        cluster.kubectl(&consent).await?;
        told(cluster, "the host may not act as the ServiceAccount").await?;
        cluster.apply(&impersonation().to_string()).await?;
        told(cluster, "list hostiles.hostile.windlass.test in namespace rbac-poor").await?;
        for other in ["nginx", "friend"] {
            product::await_reconciler(cluster, other, "Ready", "True").await?;
        }
        Play::new(stage, "rbac-meanwhile", None).nginx("web", 1).await?;
        let settings = tempfile::NamedTempFile::new()?;
        std::fs::write(&settings, "describe: no-status")?;
        let roles = std::process::Command::new(PROGRAM)
            .args([
                "rbac",
                windlass_artifacts::HOSTILE,
                "--settings",
                &settings.path().display().to_string(),
                "--name",
                "poor",
                "--for-namespace",
                "rbac-poor",
            ])
            .output()?;
        cluster.apply(&String::from_utf8(roles.stdout)?).await?;
        product::await_reconciler(cluster, "poor", "Ready", "True").await?;
        cluster
            .kubectl(&["delete", "reconciler", "-n", NAMESPACE, "poor"])
            .await?;
        Ok(())
    });
}

/// Lets the host act as the account, which still may do nothing by itself.
fn impersonation() -> Value {
    let metadata = json!({"namespace": NAMESPACE, "name": "windlass:poor:impersonate"});
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata,
        "rules": [{
            "apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"], "resourceNames": ["poor"],
        }],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "windlass:poor:impersonate"},
        "subjects": [{"kind": "ServiceAccount", "namespace": NAMESPACE, "name": "windlass"}],
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [role, binding]})
}

/// Waits until the Reconciler says why it is not permitted.
async fn told(cluster: &ControlPlane, words: &str) -> Result<()> {
    eventually(DEADLINE, words, async || {
        let object = product::get(cluster, &["reconciler", "-n", NAMESPACE, "poor"]).await?;
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let permitted = conditions.iter().find(|condition| condition["type"] == "Permitted");
        let said = permitted.map(|condition| (condition["status"].clone(), condition["message"].to_string()));
        let (status, message) = said.unwrap_or_default();
        ensure!(
            status == "False" && unquoted(&message).contains(words),
            "{}",
            object["status"]
        );
        Ok(())
    })
    .await
}

fn unquoted(text: &str) -> String {
    text.replace("\\\"", "\"")
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
