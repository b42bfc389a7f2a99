//! Makes the modules of the table, and takes single decisions with them.

use super::table::Module;
use crate::world::module;
use serde_json::{Value, json};
use windlass::decide::Decide;
use windlass::guest::Loader;
use windlass_core::decision::{Entry, Fault, Reply, Request};
use windlass_core::key::ReconcilerId;
use windlass_core::object::Object;

/// How deep `recurse` of the handmade module goes in the table.
const DEPTH: u32 = 1_000;

/// The bytes.
pub(super) fn bytes(of: Module) -> Vec<u8> {
    match of {
        Module::Rust => module("hostile"),
        Module::Wasi => windlass_artifacts::for_wasi("windlass-hostile"),
        Module::Handmade => handmade(DEPTH, ""),
        Module::Endless => handmade(DEPTH, "(start $spin)"),
    }
}

/// The handmade module: how deep it recurses, and what runs at its start.
pub(super) fn handmade(depth: u32, start: &str) -> Vec<u8> {
    let text = include_str!("../../../../guests/hostile/handmade.wat");
    let text = text.replace("i32.const DEPTH", &format!("i32.const {depth}"));
    wat::parse_str(text.replace("  START)", &format!("  {start})"))).unwrap()
}

/// Loads a module, which must load.
pub(super) async fn load(loader: &Loader, bytes: Vec<u8>) -> windlass::guest::Module {
    loader.load(bytes).await.unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// What a decision is asked for this behaviour.
pub(super) fn request(behaviour: &str) -> Request {
    let primary = json!({
        "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
        "metadata": {"namespace": "team-a", "name": "one", "uid": "uid-1", "generation": 1},
        "spec": {"behaviour": behaviour},
    });
    Request {
        reconciler: ReconcilerId::new("windlass-system", "hostile"),
        primary: Object::from_value(primary).unwrap(),
        children: Vec::new(),
        not_served: Vec::new(),
        answers: Vec::new(),
        settings: Value::Object(serde_json::Map::new()),
        now: 1_000,
        seed: None,
    }
}

/// One decision of one round.
pub(super) async fn decide(guest: &dyn Decide, behaviour: &str) -> Result<Reply, Fault> {
    guest
        .begin(b"uid-1")
        .await?
        .call(Entry::Reconcile, &request(behaviour))
        .await
}
