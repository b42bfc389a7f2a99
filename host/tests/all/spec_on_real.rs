//! Shows on an API server of its own what the spec of a Reconciler decides about primaries and children.

use crate::scenarios::RUNTIME;
use crate::scenarios::real::PROGRAM;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::sync::OnceCell;
use windlass_testing::product::{self, DEADLINE, NAMESPACE};
use windlass_testing::{ControlPlane, HostProcess};

/// An API server with nothing but the host: whatever goes, goes by the host's hand.
pub(crate) struct Bare {
    pub(crate) cluster: ControlPlane,
    /// Ends with this value at the latest.
    _host: HostProcess,
}

impl Bare {
    async fn new() -> Result<Self> {
        let cluster = ControlPlane::start_api_only().await?;
        let environment = product::account(&cluster).await?;
        product::apply_file(&cluster, "deploy/crds/reconcilers.yaml").await?;
        for crd in ["deploy/samples/nginx/crd.yaml", "guests/hostile/crd.yaml"] {
            product::apply_file(&cluster, crd).await?;
        }
        let mut host = product::host(Path::new(PROGRAM), &environment, "host-of-spec.log").start()?;
        host.ready(DEADLINE).await?;
        Ok(Self { cluster, _host: host })
    }

    /// Takes a module up for one namespace, which is made, with this spec besides.
    pub(crate) async fn take_up(&self, name: &str, module: &str, spec: &Value) -> Result<()> {
        let settings = spec["settings"].to_string();
        product::grant(&self.cluster, Path::new(PROGRAM), name, Path::new(module), &settings).await?;
        self.cluster.kubectl(&["create", "namespace", name]).await?;
        let source = format!("--from-file=module.wasm={module}");
        let create = ["create", "configmap", name, "-n", NAMESPACE, &source];
        self.cluster.kubectl(&create).await?;
        let mut reconciler = json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "Reconciler",
            "metadata": {"namespace": NAMESPACE, "name": name},
            "spec": {"source": {"configMap": {"name": name}}, "serviceAccountName": name, "namespaces": [name]},
        });
        for (key, value) in spec.as_object().into_iter().flatten() {
            reconciler["spec"][key] = value.clone();
        }
        self.cluster.apply(&reconciler.to_string()).await?;
        product::await_reconciler(&self.cluster, name, "Ready", "True").await?;
        Ok(())
    }

    /// Changes the spec of a Reconciler.
    async fn change(&self, name: &str, spec: &Value) -> Result<()> {
        let patch = json!({"spec": spec}).to_string();
        let arguments = [
            "patch",
            "reconciler",
            name,
            "-n",
            NAMESPACE,
            "--type=merge",
            "-p",
            &patch,
        ];
        self.cluster.kubectl(&arguments).await?;
        Ok(())
    }
}

async fn bare() -> &'static Bare {
    static BARE: OnceCell<Result<Bare>> = OnceCell::const_new();
    let bare = BARE.get_or_init(Bare::new).await;
    bare.as_ref()
        .unwrap_or_else(|error| panic!("the API server cannot be set up: {error:#}"))
}

pub(crate) fn on_bare(test: impl AsyncFnOnce(&'static Bare) -> Result<()>) {
    RUNTIME.block_on(async {
        let played = test(bare().await).await;
        played.unwrap_or_else(|error| panic!("{error:#}"));
    });
}

#[test]
fn d_06_a_primary_goes_with_its_children_within_half_a_minute_though_its_module_fails() {
    on_bare(async |bare| {
        let cluster = &bare.cluster;
        let spec = json!({"onFinalizeFailure": "Skip", "settings": {"finalizes": true, "behaviour": "three"}});
        bare.take_up("skipped", windlass_artifacts::HOSTILE, &spec).await?;
        let one = json!({
            "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
            "metadata": {"namespace": "skipped", "name": "one"}, "spec": {},
        });
        cluster.apply(&one.to_string()).await?;
        let hostile = ["hostile.hostile.windlass.test", "one", "-n", "skipped"];
        let reason = "/status/conditions/0/reason";
        product::await_value(cluster, &hostile, reason, "Reconciled").await?;
        let left = ["configmap", "-n", "skipped", "-l", "windlass.dev/reconciler=skipped"];
        let made = product::get(cluster, &left).await?;
        ensure!(made["items"].as_array().map(Vec::len) == Some(3), "{made}");
        let broken = json!({"settings": {"finalizes": true, "behaviour": "trap", "finalize": "trap"}});
        bare.change("skipped", &broken).await?;
        product::await_value(cluster, &hostile, reason, "GuestTrapped").await?;
        let since = Instant::now();
        let kind = "hostiles.hostile.windlass.test";
        cluster
            .kubectl(&["delete", kind, "one", "-n", "skipped", "--wait=false"])
            .await?;
        product::await_gone(cluster, &hostile).await?;
        product::await_gone(cluster, &left).await?;
        ensure!(
            since.elapsed() < Duration::from_secs(30),
            "it took {:?}",
            since.elapsed()
        );
        let events = product::get(
            cluster,
            &["events", "-n", "skipped", "--field-selector", "reason=FinalizeSkipped"],
        )
        .await?;
        let events = events["items"].as_array().cloned().unwrap_or_default();
        ensure!(events.len() == 1 && events[0]["type"] == "Warning", "{events:?}");
        Ok(())
    });
}
