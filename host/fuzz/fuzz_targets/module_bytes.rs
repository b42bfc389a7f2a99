//! Feeds `windlass_fuzz::module_bytes` with inputs of libFuzzer's making.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windlass_fuzz::module_bytes(bytes));
