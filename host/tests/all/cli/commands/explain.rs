//! Explains an object to somebody who may only look.

use super::*;

const READER: &str = "reader";

/// Somebody with what `view` is made of (nothing puts it together on an API server alone), who may look at these objects and at a Reconciler that they can name, and no more.
async fn reader(desk: &Desk, namespace: &str) -> Result<PathBuf> {
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": namespace, "name": READER}});
    let subjects = json!([{"kind": "ServiceAccount", "namespace": namespace, "name": READER}]);
    let binding = |name: &str, role: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": subjects,
        })
    };
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "explain-reader"},
        "rules": [
            {"apiGroups": ["windlass.dev"], "resources": ["reconcilers"], "verbs": ["get"]},
            {"apiGroups": ["stable.underneathall.com"], "resources": ["nginx"], "verbs": ["get"]},
        ],
    });
    let items = json!([
        account,
        role,
        binding("explain-reader", "explain-reader"),
        binding("explain-view", "system:aggregate-to-view")
    ]);
    desk.cluster
        .apply(&json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string())
        .await?;
    let path = desk.files.join("explain-reader.kubeconfig");
    std::fs::write(&path, desk.kubeconfig_of(namespace, READER).await?)?;
    Ok(path)
}

#[test]
fn somebody_who_may_only_look_is_told_why_by_the_same_decision_again() {
    play(async || {
        let desk = with_host().await;
        let namespace = "explained";
        desk.namespace(namespace).await?;
        desk.grant("explained", windlass_artifacts::NGINX).await?;
        let source = format!("--from-file=module.wasm={}", windlass_artifacts::NGINX);
        let create = ["create", "configmap", "explained", "-n", NAMESPACE, &source];
        desk.cluster.kubectl(&create).await?;
        let spec = json!({"namespaces": [namespace]});
        desk.cluster
            .apply(&reconciler(NAMESPACE, "explained", spec).to_string())
            .await?;
        product::await_reconciler(&desk.cluster, "explained", "Ready", "True").await?;
        let labels = json!({"app": "theirs"});
        let stranger = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": namespace, "name": "taken-deploy"},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
                "spec": {"containers": [{"name": "theirs", "image": "theirs:1"}]}}},
        });
        desk.cluster.apply(&stranger.to_string()).await?;
        for (name, reason) in [("web", "Reconciled"), ("taken", "OwnershipConflict")] {
            let nginx = json!({
                "apiVersion": "stable.underneathall.com/v1", "kind": "Nginx",
                "metadata": {"namespace": namespace, "name": name}, "spec": {"replicas": 2},
            });
            desk.cluster.apply(&nginx.to_string()).await?;
            let nginx = ["nginx.stable.underneathall.com", name, "-n", namespace];
            product::await_value(&desk.cluster, &nginx, "/status/conditions/0/reason", reason).await?;
        }
        let kubeconfig = reader(desk, namespace).await?;
        let mark = desk.cluster.audit().mark()?;
        let said = async |line: &str| {
            let output = desk.run_as(&kubeconfig, line).await?;
            ensure!(output.status.success(), "{line}: {}", err(&output));
            Ok::<_, anyhow::Error>(String::from_utf8(output.stdout)?)
        };
        let text = said(&format!("explain nginx/web -n {namespace}")).await?;
        for words in [
            "Nginx explained/web, generation 1",
            "Reconciler windlass-system/explained takes care of it",
            "Module    nginx 0.1.0 (",
            "Child     Deployment explained/web-deploy  as wanted",
            "you may not ask what ServiceAccount windlass-system/explained may do",
            "who else takes care of it: reconcilers cannot be listed",
            "cannot list resource \"reconcilers\"",
        ] {
            ensure!(text.contains(words), "{words:?} is not in\n{text}");
        }
        let json = said(&format!(
            "explain nginx/taken -n {namespace} --reconciler {NAMESPACE}/explained -o json"
        ))
        .await?;
        let answer: Value = serde_json::from_str(&json)?;
        let decision = &answer["reconcilers"][0]["decision"];
        ensure!(decision["reason"] == "OwnershipConflict", "{answer:#}");
        ensure!(decision["children"][0]["state"] == "blocked", "{answer:#}");
        ensure!(answer["cannotTell"] == json!([]), "{answer:#}");

        let admin = desk.done(&format!("explain nginx/web -n {namespace}")).await?;
        ensure!(!admin.contains("cannot be told") && !admin.contains("Note"), "{admin}");
        let refused = desk.refused(&format!("explain nginx/nowhere -n {namespace}")).await?;
        ensure!(refused.contains("there is no Nginx explained/nowhere"), "{refused}");
        let refused = desk.refused(&format!("explain ngnix/web -n {namespace}")).await?;
        ensure!(refused.contains("did you mean `nginx`?"), "{refused}");

        let user = format!("system:serviceaccount:{namespace}:{READER}");
        let writes = desk.cluster.audit().writes_since(mark)?.by(&user);
        ensure!(writes.is_empty(), "it never writes: {writes}");
        Ok(())
    });
}
