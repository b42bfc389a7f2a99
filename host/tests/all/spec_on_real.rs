//! Shows on an API server of its own what the spec of a Reconciler decides about primaries and children.

use crate::scenarios::RUNTIME;
use crate::scenarios::real::PROGRAM;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::sync::{OnceCell, RwLock};
use windlass_testing::product::{self, DEADLINE, NAMESPACE};
use windlass_testing::{ControlPlane, FaultProxy, HostProcess, InClusterEnvironment, eventually};

/// An API server with nothing but the host: whatever goes, goes by the host's hand. Or a whole control plane, where what the
/// host does not do is to be done by others.
pub(crate) struct Bare {
    pub(crate) cluster: ControlPlane,
    /// Ends with this value at the latest.
    pub(crate) host: HostProcess,
    environment: InClusterEnvironment,
    /// Between the host and the API server, where there is one.
    proxy: Option<FaultProxy>,
}

impl Bare {
    /// With a host that writes this log and has these variables besides.
    pub(crate) async fn new(cluster: ControlPlane, log: &str, variables: &[(&str, &str)]) -> Result<Self> {
        let environment = product::account(&cluster).await?;
        product::apply_file(&cluster, "deploy/crds/reconcilers.yaml").await?;
        for crd in crate::scenarios::CRDS {
            product::apply_file(&cluster, crd).await?;
        }
        let host = start(&environment, log, variables).await?;
        Ok(Self {
            cluster,
            host,
            environment,
            proxy: None,
        })
    }

    /// The same with a fault proxy between the host and the API server.
    async fn proxied(cluster: ControlPlane, log: &str, variables: &[(&str, &str)]) -> Result<Self> {
        let bare = Self::new(cluster, log, &[]);
        let mut bare = bare.await?;
        let proxy = bare.cluster.fault_proxy().await?;
        let directory = bare.cluster.directory().join("host-by-proxy");
        bare.environment = bare.environment.by_way_of(&proxy.url(), &directory)?;
        bare.proxy = Some(proxy);
        bare.replace_host(log, variables).await?;
        Ok(bare)
    }

    /// What is between this host and the API server.
    pub(crate) fn proxy(&self) -> &FaultProxy {
        self.proxy.as_ref().unwrap()
    }

    /// Ends the host, and starts another one.
    pub(crate) async fn replace_host(&mut self, log: &str, variables: &[(&str, &str)]) -> Result<()> {
        self.host.terminate(DEADLINE).await?;
        self.host = start(&self.environment, log, variables).await?;
        Ok(())
    }

    /// Takes a module up for one namespace, which is made, with this spec besides.
    pub(crate) async fn take_up(&self, name: &str, module: &str, spec: &Value) -> Result<()> {
        let settings = spec["settings"].to_string();
        product::grant(&self.cluster, Path::new(PROGRAM), name, Path::new(module), &settings).await?;
        self.reconciler(name, module, spec).await?;
        product::await_reconciler(&self.cluster, name, "Ready", "True").await?;
        Ok(())
    }

    /// Makes the Reconciler of a module, the ConfigMap that it is in, and its namespace; whatever becomes of it.
    pub(crate) async fn reconciler(&self, name: &str, module: &str, spec: &Value) -> Result<()> {
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
        Ok(())
    }

    /// Changes the spec of a Reconciler.
    pub(crate) async fn change(&self, name: &str, spec: &Value) -> Result<()> {
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

async fn start(environment: &InClusterEnvironment, log: &str, variables: &[(&str, &str)]) -> Result<HostProcess> {
    let command = product::host(Path::new(PROGRAM), environment, log);
    let command = variables
        .iter()
        .fold(command, |command, (name, value)| command.variable(name, value));
    let mut host = command.start()?;
    host.ready(DEADLINE).await?;
    Ok(host)
}

/// So that a right that is taken away is noticed within a test's time.
pub(crate) const SOON: [(&str, &str); 3] = [
    ("WINDLASS_EVENTS_AGAIN_SECONDS", "2"),
    ("WINDLASS_RIGHTS_BELIEVED_SECONDS", "1"),
    ("WINDLASS_SWEEP_SECONDS", "3"),
];

async fn bare() -> &'static Bare {
    static BARE: OnceCell<Result<Bare>> = OnceCell::const_new();
    let start = async || Bare::new(ControlPlane::start_api_only().await?, "host-of-spec.log", &SOON).await;
    let bare = BARE.get_or_init(start).await;
    bare.as_ref()
        .unwrap_or_else(|error| panic!("the API server cannot be set up: {error:#}"))
}

async fn whole() -> &'static Bare {
    static STARTED: OnceCell<Result<Bare>> = OnceCell::const_new();
    let start = async || Bare::proxied(ControlPlane::start().await?, "host-of-the-whole.log", &SOON).await;
    let whole = STARTED.get_or_init(start).await;
    whole
        .as_ref()
        .unwrap_or_else(|error| panic!("the control plane cannot be set up: {error:#}"))
}

pub(crate) fn on_bare(test: impl AsyncFnOnce(&'static Bare) -> Result<()>) {
    RUNTIME.block_on(async { played(bare().await, test).await });
}

/// Held by whoever uses the whole control plane, and by one alone who disturbs all of it.
static WHOLE: RwLock<()> = RwLock::const_new(());

/// The same on a whole control plane, which has a garbage collector, and a fault proxy between it and the host.
pub(crate) fn on_whole(test: impl AsyncFnOnce(&'static Bare) -> Result<()>) {
    RUNTIME.block_on(async {
        let _one_of_many = WHOLE.read().await;
        played(whole().await, test).await;
    });
}

/// The same while nobody else is there.
pub(crate) fn on_whole_alone(test: impl AsyncFnOnce(&'static Bare) -> Result<()>) {
    RUNTIME.block_on(async {
        let _alone = WHOLE.write().await;
        played(whole().await, test).await;
    });
}

async fn played(bare: &'static Bare, test: impl AsyncFnOnce(&'static Bare) -> Result<()>) {
    let played = test(bare).await.and_then(|()| bare.cluster.check_identities());
    played.unwrap_or_else(|error| panic!("{error:#}"));
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

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What an earlier operator applied: another image, another count, and fields that no guest of ours wants.
fn earlier(namespace: &str) -> Value {
    let labels = json!({"app": "underneathall", "underneathall-app": "nginx-web"});
    let mut shown = labels.clone();
    shown["tier"] = json!("front");
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": namespace, "name": "web-deploy", "labels": shown, "annotations": {"given-up": "yes"}},
        "spec": {
            "replicas": 7, "selector": {"matchLabels": labels}, "minReadySeconds": 5,
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "nginx", "image": "nginx:0.1", "ports": [{"containerPort": 80}]}]},
            },
        },
    })
}

fn nginx(namespace: &str, replicas: i64) -> Value {
    json!({
        "apiVersion": "stable.underneathall.com/v1", "kind": "Nginx",
        "metadata": {"namespace": namespace, "name": "web"}, "spec": {"replicas": replicas},
    })
}

/// Who owns anything of an object, subresources aside.
fn managers(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let mut managers: Vec<String> = entries
        .iter()
        .filter(|entry| entry["subresource"].is_null())
        .map(|entry| {
            format!(
                "{} {}",
                entry["manager"].as_str().unwrap_or_default(),
                entry["operation"].as_str().unwrap_or_default()
            )
        })
        .collect();
    managers.sort();
    managers
}

#[test]
fn what_kubectl_apply_made_is_taken_over_and_what_others_own_stays_theirs() {
    on_bare(async |bare| {
        let cluster = &bare.cluster;
        let spec = json!({"adoption": {"fromFieldManagers": ["kubectl-client-side-apply"]}});
        bare.take_up("adopting", windlass_artifacts::NGINX, &spec).await?;
        let deployment = ["deployment", "web-deploy", "-n", "adopting", "--show-managed-fields"];
        let nginxes = ["nginx.stable.underneathall.com", "web", "-n", "adopting"];
        let mut made = earlier("adopting");
        cluster
            .kubectl_with_input(&["apply", "-f", "-"], &made.to_string())
            .await?;
        // Not by `kubectl apply --server-side`, which would take over the client-side apply itself.
        let label = [
            "label",
            "deployment",
            "web-deploy",
            "-n",
            "adopting",
            "theirs=stays",
            "--field-manager=other",
        ];
        cluster.kubectl(&label).await?;
        let scale = ["scale", "deployment", "web-deploy", "-n", "adopting", "--replicas=3"];
        cluster.kubectl(&scale).await?;
        let before = product::get(cluster, &deployment).await?;
        ensure!(before["metadata"]["annotations"][LAST_APPLIED].is_string(), "{before}");

        cluster.apply(&nginx("adopting", 2).to_string()).await?;
        let reason = "/status/conditions/0/reason";
        let refused = product::await_value(cluster, &nginxes, reason, "OwnershipConflict").await?;
        let message = refused["status"]["conditions"][0]["message"].to_string();
        ensure!(message.contains("kubectl owns .spec.replicas"), "{message}");
        ensure!(product::get(cluster, &deployment).await? == before, "it was touched");

        // What was scaled is applied again, so that it is the earlier operator's own.
        made["spec"]["replicas"] = json!(8);
        cluster
            .kubectl_with_input(&["apply", "-f", "-"], &made.to_string())
            .await?;
        product::await_value(cluster, &nginxes, reason, "Reconciled").await?;
        let taken = product::get(cluster, &deployment).await?;
        let owners = managers(&taken);
        ensure!(
            owners == ["other Update", "windlass:windlass-system:adopting Apply"],
            "{owners:?}"
        );
        ensure!(
            taken["metadata"]["uid"] == before["metadata"]["uid"],
            "it was made again"
        );
        ensure!(taken["spec"]["replicas"] == 2, "{}", taken["spec"]);
        ensure!(
            taken["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.7.9",
            "{}",
            taken["spec"]
        );
        ensure!(
            taken["metadata"]["labels"]["theirs"] == "stays",
            "{}",
            taken["metadata"]
        );
        let left = (
            &taken["metadata"]["labels"]["tier"],
            &taken["metadata"]["annotations"]["given-up"],
        );
        ensure!(left.0.is_null() && left.1.is_null(), "{}", taken["metadata"]);
        ensure!(
            taken["metadata"]["annotations"][LAST_APPLIED].is_null(),
            "{}",
            taken["metadata"]
        );
        ensure!(taken["spec"]["minReadySeconds"].is_null(), "{}", taken["spec"]);
        Ok(())
    });
}

#[test]
fn f_13_another_reconciler_takes_over_from_one_that_is_gone_and_makes_no_child_again() {
    on_bare(async |bare| {
        let cluster = &bare.cluster;
        bare.take_up("first", windlass_artifacts::NGINX, &json!({})).await?;
        let deployment = ["deployment", "web-deploy", "-n", "first", "--show-managed-fields"];
        let nginxes = ["nginx.stable.underneathall.com", "web", "-n", "first"];
        cluster.apply(&nginx("first", 2).to_string()).await?;
        let reason = "/status/conditions/0/reason";
        product::await_value(cluster, &nginxes, reason, "Reconciled").await?;
        let before = product::get(cluster, &deployment).await?;
        let module = Path::new(windlass_artifacts::NGINX);
        product::grant(cluster, Path::new(PROGRAM), "heir", module, "null").await?;
        let heir = json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "Reconciler",
            "metadata": {"namespace": NAMESPACE, "name": "heir"},
            "spec": {
                "source": {"configMap": {"name": "first"}}, "serviceAccountName": "heir", "namespaces": ["first"],
            },
        });
        cluster.apply(&heir.to_string()).await?;
        eventually(DEADLINE, "the second one is held", async || {
            let heir = product::get(cluster, &["reconciler", "heir", "-n", NAMESPACE]).await?;
            ensure!(
                heir["status"].to_string().contains("PrimaryClaimed"),
                "{}",
                heir["status"]
            );
            Ok(())
        })
        .await?;
        cluster
            .kubectl(&["delete", "reconciler", "first", "-n", NAMESPACE])
            .await?;
        let since = Instant::now();
        let label = "/metadata/labels/windlass.dev~1reconciler";
        let taken = product::await_value(cluster, &deployment, label, "heir").await?;
        ensure!(
            since.elapsed() < Duration::from_secs(10),
            "it took {:?}",
            since.elapsed()
        );
        ensure!(
            taken["metadata"]["uid"] == before["metadata"]["uid"],
            "it was made again"
        );
        ensure!(
            managers(&taken) == ["windlass:windlass-system:heir Apply"],
            "{:?}",
            managers(&taken)
        );
        Ok(())
    });
}
