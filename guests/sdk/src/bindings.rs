//! Generates the Rust types of the contract in `wit/`; only `convert.rs` and `export.rs` name them.

#![allow(
    missing_docs,
    unreachable_pub,
    unsafe_code,
    clippy::allow_attributes_without_reason,
    clippy::needless_pass_by_value,
    reason = "generated code; the documentation of these types is in wit/"
)]

wit_bindgen::generate!({
    path: "../../wit",
    world: "reconciler",
    pub_export_macro: true,
    default_bindings_module: "windlass_sdk::bindings",
    runtime_path: "::windlass_sdk::runtime",
});
