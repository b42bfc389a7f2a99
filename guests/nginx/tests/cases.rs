//! Runs the cases of `tests/cases` natively; the host runs the same ones as wasm.

use windlass_sdk::testing::Case;

#[test]
fn cases_come_out_as_expected() {
    Case::check_folder::<windlass_nginx::Nginx>(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases"));
}
