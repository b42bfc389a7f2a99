//! Connects a `Reconciler` to the exports of the contract.

use std::marker::PhantomData;

use crate::bindings::exports::windlass::reconciler::guest;
use crate::reconciler::Reconciler;
use crate::{convert, log, run};

/// The exports of the contract, carried out by `R`. Used by [`export!`](crate::export).
#[derive(Debug)]
pub struct Exports<R>(PhantomData<R>);

impl<R: Reconciler + 'static> guest::Guest for Exports<R> {
    fn describe(settings: String) -> Result<guest::Manifest, String> {
        log_panics();
        run::describe::<R>(&settings).map(convert::manifest)
    }

    fn reconcile(request: guest::Request) -> Result<guest::Reply, guest::Failure> {
        log_panics();
        run::reconcile::<R>(convert::request(request))
            .map(convert::reply)
            .map_err(convert::failure)
    }

    fn finalize(request: guest::Request) -> Result<guest::FinalReply, guest::Failure> {
        log_panics();
        run::finalize::<R>(convert::request(request))
            .map(convert::final_reply)
            .map_err(convert::failure)
    }
}

/// A panic ends the decision as a trap, which has no text; its message goes to the log.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| log::error(panic.to_string())));
}

/// Fixes the keys of std's hash maps for this instance.
///
/// Without a source of random numbers std takes addresses of the first moment at which a hash map is made. Later that is
/// one that depends on the size of the input, and any unrelated change of it would reorder every hash map (A-05).
#[doc(hidden)]
pub fn fix_hash_keys() {
    std::hint::black_box(std::hash::RandomState::new());
}

/// Exports a type that implements [`Reconciler`] as the guest of this crate. Does nothing in a native
/// build, so that the crate's logic can be tested there.
///
/// ```ignore
/// windlass_sdk::export!(Nginx);
/// ```
#[macro_export]
macro_rules! export {
    ($reconciler:ident) => {
        #[cfg(target_arch = "wasm32")]
        #[allow(unsafe_code, reason = "the exported functions are generated")]
        mod windlass_exports {
            type Exports = $crate::Exports<super::$reconciler>;
            $crate::bindings::export!(Exports with_types_in $crate::bindings);

            /// Runs when an instance is made, before any input is in its memory.
            #[cfg(target_os = "unknown")]
            #[unsafe(no_mangle)]
            extern "C" fn _initialize() {
                $crate::fix_hash_keys();
            }
        }
    };
}
