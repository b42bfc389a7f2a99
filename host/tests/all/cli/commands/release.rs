//! Releases primaries with a person's own rights, where no host does.

use super::*;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;

const NGINX_KIND: &str = "nginx.stable.underneathall.com";

/// Puts primaries there that carry the finalizer of a Reconciler, one of them being deleted, with a child.
async fn held(desk: &Desk, namespace: &str, owner: &str, count: usize) -> Result<()> {
    desk.namespace(namespace).await?;
    for number in 0..count {
        let nginx = nginx(namespace, &format!("web-{number}"), &finalizer(owner));
        desk.cluster.apply(&nginx.to_string()).await?;
    }
    let child = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": "child", "labels": {"windlass.dev/reconciler": owner}},
    });
    desk.cluster.apply(&child.to_string()).await?;
    let delete = ["delete", "nginx", "web-0", "-n", namespace, "--wait=false"];
    desk.cluster.kubectl(&delete).await?;
    Ok(())
}

fn finalizer(owner: &str) -> String {
    format!("{owner}.{NAMESPACE}.reconciler.windlass.dev/finalize")
}

fn nginx(namespace: &str, name: &str, finalizer: &str) -> Value {
    json!({
        "apiVersion": "stable.underneathall.com/v1", "kind": "Nginx",
        "metadata": {"namespace": namespace, "name": name, "finalizers": [finalizer, "other.example.com/stays"]},
        "spec": {"replicas": 1},
    })
}

fn claim(namespace: &str) -> Value {
    json!({"claim": {
        "primary": {"group": "stable.underneathall.com", "version": "v1", "kind": "Nginx", "plural": "nginx", "namespaced": true},
        "namespaces": [namespace], "exclusive": true,
    }})
}

/// Finalizers of all primaries in a namespace.
async fn finalizers(desk: &Desk, namespace: &str) -> Result<Vec<String>> {
    let all = desk.there(&format!("nginx -n {namespace}")).await?;
    let items = all["items"].as_array().cloned().unwrap_or_default();
    let of = |item: &Value| item["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
    Ok(items.iter().flat_map(of).map(text).collect())
}

#[test]
fn all_primaries_of_a_reconciler_that_is_being_deleted_go_and_so_does_it() {
    play(async || {
        let desk = without_host().await;
        held(desk, "release-all", "gone", 12).await?;
        let mut object = reconciler(NAMESPACE, "gone", json!({"namespaces": ["release-all"]}));
        object["metadata"]["finalizers"] = json!(["windlass.dev/release"]);
        desk.cluster.apply(&object.to_string()).await?;
        desk.status(NAMESPACE, "gone", &claim("release-all")).await?;
        desk.cluster
            .kubectl(&["delete", "reconciler", "gone", "-n", NAMESPACE, "--wait=false"])
            .await?;

        let unasked = desk.refused("release gone").await?;
        ensure!(
            unasked.contains("there is no terminal on which to ask. Give --yes"),
            "{unasked}"
        );
        ensure!(
            unasked.contains("12 Nginx with the finalizer") && unasked.contains("children stay"),
            "{unasked}"
        );
        ensure!(finalizers(desk, "release-all").await?.len() == 24);

        let said = desk.done("release gone --yes").await?;
        ensure!(
            said == "12 Nginx released\nReconciler windlass-system/gone released\n",
            "{said}"
        );
        let left = finalizers(desk, "release-all").await?;
        ensure!(
            left.iter().all(|finalizer| finalizer == "other.example.com/stays"),
            "{left:?}"
        );
        ensure!(left.len() == 12, "{left:?}");
        ensure!(desk.get("reconciler gone -n windlass-system").await?.is_none());
        desk.there("configmap child -n release-all").await?;

        let gone = desk.refused("release gone --yes").await?;
        ensure!(
            gone.contains("there is no Reconciler windlass-system/gone") && gone.contains("--kind"),
            "{gone}"
        );
        let said = desk
            .done(&format!("release gone --kind {NGINX_KIND} --yes -o json"))
            .await?;
        let said: Value = serde_json::from_str(&said)?;
        ensure!(said["released"] == 0 && said["left"] == json!([]), "{said}");
        Ok(())
    });
}

#[test]
fn named_primaries_alone_are_released_and_mistakes_are_named() {
    play(async || {
        let desk = without_host().await;
        held(desk, "release-one", "lives", 3).await?;
        let object = reconciler(NAMESPACE, "lives", json!({"namespaces": ["release-one"]}));
        desk.cluster.apply(&object.to_string()).await?;
        let unknown = desk.refused("release lives --yes").await?;
        ensure!(
            unknown.contains("does not say what its primaries are; say it with --kind"),
            "{unknown}"
        );
        desk.status(NAMESPACE, "lives", &claim("release-one")).await?;
        let output = desk.run("release lives --primary release-one/web-1 --yes").await?;
        ensure!(output.stdout == b"1 Nginx released\n", "{output:?}");
        ensure!(err(&output).contains("puts it on primaries again"), "{}", err(&output));
        let left = finalizers(desk, "release-one").await?;
        ensure!(
            left.iter().filter(|left| **left == finalizer("lives")).count() == 2,
            "{left:?}"
        );
        for (primary, words) in [
            ("web-1", "a Nginx has a namespace; give namespace/name"),
            (
                "release-one/web-1",
                "Nginx release-one/web-1 does not carry the finalizer lives.",
            ),
            ("release-one/none", "there is no Nginx release-one/none"),
        ] {
            let said = desk
                .refused(&format!("release lives --primary {primary} --yes"))
                .await?;
            ensure!(said.contains(words), "{said}");
        }
        Ok(())
    });
}

#[test]
fn primaries_that_somebody_changes_all_the_time_are_released_all_the_same() {
    play(async || {
        let desk = without_host().await;
        held(desk, "release-busy", "busy", 4).await?;
        let kind = GroupVersionKind::gvk("stable.underneathall.com", "v1", "Nginx");
        let kind = ApiResource::from_gvk_with_plural(&kind, "nginx");
        let api: Api<DynamicObject> = Api::namespaced_with(desk.cluster.client().await?, "release-busy", &kind);
        let busy = async {
            for round in 0.. {
                let patch = json!({"metadata": {"annotations": {"round": round.to_string()}}});
                let name = format!("web-{}", round % 3 + 1);
                api.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
            }
            Ok::<(), anyhow::Error>(())
        };
        let line = format!("release busy --kind {NGINX_KIND} --yes");
        let said = tokio::select! {
            said = desk.done(&line) => said?,
            ended = busy => anyhow::bail!("the meddler ended: {ended:?}"),
        };
        ensure!(said == "4 Nginx released\n", "{said}");
        Ok(())
    });
}

#[test]
fn what_cannot_be_released_is_named_and_stops_nothing_else() {
    play(async || {
        let desk = without_host().await;
        held(desk, "release-poor", "poor", 3).await?;
        desk.cluster
            .kubectl(&["create", "serviceaccount", "clerk", "-n", "release-poor"])
            .await?;
        let group = "rbac.authorization.k8s.io";
        let rule = |verbs: Value, names: Value| {
            json!({
                "apiGroups": ["stable.underneathall.com"], "resources": ["nginx"], "verbs": verbs, "resourceNames": names,
            })
        };
        let rules = json!([
            rule(json!(["get", "list"]), json!([])),
            rule(json!(["patch"]), json!(["web-0", "web-2"])),
        ]);
        let metadata = json!({"name": "clerk"});
        let role =
            json!({"apiVersion": format!("{group}/v1"), "kind": "ClusterRole", "metadata": metadata, "rules": rules});
        let binding = json!({
            "apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "clerk"},
            "subjects": [{"kind": "ServiceAccount", "namespace": "release-poor", "name": "clerk"}],
        });
        let reads = json!({
            "apiVersion": format!("{group}/v1"), "kind": "ClusterRole", "metadata": {"name": "clerk-reads"},
            "rules": [{"apiGroups": ["windlass.dev"], "resources": ["reconcilers"], "verbs": ["get"]}],
        });
        let mut reads_too = binding.clone();
        reads_too["metadata"]["name"] = "clerk-reads".into();
        reads_too["roleRef"]["name"] = "clerk-reads".into();
        for object in [role, binding, reads, reads_too] {
            desk.cluster.apply(&object.to_string()).await?;
        }
        let clerk = desk.files.join("clerk.kubeconfig");
        std::fs::write(&clerk, desk.kubeconfig_of("release-poor", "clerk").await?)?;
        let line = format!("release poor --kind {NGINX_KIND} --yes");
        let output = desk.run_as(&clerk, &line).await?;
        let said = err(&output);
        ensure!(
            output.status.code() == Some(1) && output.stdout == b"2 Nginx released\n",
            "{output:?}"
        );
        ensure!(
            said.contains("1 Nginx still carry the finalizer:\n  Nginx release-poor/web-1: forbidden: "),
            "{said}"
        );
        let left = finalizers(desk, "release-poor").await?;
        ensure!(
            left.iter().filter(|left| **left == finalizer("poor")).count() == 1,
            "{left:?}"
        );
        Ok(())
    });
}
