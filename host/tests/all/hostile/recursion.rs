//! Goes to the end of a guest's stack, and calls the host from there (E-09).

use super::modules::{decide, handmade, load};
use crate::world::RUNTIME;
use serde_json::json;
use windlass::guest::{Compiler, Limits, Loader};
use windlass_core::decision::{Fault, FaultKind, Reply};

/// Recurses so deep, calls the host in the innermost call, and answers.
async fn recurse(loader: &Loader, depth: u32) -> Result<Reply, Fault> {
    let module = load(loader, handmade(depth, "")).await;
    let manifest = module.describe(&json!({}), &Limits::default()).await.unwrap();
    decide(&*module.guest(&manifest, &Limits::default()), "recurse").await
}

/// Every depth either ends as a trap that says so, or the host's function has room for all it does. There is no depth at
/// which the process ends, which is what would end this test.
#[tokio::test]
async fn e_09_a_call_of_the_host_from_the_end_of_the_stack_ends_as_an_answer_or_as_a_trap() {
    let loader = Loader::new(RUNTIME.clone(), Compiler::InProcess);
    let (mut fits, mut overflows) = (1_000_u32, 1_000_000);
    while overflows - fits > 1 {
        let depth = fits.midpoint(overflows);
        match recurse(&loader, depth).await {
            Ok(_) => fits = depth,
            Err(fault) => {
                assert_eq!(fault.kind, FaultKind::GuestTrapped, "{}", fault.message);
                assert!(fault.message.contains("stack"), "{}", fault.message);
                overflows = depth;
            }
        }
    }
    // Around the last depth that fits, where the host's function has the least room.
    for depth in fits.saturating_sub(40)..=fits {
        recurse(&loader, depth)
            .await
            .unwrap_or_else(|fault| panic!("{depth} of {fits}: {}", fault.message));
    }
    recurse(&loader, 1_000).await.unwrap();
}
