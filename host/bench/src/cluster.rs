//! Starts a control plane with the product installed, and does on it what its users do.

use anyhow::{Context, Result, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use windlass::api::Reconciler;
use windlass_core::names::LABEL_MODULE;
use windlass_testing::product::{self, DEADLINE, NAMESPACE, apply_file};
use windlass_testing::{ControlPlane, HostProcess, InClusterEnvironment, eventually};

/// Who writes the modules.
pub(crate) const WRITER: &str = "windlass-bench";
/// How long a hundred modules may take to be compiled.
const COMPILING: Duration = Duration::from_secs(600);

/// etcd and an API server, with the kinds and roles that the reference guests need.
pub(crate) struct Cluster {
    control_plane: ControlPlane,
    /// With the rights of an admin.
    pub(crate) client: Client,
    environment: InClusterEnvironment,
    windlass: PathBuf,
    /// Where its hosts keep compiled code.
    cache: TempDir,
}

impl Cluster {
    /// Starts it. Nothing but the host acts on objects there.
    ///
    /// # Errors
    /// If it does not start.
    pub(crate) async fn start(windlass: &Path) -> Result<Self> {
        let control_plane = ControlPlane::start_api_only().await?;
        let environment = product::account(&control_plane).await?;
        for path in ["deploy/crds/reconcilers.yaml", "deploy/samples/nginx/crd.yaml"] {
            apply_file(&control_plane, path).await?;
        }
        Ok(Self {
            client: control_plane.client().await?,
            control_plane,
            environment,
            windlass: windlass.into(),
            cache: tempfile::tempdir()?,
        })
    }

    /// A host of its own process, which keeps compiled code for the next.
    ///
    /// # Errors
    /// If it does not become ready.
    pub(crate) async fn host(&self) -> Result<HostProcess> {
        let cache = self.cache.path().to_string_lossy().into_owned();
        let host = product::host(&self.windlass, &self.environment, "bench-host.log");
        let mut host = host.arguments(["--cache-dir", &cache]).start()?;
        host.ready(DEADLINE).await?;
        Ok(host)
    }

    /// Gives accounts of these names what a module needs, as `windlass rbac` prints it.
    ///
    /// # Errors
    /// If the module is refused, or the roles are.
    pub(crate) async fn grant(&self, names: &[String], module: &[u8]) -> Result<()> {
        const SOMEBODY: &str = "somebody-to-be-named";
        let file = self.cache.path().join("module.wasm");
        std::fs::write(&file, module)?;
        let rbac = tokio::process::Command::new(&self.windlass)
            .args(["rbac", "--name", SOMEBODY])
            .arg(&file)
            .output()
            .await?;
        std::fs::remove_file(&file)?;
        ensure!(
            rbac.status.success(),
            "windlass rbac: {}",
            String::from_utf8_lossy(&rbac.stderr)
        );
        let rbac = String::from_utf8(rbac.stdout)?;
        let all: Vec<_> = names.iter().map(|name| rbac.replace(SOMEBODY, name)).collect();
        self.control_plane.apply(&all.join("\n---\n")).await?;
        Ok(())
    }

    /// Writes a Reconciler for a ConfigMap, an account and a namespace of its own name.
    ///
    /// # Errors
    /// If it is not taken.
    pub(crate) async fn reconciler(&self, name: &str) -> Result<()> {
        let reconcilers: Api<Reconciler> = Api::namespaced(self.client.clone(), NAMESPACE);
        let object = json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "Reconciler", "metadata": {"name": name},
            "spec": {"source": {"configMap": {"name": name}}, "serviceAccountName": name, "namespaces": [name]},
        });
        let parameters = PatchParams::apply(WRITER).force();
        reconcilers.patch(name, &parameters, &Patch::Apply(&object)).await?;
        Ok(())
    }

    /// Writes a module as a labelled ConfigMap; says when the write began and when it was answered.
    ///
    /// # Errors
    /// If it is not taken.
    pub(crate) async fn drop_in(&self, name: &str, module: Vec<u8>) -> Result<(Instant, Instant)> {
        let config_maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), NAMESPACE);
        let config_map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.into()),
                labels: Some(BTreeMap::from([(LABEL_MODULE.into(), "true".into())])),
                ..ObjectMeta::default()
            },
            binary_data: Some(BTreeMap::from([("module.wasm".into(), ByteString(module))])),
            ..ConfigMap::default()
        };
        let parameters = PatchParams::apply(WRITER).force();
        let began = Instant::now();
        config_maps.patch(name, &parameters, &Patch::Apply(&config_map)).await?;
        Ok((began, Instant::now()))
    }

    /// Waits until so many Reconcilers say that they run what their sources hold.
    ///
    /// # Errors
    /// If they do not in time.
    pub(crate) async fn all_ready(&self, count: usize) -> Result<()> {
        let reconcilers: Api<Reconciler> = Api::namespaced(self.client.clone(), NAMESPACE);
        eventually(COMPILING, &format!("{count} Reconcilers are ready"), async || {
            let all = reconcilers.list(&ListParams::default()).await?;
            let ready = all.items.iter().filter(|reconciler| is_ready(reconciler)).count();
            ensure!(ready == count, "{ready} of {} are", all.items.len());
            Ok(())
        })
        .await
    }

    /// Waits until a Reconciler says that it runs the module of this digest.
    ///
    /// # Errors
    /// If it does not in time.
    pub(crate) async fn runs(&self, name: &str, digest: &str) -> Result<()> {
        let reconcilers: Api<Reconciler> = Api::namespaced(self.client.clone(), NAMESPACE);
        eventually(DEADLINE, &format!("{name} runs {digest}"), async || {
            let reconciler = reconcilers.get(name).await?;
            let active = reconciler.status.as_ref().and_then(|status| status.active.as_ref());
            let active = active.context("it runs nothing")?;
            ensure!(
                active.digest == digest && is_ready(&reconciler),
                "{:?}",
                reconciler.status
            );
            Ok(())
        })
        .await
    }
}

fn is_ready(reconciler: &Reconciler) -> bool {
    let conditions = reconciler.status.iter().flat_map(|status| &status.conditions);
    conditions
        .filter(|condition| condition.type_ == "Ready")
        .any(|condition| condition.status == "True")
}
