//! Waits for the world outside, in a module that is built for WASI: no wait takes time (E-02).

use super::modules::{bytes, decide, load};
use super::table::Module;
use serde_json::json;
use std::time::{Duration, Instant};
use windlass::guest::{Capacity, Compiler, Limits, Loader, Runtime};

/// A decision that really waits a minute would not end in this.
const AT_ONCE: Duration = Duration::from_millis(1500);

#[tokio::test]
async fn e_02_nothing_that_a_compatible_module_waits_for_takes_time_or_keeps_its_slot() {
    let capacity = Capacity {
        decisions: 1,
        ..Capacity::default()
    };
    let runtime = Runtime::new(capacity).unwrap();
    let loader = Loader::new(runtime.clone(), Compiler::InProcess);
    let module = load(&loader, bytes(Module::Wasi)).await;
    assert!(!module.is_strict());
    let manifest = module.describe(&json!({}), &Limits::default()).await.unwrap();
    let guest = module.guest(&manifest, &Limits::default());
    for behaviour in ["sleep", "input", "sockets", "files", "environment", "clocks"] {
        let began = Instant::now();
        decide(&*guest, behaviour)
            .await
            .unwrap_or_else(|fault| panic!("{behaviour}: {}", fault.message));
        let took = began.elapsed();
        assert!(took < AT_ONCE, "{behaviour} took {took:?}");
        assert_eq!(runtime.calls_in_flight(), 0, "{behaviour}");
    }
}
