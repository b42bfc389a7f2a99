//! Takes bytes for a module: up to the checks before compiling, and the whole way into a decision.

use std::sync::LazyLock;
use std::time::Duration;
use windlass::guest::{Capacity, Compiler, Limits, Loader, Refusal, Runtime, inspect};
use windlass_core::decision::{Entry, Request};
use windlass_core::key::ReconcilerId;
use windlass_core::object::Object;

/// Longest sentence that a Reconciler's status should have to hold.
const SENTENCE: usize = 4096;

static LOADER: LazyLock<Loader> = LazyLock::new(|| {
    let capacity = Capacity {
        decisions: 2,
        compile: Duration::from_secs(5),
        ..Capacity::default()
    };
    let runtime = Runtime::new(capacity).expect("two decisions fit any machine");
    Loader::new(runtime, Compiler::InProcess)
});

/// Unpacks a module and looks at what it is, wants and offers.
pub fn module_bytes(bytes: &[u8]) {
    if let Err(refusal) = inspect(&binary(bytes)) {
        says_what_to_do(&refusal);
    }
}

/// Compiles a module, asks it about itself, and takes a decision with it.
pub fn module_runs(bytes: &[u8]) {
    let executor = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let executor = executor.expect("a thread can always be had");
    executor.block_on(async {
        let limits = Limits::default().with_time(Duration::from_millis(100));
        let module = match LOADER.load(binary(bytes)).await {
            Ok(module) => module,
            Err(refusal) => return says_what_to_do(&refusal),
        };
        let manifest = match module.describe(&serde_json::Value::Null, &limits).await {
            Ok(manifest) => manifest,
            Err(refusal) => return says_what_to_do(&refusal),
        };
        let guest = module.guest(&manifest, &limits);
        if let Ok(mut decision) = guest.begin(b"seed").await {
            // Whatever it comes to is an answer, or a fault of this decision.
            let _ = decision.call(Entry::Reconcile, &request()).await;
        }
    });
}

/// Text is taken for WebAssembly text, so that modules in the corpus can be read.
fn binary(bytes: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.starts_with('('));
    text.and_then(|text| wat::parse_str(text).ok())
        .unwrap_or_else(|| bytes.to_vec())
}

fn says_what_to_do(refusal: &Refusal) {
    let message = &refusal.message;
    assert!(message.contains(". ") && message.len() < SENTENCE, "{refusal:?}");
    assert!(!message.contains('\n'), "a line that could be forged: {refusal:?}");
}

/// A request to decide about nothing in particular.
pub fn request() -> Request {
    Request {
        reconciler: ReconcilerId::new("windlass-system", "fuzzed"),
        primary: Object::default(),
        children: Vec::new(),
        not_served: Vec::new(),
        answers: Vec::new(),
        settings: serde_json::Value::Null,
        now: 0,
        seed: None,
    }
}
