//! Is the real stage: the program as a process with nothing but its ServiceAccount's token, on a real control plane.

use super::stage::Stage;
use anyhow::{Context, Result};
use async_trait::async_trait;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject};
use serde_json::{Value, json};
use std::path::Path;
use windlass_core::kind::{KindInfo, KindRef, ObjectRef};
use windlass_core::write::Subresource;
use windlass_testing::product::{self, DEADLINE};
use windlass_testing::{ControlPlane, HostProcess};

/// The program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_windlass");
/// Field manager of people's writes.
const KUBECTL: &str = "kubectl";

/// A host process on the control plane that all tests of this process share.
pub(crate) struct Real {
    pub(crate) cluster: &'static ControlPlane,
    client: kube::Client,
    /// Ends with this value at the latest.
    _host: HostProcess,
}

impl Real {
    pub(crate) async fn new() -> Result<Self> {
        let cluster = ControlPlane::shared().await?;
        let environment = product::account(cluster).await?;
        let mut host = product::host(Path::new(PROGRAM), &environment, "host-of-scenarios.log").start()?;
        product::apply_file(cluster, "deploy/crds/reconcilers.yaml").await?;
        for crd in super::CRDS {
            product::apply_file(cluster, crd).await?;
        }
        for (name, guest, settings) in super::guests() {
            let module = windlass_artifacts::ALL.iter().find(|(known, _)| *known == guest);
            let module = module.context("there is no such guest")?.1;
            let settings = settings.to_string();
            product::grant(cluster, Path::new(PROGRAM), name, Path::new(module), &settings).await?;
            product::drop_in(cluster, name, &std::fs::read(module)?, &settings).await?;
        }
        host.ready(DEADLINE).await?;
        for (name, ..) in super::guests() {
            let ready = product::await_reconciler(cluster, name, "Ready", "True").await;
            ready.with_context(|| format!("the host's log is {}", host.log_path().display()))?;
        }
        Ok(Self {
            cluster,
            client: cluster.client().await?,
            _host: host,
        })
    }

    fn api(&self, of: &KindRef, namespace: Option<&str>) -> Api<DynamicObject> {
        let kind = super::stage::kind(&of.kind);
        let resource = ApiResource {
            group: of.group.clone(),
            version: of.version.clone(),
            api_version: of.api_version(),
            kind: of.kind.clone(),
            plural: kind.plural,
        };
        match namespace.filter(|_| kind.namespaced) {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    async fn ensure_namespace(&self, namespace: Option<&str>) {
        if let Some(namespace) = namespace {
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            let of = KindRef::new("", "v1", "Namespace");
            // It is there from the second time on.
            let _ = self
                .api(&of, None)
                .create(&PostParams::default(), &dynamic(&object))
                .await;
        }
    }
}

fn dynamic(object: &Value) -> DynamicObject {
    serde_json::from_value(object.clone()).unwrap()
}

fn place(object: &Value) -> ObjectRef {
    windlass_core::object::Object::from_value(object.clone())
        .unwrap()
        .reference()
}

fn said(result: kube::Result<DynamicObject>) -> Result<Value, String> {
    let object = result.map_err(|error| match error {
        kube::Error::Api(status) => status.message,
        other => other.to_string(),
    })?;
    Ok(serde_json::to_value(object).unwrap())
}

#[async_trait]
impl Stage for Real {
    fn name(&self) -> &'static str {
        "the real cluster"
    }

    fn runs_workloads(&self) -> bool {
        true
    }

    async fn create(&self, object: &Value) -> Result<Value, String> {
        let place = place(object);
        self.ensure_namespace(place.namespace.as_deref()).await;
        let parameters = PostParams {
            field_manager: Some(KUBECTL.into()),
            ..PostParams::default()
        };
        let api = self.api(&place.of, place.namespace.as_deref());
        said(api.create(&parameters, &dynamic(object)).await)
    }

    async fn apply(&self, object: &Value) -> Result<Value, String> {
        let place = place(object);
        self.ensure_namespace(place.namespace.as_deref()).await;
        let parameters = PatchParams::apply(KUBECTL).force();
        let api = self.api(&place.of, place.namespace.as_deref());
        said(api.patch(&place.name, &parameters, &Patch::Apply(object)).await)
    }

    async fn patch(&self, object: &ObjectRef, patch: &Value) -> Result<Value, String> {
        let parameters = PatchParams {
            field_manager: Some(KUBECTL.into()),
            ..PatchParams::default()
        };
        let api = self.api(&object.of, object.namespace.as_deref());
        said(api.patch(&object.name, &parameters, &Patch::Merge(patch)).await)
    }

    async fn scale(&self, object: &ObjectRef, replicas: i64) -> Result<(), String> {
        let parameters = PatchParams {
            field_manager: Some(KUBECTL.into()),
            ..PatchParams::default()
        };
        let api = self.api(&object.of, object.namespace.as_deref());
        let patch = json!({"spec": {"replicas": replicas}});
        let scaled = api.patch_scale(&object.name, &parameters, &Patch::Merge(patch)).await;
        scaled.map(drop).map_err(|error| error.to_string())
    }

    async fn delete(&self, object: &ObjectRef) -> Result<(), String> {
        let api = self.api(&object.of, object.namespace.as_deref());
        let deleted = api.delete(&object.name, &DeleteParams::background()).await;
        deleted.map(drop).map_err(|error| error.to_string())
    }

    async fn get(&self, object: &ObjectRef) -> Option<Value> {
        let api = self.api(&object.of, object.namespace.as_deref());
        let found = api.get_opt(&object.name).await.unwrap();
        found.map(|object| serde_json::to_value(object).unwrap())
    }

    async fn apply_as(&self, manager: &str, object: &Value, subresource: Subresource) -> Result<Value, String> {
        let place = place(object);
        let api = self.api(&place.of, place.namespace.as_deref());
        let parameters = PatchParams::apply(manager);
        let patch = Patch::Apply(object);
        said(match subresource {
            Subresource::None => api.patch(&place.name, &parameters, &patch).await,
            Subresource::Status => api.patch_status(&place.name, &parameters, &patch).await,
        })
    }

    async fn writes_to(&self, object: &ObjectRef) -> Vec<String> {
        let kind = super::stage::kind(&object.of.kind);
        let writes = self.cluster.audit().writes_by(product::HOST_USER).unwrap();
        let about = writes.filter(|write| {
            // A POST names its object in the body alone, which is not logged.
            let named = write.name == object.name || write.verb == "create";
            write.resource == kind.plural && Some(&write.namespace) == object.namespace.as_ref() && named
        });
        about.iter().map(|write| write.verb.clone()).collect()
    }

    async fn list(&self, kind: &KindInfo, namespace: &str) -> Vec<Value> {
        let api = self.api(&kind.of, Some(namespace));
        let found = api.list(&ListParams::default()).await.unwrap();
        found
            .items
            .into_iter()
            .map(|object| {
                let mut object = serde_json::to_value(object).unwrap();
                object["kind"] = kind.of.kind.clone().into();
                object["apiVersion"] = kind.of.api_version().into();
                object
            })
            .collect()
    }

    async fn settle(&self) {}
}
