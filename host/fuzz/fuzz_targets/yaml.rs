//! Feeds `windlass_fuzz::yaml` with inputs of libFuzzer's making.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windlass_fuzz::yaml(bytes));
