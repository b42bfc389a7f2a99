//! Generates the host's side of the contract; nothing else of this crate names `bindgen!`.

#[allow(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    clippy::allow_attributes_without_reason,
    clippy::needless_pass_by_value,
    reason = "generated from wit/, where it is documented"
)]
mod generated {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "reconciler",
        exports: { default: async },
    });
}

pub(super) use generated::windlass::reconciler::{decision, log, manifest, types};
pub(super) use generated::{Reconciler, ReconcilerPre};

/// Package of the contract, as import and export names begin.
pub(super) const PACKAGE: &str = "windlass:reconciler/";
/// Version of the contract that this host speaks.
pub(super) const VERSION: &str = "0.1.0";
