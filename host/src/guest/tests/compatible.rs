//! A module that was built for WASI decides the same, in a world where nothing is there (E-02).

use super::{LOADER, decide, generous, hostile, module, outcome};
use crate::decide::Decide;
use crate::guest::Module;
use crate::guest::session::{Waits, unless_waiting};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use windlass_core::decision::Entry;

/// The hostile guest built for wasm32-wasip2.
async fn hostile_for_wasi() -> Module {
    LOADER
        .load(windlass_artifacts::for_wasi("windlass-hostile"))
        .await
        .expect("a compatible module loads")
}

#[tokio::test]
async fn a_compatible_module_decides_like_a_strict_one() {
    let compatible = hostile_for_wasi().await;
    let imports = compatible.imports();
    assert!(
        !compatible.is_strict() && imports.iter().any(|name| name.starts_with("wasi:")),
        "{imports:?}"
    );
    let manifest = compatible.describe(&json!({}), &generous()).await.expect("describes");
    let strict = module("hostile").await;
    assert_eq!(strict.describe(&json!({}), &generous()).await.as_ref(), Ok(&manifest));
    let limits = generous().with_time(std::time::Duration::from_millis(300));
    let guests: [Arc<dyn Decide>; 2] = [compatible.guest(&manifest, &limits), strict.guest(&manifest, &limits)];
    for behaviour in ["good", "none", "clock", "many-events", "twice", "invalid", "count"] {
        let request = hostile(behaviour);
        let [one, other] = [decide(&*guests[0], &request), decide(&*guests[1], &request)];
        assert_eq!(
            one.await.expect(behaviour),
            other.await.expect(behaviour),
            "{behaviour}"
        );
    }
    for behaviour in ["trap", "spin", "memory", "recurse", "big-output"] {
        let request = hostile(behaviour);
        let [one, other] = [decide(&*guests[0], &request), decide(&*guests[1], &request)];
        let (one, other) = (one.await.expect_err(behaviour), other.await.expect_err(behaviour));
        assert_eq!(one.kind, other.kind, "{behaviour}: {} / {}", one.message, other.message);
    }
}

#[tokio::test]
async fn a_05_random_numbers_come_from_the_seed_alone() {
    let compatible = hostile_for_wasi().await;
    let manifest = compatible.describe(&json!({}), &generous()).await.expect("describes");
    let guest = compatible.guest(&manifest, &generous());
    let mut orders = Vec::new();
    for seed in [b"uid-1", b"uid-1", b"uid-2"] {
        let mut decision = guest.begin(seed).await.expect("begins");
        let reply = decision
            .call(Entry::Reconcile, &hostile("shuffle"))
            .await
            .expect("decides");
        orders.push(outcome(reply).children);
    }
    assert_eq!(orders[0], orders[1], "the same seed gives the same order");
    assert_ne!(orders[0], orders[2], "another seed gives another one");
}

#[tokio::test]
async fn e_02_a_wait_in_real_time_ends_the_decision_at_once() {
    let ticked = AtomicBool::new(true);
    let others_first = async {
        tokio::task::yield_now().await;
        Ok(1)
    };
    assert_eq!(
        unless_waiting(&ticked, others_first)
            .await
            .expect("after a tick others run first"),
        1
    );
    let wait = std::future::pending::<wasmtime::Result<()>>();
    let error = unless_waiting(&AtomicBool::new(false), wait).await.expect_err("waits");
    assert!(error.is::<Waits>());
}
