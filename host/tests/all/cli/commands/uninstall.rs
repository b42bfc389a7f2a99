//! Uninstalls: no finalizer of ours is left anywhere, whether a host runs or not, and children stay.

use super::*;
use windlass_artifacts::{HOSTILE, NGINX};
use windlass_testing::eventually;

/// A cluster in use: a host that runs outside, a module that finalizes, one that does not, primaries with children.
async fn in_use(log: &str) -> Result<(Desk, HostProcess)> {
    let desk = Desk::empty().await?;
    desk.install().await?;
    let host = desk.host(log).await?;
    for namespace in ["team-a", "team-b"] {
        desk.namespace(namespace).await?;
    }
    // No module here needs it, so that no host makes it.
    let key = ["create", "secret", "generic", "windlass-key", "-n", NAMESPACE];
    desk.cluster.kubectl(&key).await?;
    std::fs::write(desk.files.join("finalizes.yaml"), "finalizes: true\n")?;
    let settings = "finalizes: true\n";
    product::grant(
        &desk.cluster,
        Path::new(PROGRAM),
        "hostile",
        Path::new(HOSTILE),
        settings,
    )
    .await?;
    desk.grant("nginx", NGINX).await?;
    desk.done(&format!(
        "push {HOSTILE} --name hostile --all-namespaces --settings finalizes.yaml"
    ))
    .await?;
    desk.done(&format!("push {NGINX} --name nginx --all-namespaces"))
        .await?;
    for namespace in ["team-a", "team-b"] {
        for (version, kind) in [
            ("hostile.windlass.test/v1", "Hostile"),
            ("stable.underneathall.com/v1", "Nginx"),
        ] {
            let metadata = json!({"namespace": namespace, "name": "one"});
            let primary = json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {}});
            desk.cluster.apply(&primary.to_string()).await?;
        }
        eventually(DEADLINE, "the children are there", async || {
            desk.there(&format!("configmap one -n {namespace}")).await?;
            desk.there(&format!("deployment one-deploy -n {namespace}")).await
        })
        .await?;
        let primary = desk.there(&format!("hostile one -n {namespace}")).await?;
        ensure!(
            primary["metadata"]["finalizers"][0] == FINALIZER,
            "{}",
            primary["metadata"]
        );
    }
    eventually(DEADLINE, "modules are kept", async || {
        let kept = kept(&desk).await?;
        ensure!(kept == 2, "{kept} are kept");
        Ok(())
    })
    .await?;
    Ok((desk, host))
}

const FINALIZER: &str = "hostile.windlass-system.reconciler.windlass.dev/finalize";

/// How many ConfigMaps hold kept modules.
async fn kept(desk: &Desk) -> Result<usize> {
    let found = desk.get("configmaps -A -l windlass.dev/kept-module=true").await?;
    Ok(found.map_or(0, |list| list["items"].as_array().map_or(0, Vec::len)))
}

/// Fails if anything is left that the host or a person could stumble over, or if too much went.
async fn assert_clean(desk: &Desk) -> Result<()> {
    for namespace in ["team-a", "team-b"] {
        let primary = desk.there(&format!("hostile one -n {namespace}")).await?;
        ensure!(primary["metadata"]["finalizers"].is_null(), "{}", primary["metadata"]);
        desk.there(&format!("configmap one -n {namespace}")).await?;
        desk.there(&format!("deployment one-deploy -n {namespace}")).await?;
    }
    ensure!(desk.get("crd reconcilers.windlass.dev").await?.is_none());
    ensure!(kept(desk).await? == 0, "modules are kept");
    desk.there("configmap hostile -n windlass-system").await?;
    desk.there("serviceaccount hostile -n windlass-system").await?;
    desk.there("secret windlass-key -n windlass-system").await?;
    Ok(())
}

#[test]
fn without_a_host_and_with_a_broken_module_no_finalizer_is_left_and_children_stay() {
    play(async || {
        let (desk, mut host) = in_use("host-before-uninstall.log").await?;
        host.kill()?;
        // A broken module, a Reconciler that is being deleted, and a finalizer of one that is gone.
        let junk = json!({"binaryData": {"module.wasm.gz": "AAAA"}}).to_string();
        let patch = [
            "patch",
            "configmap",
            "hostile",
            "-n",
            NAMESPACE,
            "--type=merge",
            "-p",
            &junk,
        ];
        desk.cluster.kubectl(&patch).await?;
        let delete = ["delete", "reconciler", "hostile", "-n", NAMESPACE, "--wait=false"];
        desk.cluster.kubectl(&delete).await?;
        let old = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"namespace": "team-a", "name": "old", "finalizers": ["old.gone.reconciler.windlass.dev/finalize"]},
        });
        desk.cluster.apply(&old.to_string()).await?;
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": NAMESPACE, "name": "windlass"},
            "spec": {
                "selector": {"matchLabels": {"app.kubernetes.io/name": "windlass"}},
                "template": {
                    "metadata": {"labels": {"app.kubernetes.io/name": "windlass"}},
                    "spec": {"containers": [{"name": "windlass", "image": "windlass"}]},
                },
            },
        });
        desk.cluster.apply(&deployment.to_string()).await?;

        let unasked = desk.refused("uninstall").await?;
        ensure!(
            unasked.contains("Primaries and children stay") && unasked.contains("Give --yes"),
            "{unasked}"
        );
        desk.there("deployment windlass -n windlass-system").await?;

        let said = desk.done("uninstall --yes").await?;
        assert_clean(&desk).await?;
        ensure!(desk.get("deployment windlass -n windlass-system").await?.is_none());
        ensure!(desk.there("secret old -n team-a").await?["metadata"]["finalizers"].is_null());
        for words in [
            "host: deleted\n",
            "finalizers: taken off 3 objects\n",
            "Reconcilers: 2 deleted\n",
            "CRD: deleted\n",
            "kept modules: 2 ConfigMaps deleted\n",
            "kubectl delete configmaps -A -l windlass.dev/reconciler ",
            "kubectl delete deployments.apps -A -l windlass.dev/reconciler ",
            "kubectl delete hostiles.hostile.windlass.test -A --all ",
            "kubectl delete configmap hostile -n windlass-system ",
            "kubectl delete serviceaccount nginx -n windlass-system ",
            "kubectl delete clusterroles windlass:windlass-system:nginx:write ",
            "kubectl delete validatingadmissionpolicies reconcilers.windlass.dev ",
            "kubectl delete rolebindings windlass:nginx:impersonate -n windlass-system ",
            "kubectl delete secret windlass-key -n windlass-system ",
            "kubectl delete namespace windlass-system ",
        ] {
            ensure!(said.contains(words), "it does not say {words:?}: {said}");
        }
        // Once more finds nothing, and is no error.
        let said = desk.done("uninstall --yes").await?;
        ensure!(
            said.contains("taken off 0 objects") && said.contains("CRD: not there"),
            "{said}"
        );
        Ok(())
    });
}

#[test]
fn a_host_that_runs_elsewhere_cannot_keep_finalizers_or_bring_drop_ins_back() {
    play(async || {
        let (desk, mut host) = in_use("host-during-uninstall.log").await?;
        product::drop_in(&desk.cluster, "drop-in", &windlass_artifacts::bytes(NGINX), "").await?;
        eventually(DEADLINE, "the drop-in has a Reconciler", async || {
            desk.there("reconciler drop-in -n windlass-system").await
        })
        .await?;
        let said: Value = serde_json::from_str(&desk.done("uninstall --yes -o json").await?)?;
        ensure!(said["left"] == json!([]) && said["crdDeleted"] == true, "{said}");
        ensure!(said["hostDeleted"] == false, "{said}");
        ensure!(host.exited()?.is_none(), "the host ended");
        assert_clean(&desk).await
    });
}

#[test]
fn the_crd_can_be_kept() {
    play(async || {
        let desk = Desk::empty().await?;
        desk.install().await?;
        let mut object = reconciler(NAMESPACE, "one", json!({}));
        object["metadata"]["finalizers"] = json!(["windlass.dev/release"]);
        desk.cluster.apply(&object.to_string()).await?;
        let said = desk.done("uninstall --yes --keep-crd").await?;
        ensure!(
            said.contains("Reconcilers: 1 deleted") && said.contains("CRD: not there, or kept"),
            "{said}"
        );
        desk.there("crd reconcilers.windlass.dev").await?;
        ensure!(desk.get("reconciler one -n windlass-system").await?.is_none());
        Ok(())
    });
}
