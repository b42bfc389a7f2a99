//! Equal requests give equal bytes: in any instance, engine, way of allocating, and process.

use super::modules::{bytes, decide, load};
use super::table::Module;
use crate::scenarios::real::PROGRAM;
use serde_json::{Value, json};
use std::process::Command;
use windlass::guest::{Allocation, Capacity, Compiler, Limits, Loader, Runtime};
use windlass_testing::product;

/// What machines, processes and instances could do in different ways: not-a-numbers, relaxed vectors, orders of hash maps.
const BEHAVIOURS: [&str; 3] = ["floats", "vectors", "shuffle"];

#[tokio::test]
async fn equal_requests_give_equal_bytes_in_every_instance_however_it_is_allocated() {
    for module in [Module::Rust, Module::Wasi] {
        let bytes = bytes(module);
        let mut replies: [Vec<Value>; 3] = Default::default();
        for allocation in [Allocation::Pooling, Allocation::PoolingGivenBack, Allocation::OnDemand] {
            let runtime = Runtime::new(Capacity {
                allocation,
                decisions: 4,
                ..Capacity::default()
            });
            let loaded = load(&Loader::new(runtime.unwrap(), Compiler::InProcess), bytes.clone()).await;
            let manifest = loaded.describe(&json!({}), &Limits::default()).await.unwrap();
            let guest = loaded.guest(&manifest, &Limits::default());
            for (behaviour, replies) in BEHAVIOURS.iter().zip(&mut replies) {
                for _ in 0..5 {
                    // What another decision leaves in its slot is gone before the next one begins.
                    decide(&*guest, "memory").await.unwrap_err();
                    replies.push(json!(decide(&*guest, behaviour).await.unwrap()));
                }
            }
        }
        for (behaviour, replies) in BEHAVIOURS.iter().zip(replies) {
            let first = &replies[0];
            assert!(first.to_string().contains("data"), "{first}");
            for reply in &replies {
                assert_eq!(reply, first, "{module:?}: {behaviour}");
            }
        }
    }
}

/// What each behaviour says, in a process of its own.
fn said() -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let mut files = vec![product::file("guests/hostile/crd.yaml")];
    for behaviour in BEHAVIOURS {
        let primary = json!({
            "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
            "metadata": {"namespace": "team-a", "name": behaviour, "uid": behaviour}, "spec": {"behaviour": behaviour},
        });
        files.push(folder.path().join(format!("{behaviour}.json")));
        std::fs::write(files.last().unwrap(), primary.to_string()).unwrap();
    }
    let mut command = Command::new(PROGRAM);
    command.args(["simulate", windlass_artifacts::HOSTILE, "--output", "json"]);
    let output = command
        .args(files.iter().flat_map(|file| ["-f".into(), file.clone()]))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let simulated: Value = serde_json::from_slice(&output.stdout).unwrap();
    let writes = simulated["writes"].as_array().unwrap().iter();
    let children = writes.filter(|write| write["after"]["kind"] == "ConfigMap");
    let mut said: Vec<_> = children.map(|write| write["after"]["data"].clone()).collect();
    said.sort_by_key(Value::to_string);
    said
}

#[test]
fn equal_requests_give_equal_bytes_in_every_process() {
    let first = said();
    assert_eq!(first.len(), BEHAVIOURS.len(), "{first:?}");
    assert_eq!(said(), first);
}
