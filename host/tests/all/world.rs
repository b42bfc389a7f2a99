//! Runs a whole host on a cluster in memory, with the real wasm guests.

use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use windlass::cluster::memory::MemoryCluster;
use windlass::guest::{Capacity, Loader, Runtime};
use windlass::host::Host;
use windlass::settings::Settings;
use windlass_core::kind::{KindRef, ObjectRef};
use windlass_core::object::Object;

/// Namespace of the host.
pub const SYSTEM: &str = "windlass-system";
/// Namespace of the primaries.
pub const TEAM: &str = "team-a";

/// One engine for all tests: compiling a guest once is enough.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new(Capacity::default()).unwrap());

/// A cluster in memory with a host on it.
pub struct World {
    pub cluster: MemoryCluster,
    pub host: Arc<Host>,
}

impl World {
    /// A host on an empty cluster that knows the Reconciler kind.
    pub fn new() -> Self {
        let cluster = MemoryCluster::with_clock(jiff::Timestamp::now);
        cluster.load(vec![object(windlass::api::crd())]).unwrap();
        let host = Self::host_on(&cluster);
        Self { cluster, host }
    }

    fn host_on(cluster: &MemoryCluster) -> Arc<Host> {
        let host = Host::new(
            Settings::new(SYSTEM),
            Arc::new(cluster.clone()),
            Loader::new(RUNTIME.clone()),
        );
        host.start();
        host
    }

    /// Ends the host and starts another one on the same cluster.
    pub async fn restart(&mut self) {
        self.host.stop().await;
        self.host = Self::host_on(&self.cluster);
    }

    /// Creates an object that must be taken.
    pub fn create(&self, value: Value) -> Object {
        self.cluster.create(&object(value)).unwrap()
    }

    /// Creates all objects of YAML files of this repository.
    pub fn create_file(&self, path: &str) {
        let path = format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap();
        for document in serde_saphyr::from_multiple::<Value>(&text).unwrap() {
            self.create(document);
        }
    }

    /// Drops a module in with the account it needs, and waits until it is taken up.
    pub async fn install(&self, name: &str, module: &[u8], settings: Value) {
        self.account(name);
        self.drop_in(name, module, settings);
        self.until(&format!("{name} is ready"), || self.condition(name, "Ready") == "True")
            .await;
    }

    /// A ServiceAccount that consents.
    pub fn account(&self, name: &str) {
        self.create(json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"namespace": SYSTEM, "name": name, "annotations": {"windlass.dev/reconcilers": name}},
        }));
    }

    /// A ConfigMap with a module, made or replaced.
    pub fn drop_in(&self, name: &str, module: &[u8], settings: Value) {
        use base64::Engine;
        let encoded = base64::engine::general_purpose::STANDARD.encode(module);
        let config_map = object(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": SYSTEM, "name": name, "labels": {"windlass.dev/module": "true"}},
            "binaryData": {"module.wasm": encoded},
            "data": {"settings.yaml": settings.to_string()},
        }));
        self.cluster.apply_as("kubectl", &config_map).unwrap();
    }

    /// One object, if it is there.
    pub fn find(&self, of: &KindRef, namespace: &str, name: &str) -> Option<Object> {
        self.cluster.find(&ObjectRef {
            of: of.clone(),
            namespace: Some(namespace.into()),
            name: name.into(),
        })
    }

    /// The status of a condition of a Reconciler, empty if it has none.
    pub fn condition(&self, name: &str, type_: &str) -> String {
        let reconciler = self.find(&windlass::api::reconciler_kind().of, SYSTEM, name);
        reconciler
            .map(|reconciler| {
                condition(&reconciler, type_)["status"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            })
            .unwrap_or_default()
    }

    /// Waits until everything that was sent was taken in, and nothing waits to be done.
    pub async fn quiet(&self) {
        self.until("everything is quiet", || {
            self.cluster.is_drained() && self.host.is_idle()
        })
        .await;
    }

    /// Waits until something holds, or fails with the state of the Reconcilers.
    pub async fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let waited = tokio::time::timeout(Duration::from_secs(20), async {
            while !holds() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        });
        if waited.await.is_err() {
            let reconcilers = self.cluster.list(&windlass::api::reconciler_kind().of);
            let statuses: Vec<_> = reconcilers
                .iter()
                .map(|reconciler| reconciler.at(&["status"]))
                .collect();
            panic!("not within 20 s: {what}; Reconcilers say {}", json!(statuses));
        }
    }
}

/// An object from a JSON value.
pub fn object(value: Value) -> Object {
    Object::from_value(value).unwrap()
}

/// A condition of an object, null if it has none of that type.
pub fn condition(object: &Object, type_: &str) -> Value {
    let conditions = object
        .at(&["status", "conditions"])
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    conditions
        .filter(|condition| condition["type"] == type_)
        .cloned()
        .next()
        .unwrap_or_default()
}
