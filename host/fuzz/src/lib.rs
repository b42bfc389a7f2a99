//! Reads what strangers wrote, whatever it is: each function takes bytes and must come back, with its promises kept.
//!
//! `fuzz_targets/` feeds them with input that libFuzzer makes up, and a test of the host with everything under `corpus/`.

mod module;
mod outcome;
mod text;

pub use module::{module_bytes, module_runs, request};
pub use outcome::outcome_conversion;
pub use text::{managed_fields, paths, quantities, selectors, yaml};
