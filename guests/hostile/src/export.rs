//! Exports the guest: with the answers of `raw.rs`, and the SDK's for everything else.

use windlass_sdk::bindings::exports::windlass::reconciler::guest::{
    Failure, FinalReply, Guest, Manifest, Reply, Request,
};

use crate::{Hostile, raw};

type Exports = windlass_sdk::Exports<Hostile>;

/// The exports.
pub struct Raw;

impl Guest for Raw {
    fn describe(settings: String) -> Result<Manifest, String> {
        Exports::describe(settings)
    }

    fn reconcile(request: Request) -> Result<Reply, Failure> {
        raw::answer(&request).map_or_else(|| Exports::reconcile(request), Ok)
    }

    fn finalize(request: Request) -> Result<FinalReply, Failure> {
        Exports::finalize(request)
    }
}

#[cfg(target_arch = "wasm32")]
#[allow(unsafe_code, reason = "the exported functions are generated")]
mod generated {
    use super::Raw;

    windlass_sdk::bindings::export!(Raw with_types_in windlass_sdk::bindings);

    /// Runs when an instance is made, as in the SDK's own macro.
    #[cfg(target_os = "unknown")]
    #[unsafe(no_mangle)]
    extern "C" fn _initialize() {
        windlass_sdk::fix_hash_keys();
    }
}
