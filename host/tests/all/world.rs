//! Runs a whole host on a cluster in memory, with the real wasm guests.

use crate::meddler::Meddler;
use crate::things::{account, condition, object, reconcilers, says};
use base64::Engine;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use windlass::cluster::memory::{MemoryCluster, Recorded, WriteAuthor};
use windlass::guest::{Capacity, Compiler, Loader, Module, Runtime};
use windlass::host::Host;
use windlass::settings::Settings;
use windlass_core::kind::{KindRef, ObjectRef};
use windlass_core::object::Object;
use windlass_core::write::Identity;

/// Namespace of the host.
pub(crate) const SYSTEM: &str = "windlass-system";
/// Namespace of the primaries.
pub(crate) const TEAM: &str = "team-a";

/// One engine for all tests.
pub(crate) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    // All tests share it, each with a host whose guests may wait for nobody else's.
    let capacity = Capacity {
        memory_of_all: 8 << 30,
        ..Capacity::default()
    };
    Runtime::new(capacity).unwrap()
});

/// A cluster in memory with a host on it.
pub(crate) struct World {
    pub(crate) cluster: MemoryCluster,
    /// Between the host and the cluster.
    pub(crate) meddler: Meddler,
    pub(crate) host: Arc<Host>,
    settings: Settings,
    runtime: Runtime,
    /// Modules that were compiled for an earlier test; a host finds them as if another Reconciler used them.
    compiled: Mutex<Vec<Arc<Module>>>,
}

/// What was compiled so far, by guest: seconds each, which every test would have to wait for again.
static COMPILED: LazyLock<tokio::sync::Mutex<HashMap<String, Module>>> = LazyLock::new(tokio::sync::Mutex::default);

impl World {
    /// A host on an empty cluster that knows the Reconciler kind.
    pub(crate) fn new() -> Self {
        Self::with(Settings {
            // Nobody wants to wait for a minute until the last words are told.
            events_again: Duration::from_millis(100),
            ..Settings::new(SYSTEM)
        })
    }

    /// The same with other settings.
    pub(crate) fn with(settings: Settings) -> Self {
        Self::on(settings, RUNTIME.clone())
    }

    /// The same with an engine of its own, for which nothing was compiled yet.
    pub(crate) fn on(settings: Settings, runtime: Runtime) -> Self {
        let cluster = MemoryCluster::with_clock(jiff::Timestamp::now);
        cluster.load(vec![object(windlass::api::crd())]).unwrap();
        let meddler = Meddler::new(&cluster);
        let host = start(&settings, &meddler, &runtime);
        Self {
            cluster,
            meddler,
            host,
            settings,
            runtime,
            compiled: Mutex::default(),
        }
    }

    /// With the kinds of all guests, and these guests taken up.
    pub(crate) async fn with_guests(names: &[&str]) -> Self {
        let world = Self::new();
        world.serve_all();
        for name in names {
            world.install(name, name, json!({})).await;
        }
        world
    }

    /// Serves the kinds of all guests.
    pub(crate) fn serve_all(&self) {
        for file in ["deploy/samples/nginx", "deploy/samples/friend", "guests/hostile"] {
            self.create_file(&format!("{file}/crd.yaml"));
        }
    }

    /// Ends the host and starts another one on the same cluster.
    pub(crate) async fn restart(&mut self) {
        self.stop().await;
        self.start();
    }

    /// Replaces the host once everything has settled, and gives what the next one writes for a Reconciler until it has decided
    /// again.
    pub(crate) async fn writes_after_restart(&mut self, name: &str) -> Vec<Recorded> {
        self.quiet().await;
        let mark = self.cluster.mark();
        self.restart().await;
        self.until("it was decided again", || self.decisions(name, "Decided") > 0)
            .await;
        self.quiet().await;
        self.writes_for(name, mark)
    }

    /// Lets the host find the module of a guest compiled.
    async fn compile(&self, guest: &str) {
        let mut all = COMPILED.lock().await;
        if !all.contains_key(guest) {
            let loaded = Loader::new(RUNTIME.clone(), Compiler::InProcess)
                .load(module(guest))
                .await
                .unwrap();
            all.insert(guest.into(), loaded);
        }
        self.compiled
            .lock()
            .unwrap()
            .push(self.host.modules.share(all[guest].clone()));
    }

    /// Ends the host.
    pub(crate) async fn stop(&self) {
        self.host.stop().await;
    }

    /// Starts another host.
    pub(crate) fn start(&mut self) {
        self.host = start(&self.settings, &self.meddler, &self.runtime);
        for compiled in self.compiled.lock().unwrap().iter_mut() {
            *compiled = self.host.modules.share(Module::clone(compiled));
        }
    }

    /// Creates an object that must be taken.
    pub(crate) fn create(&self, value: Value) -> Object {
        self.cluster.create(&object(value)).unwrap()
    }

    /// Changes an object that must be there.
    pub(crate) fn patch(&self, what: &ObjectRef, patch: &Value) {
        self.cluster.patch(what, patch).unwrap();
    }

    /// Changes what no guest looks at, so that a decision is taken (a "forced reconcile").
    pub(crate) fn touch(&self, what: &ObjectRef, mark: &str) {
        self.patch(
            what,
            &json!({"metadata": {"annotations": {"example.com/touched": mark}}}),
        );
    }

    /// Creates all objects of YAML files of this repository.
    pub(crate) fn create_file(&self, path: &str) {
        let path = format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap();
        for document in serde_saphyr::from_multiple::<Value>(&text).unwrap() {
            self.create(document);
        }
    }

    /// Drops a guest in with the account it needs, and waits until it is taken up.
    pub(crate) async fn install(&self, name: &str, guest: &str, settings: Value) {
        self.compile(guest).await;
        self.account(name, name);
        self.drop_in(name, &module(guest), settings);
        self.until_ready(name).await;
    }

    /// The same with a Reconciler written by hand, for what a drop-in cannot say.
    pub(crate) async fn install_by_hand(&self, name: &str, guest: &str, spec: &Value) {
        self.compile(guest).await;
        self.account(name, name);
        self.create(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": SYSTEM, "name": name},
            "binaryData": {"module.wasm": base64(&module(guest))},
        }));
        self.create(crate::things::reconciler(name, spec));
        self.until_ready(name).await;
    }

    /// A ServiceAccount that consents.
    pub(crate) fn account(&self, name: &str, consents: &str) {
        self.create(json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"namespace": SYSTEM, "name": name, "annotations": {"windlass.dev/reconcilers": consents}},
        }));
    }

    /// A ConfigMap with a module, made or replaced.
    pub(crate) fn drop_in(&self, name: &str, module: &[u8], settings: Value) {
        let binary = json!({"module.wasm": base64(module)});
        self.drop_in_data(name, binary, json!({"settings.yaml": settings.to_string()}));
    }

    /// A ConfigMap that is labelled as a module, whatever is in it.
    pub(crate) fn drop_in_data(&self, name: &str, binary: Value, data: Value) {
        let config_map = object(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": SYSTEM, "name": name, "labels": {"windlass.dev/module": "true"}},
            "binaryData": binary,
            "data": data,
        }));
        self.cluster.apply_as("kubectl", &config_map).unwrap();
    }

    /// One object, if it is there.
    pub(crate) fn find(&self, what: &ObjectRef) -> Option<Object> {
        self.cluster.find(what)
    }

    /// One object that must be there.
    pub(crate) fn get(&self, what: &ObjectRef) -> Object {
        self.find(what).unwrap_or_else(|| panic!("there is no {what}"))
    }

    /// A Reconciler of the host's namespace.
    pub(crate) fn reconciler(&self, name: &str) -> Object {
        self.find(&crate::things::in_system(reconcilers(), name))
            .unwrap_or_default()
    }

    /// The status of a Reconciler.
    pub(crate) fn status(&self, name: &str) -> Value {
        self.reconciler(name).at(&["status"]).cloned().unwrap_or_default()
    }

    /// The status of a condition of a Reconciler, empty if it has none.
    pub(crate) fn condition(&self, name: &str, type_: &str) -> String {
        let condition = condition(&self.reconciler(name), type_);
        condition["status"].as_str().unwrap_or_default().to_owned()
    }

    /// The message of a condition of a Reconciler.
    pub(crate) fn message(&self, name: &str, type_: &str) -> String {
        let condition = condition(&self.reconciler(name), type_);
        condition["message"].as_str().unwrap_or_default().to_owned()
    }

    /// Reason and note of each Event about an object.
    pub(crate) fn events(&self, name: &str) -> Vec<String> {
        let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
        let about = self.all_events().into_iter();
        about
            .filter(|event| event["regarding"]["name"] == name)
            .map(|event| format!("{}: {}", text(&event, "reason"), text(&event, "note")))
            .collect()
    }

    /// Every Event, as `events.k8s.io` shows it: on an API server those of both APIs are the same objects.
    pub(crate) fn all_events(&self) -> Vec<Value> {
        let core = self.cluster.list(&KindRef::new("", "v1", "Event")).into_iter();
        let renamed = core.map(|event| {
            let mut event = event.into_value();
            event["apiVersion"] = "events.k8s.io/v1".into();
            for (from, to) in [
                ("message", "note"),
                ("involvedObject", "regarding"),
                ("reportingComponent", "reportingController"),
            ] {
                event[to] = event[from].take();
            }
            event
        });
        let others = self
            .cluster
            .list(&KindRef::new("events.k8s.io", "v1", "Event"))
            .into_iter();
        renamed.chain(others.map(Object::into_value)).collect()
    }

    /// How many decisions were taken for a Reconciler under this host, by their result, such as `Decided`.
    pub(crate) fn decisions(&self, reconciler: &str, result: &str) -> usize {
        let text = self.host.metrics.text(&Default::default());
        let wanted = format!("reconciler=\"{SYSTEM}/{reconciler}\",result=\"{result}\"");
        let line = text.lines().find(|line| line.contains(&wanted));
        line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
    }

    /// The writes for a Reconciler since a mark: to primaries and children.
    pub(crate) fn writes_for(&self, name: &str, mark: usize) -> Vec<Recorded> {
        self.writes_by(&account(name), mark)
    }

    /// The writes of an identity since a mark.
    pub(crate) fn writes_by(&self, identity: &Identity, mark: usize) -> Vec<Recorded> {
        let mut writes = self.cluster.writes_since(mark);
        writes.retain(|write| write.author == WriteAuthor::Through(identity.clone()));
        writes
    }

    /// Waits until everything that was sent was taken in, and nothing waits to be done.
    pub(crate) async fn quiet(&self) {
        self.until("everything is quiet", || {
            self.cluster.is_drained() && self.host.is_idle()
        })
        .await;
    }

    /// Waits until the counts of a Reconciler are written.
    pub(crate) async fn counted(&self, name: &str, summary: &str) {
        self.until(&format!("{name} has {summary}"), || {
            self.status(name)["primaries"]["summary"] == summary
        })
        .await;
    }

    /// Waits until a Reconciler is ready.
    pub(crate) async fn until_ready(&self, name: &str) {
        self.until(&format!("{name} is ready"), || {
            says(&self.reconciler(name), "Ready") == "True Running"
        })
        .await;
    }

    /// Waits until a condition of an object says this about its present generation, such as `True Reconciled`.
    pub(crate) async fn until_says(&self, what: &ObjectRef, type_: &str, wanted: &str) {
        let now = || self.find(what).map(|object| says(&object, type_)).unwrap_or_default();
        self.until(&format!("{what} has {type_} {wanted}"), || now() == wanted)
            .await;
    }

    /// A canary: an Nginx made now gets its Deployment, whatever else goes on.
    pub(crate) async fn canary(&self, name: &str) {
        use crate::things::{deployments, in_team, nginx};
        self.create(nginx(name, 1));
        let deployment = in_team(deployments(), &format!("{name}-deploy"));
        self.until(&format!("the canary {name} has its Deployment"), || {
            self.find(&deployment).is_some()
        })
        .await;
    }

    /// Waits until something holds, or fails with the state of the Reconcilers.
    pub(crate) async fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let waited = tokio::time::timeout(Duration::from_secs(20), async {
            while !holds() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        });
        if waited.await.is_err() {
            let all = self.cluster.list(&reconcilers());
            let statuses: Vec<_> = all.iter().map(|reconciler| reconciler.at(&["status"])).collect();
            panic!("not within 20 s: {what}; Reconcilers say {}", json!(statuses));
        }
    }
}

fn start(settings: &Settings, meddler: &Meddler, runtime: &Runtime) -> Arc<Host> {
    let host = Host::new(
        settings.clone(),
        Arc::new(meddler.clone()),
        Loader::new(runtime.clone(), Compiler::InProcess),
    );
    host.start();
    host
}

/// The bytes of a guest, by its name.
pub(crate) fn module(name: &str) -> Vec<u8> {
    let found = windlass_artifacts::ALL.iter().find(|(known, _)| *known == name);
    windlass_artifacts::bytes(found.expect("there is a guest of this name").1)
}

/// The same guest as other bytes: a custom section changes nothing else.
pub(crate) fn variant(guest: &str, number: u8) -> Vec<u8> {
    let mut bytes = module(guest);
    bytes.extend_from_slice(&[0, 3, 1, b'x', number]);
    bytes
}

/// The digest of a module.
pub(crate) fn digest(bytes: &[u8]) -> String {
    windlass::guest::digest(bytes).unwrap()
}

/// Bytes as they are in binaryData.
pub(crate) fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// A quiet window, for what must not happen.
pub(crate) async fn window(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}
