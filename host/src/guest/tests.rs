//! Shows the guarantees of [`super`], on guests that were built for it.

mod bytes;
mod compatible;
mod convert;
mod decisions;
mod faults;
mod manifests;
mod measure;

use super::{Capacity, Compiler, Limits, Loader, Module, Runtime};
use crate::decide::Decide;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::sync::Mutex;
use windlass_core::decision::{Decided, Entry, Fault, Outcome, Reply, Request};
use windlass_core::key::ReconcilerId;
use windlass_core::object::Object;

/// One runtime for all tests, as in the host.
pub(super) static LOADER: LazyLock<Loader> = LazyLock::new(|| Loader::new(runtime(), Compiler::InProcess));
/// Modules that were loaded, by name.
static MODULES: LazyLock<Mutex<HashMap<&str, Module>>> = LazyLock::new(Mutex::default);

fn runtime() -> Runtime {
    let capacity = Capacity {
        decisions: 16,
        tick: Duration::from_millis(5),
        ..Capacity::default()
    };
    Runtime::new(capacity).expect("16 decisions fit the address space")
}

/// The bytes of a guest.
pub(super) fn bytes_of(name: &str) -> Vec<u8> {
    let found = windlass_artifacts::ALL.iter().find(|(known, _)| *known == name);
    windlass_artifacts::bytes(found.expect("there is a guest of this name").1)
}

/// A guest, compiled once for all tests.
async fn module(name: &'static str) -> Module {
    let mut modules = MODULES.lock().await;
    if let Some(module) = modules.get(name) {
        return module.clone();
    }
    let module = LOADER.load(bytes_of(name)).await.expect("a guest of ours loads");
    modules.insert(name, module.clone());
    module
}

/// Decisions of a guest with these limits.
async fn guest(name: &'static str, limits: &Limits) -> Arc<dyn Decide> {
    let module = module(name).await;
    let manifest = module
        .describe(&json!({}), &generous())
        .await
        .expect("a guest of ours describes itself");
    module.guest(&manifest, limits)
}

/// Limits that no busy test machine makes a guest of ours reach.
pub(super) fn generous() -> Limits {
    Limits::default().with_time(Duration::from_secs(30))
}

fn request(primary: Value, settings: Value) -> Request {
    Request {
        reconciler: ReconcilerId::new("windlass-system", "test"),
        primary: Object::from_value(primary).expect("a map"),
        children: Vec::new(),
        not_served: Vec::new(),
        answers: Vec::new(),
        settings,
        now: 0,
        seed: None,
    }
}

/// A primary of the hostile guest that makes it behave like this.
fn hostile(behaviour: &str) -> Request {
    request(
        json!({
            "apiVersion": "hostile.windlass.test/v1",
            "kind": "Hostile",
            "metadata": {"name": "one", "namespace": "team-a", "uid": "uid-1", "generation": 1},
            "spec": {"behaviour": behaviour},
        }),
        json!({}),
    )
}

/// One decision of one round.
async fn decide(guest: &dyn Decide, request: &Request) -> Result<Reply, Fault> {
    guest.begin(b"uid-1").await?.call(Entry::Reconcile, request).await
}

fn outcome(reply: Reply) -> Outcome {
    match reply {
        Reply::Decided(Decided::Outcome(outcome)) => *outcome,
        other => panic!("no outcome: {other:?}"),
    }
}
