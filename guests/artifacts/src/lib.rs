//! Gives tests every guest as a wasm module, built by this package's build script.
//!
//! ```
//! let module = windlass_artifacts::bytes(windlass_artifacts::NGINX);
//! assert_eq!(&module[..4], b"\0asm");
//! ```
//!
//! A test binary of the host starts with this, so that a guest without a test does not compile:
//!
//! ```
//! macro_rules! assert_test_exists {
//!     ($name:ident) => {
//!         #[allow(unused_imports, reason = "only says that it must exist")]
//!         use self::$name as _;
//!     };
//! }
//! # mod tests {
//! # fn friend() {} fn hostile() {} fn nginx() {} fn nginx_next() {}
//! windlass_artifacts::foreach_guest!(assert_test_exists);
//! # }
//! ```

use std::process::Command;

include!(concat!(env!("OUT_DIR"), "/modules.rs"));

/// The bytes of a guest built for WASI (wasm32-wasip2), by its package. Built when it is asked for: few tests need it.
///
/// # Panics
/// When it cannot be built.
pub fn for_wasi(package: &str) -> Vec<u8> {
    let built = Command::new(env!("CARGO"))
        .args([
            "build",
            "--profile",
            "guest",
            "--target",
            "wasm32-wasip2",
            "--package",
            package,
        ])
        .args(["--target-dir", TARGET_DIRECTORY])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .status();
    assert!(
        built.is_ok_and(|status| status.success()),
        "cannot build {package}; if the target is missing: rustup target add wasm32-wasip2"
    );
    let file = package.replace('-', "_");
    bytes(&format!("{TARGET_DIRECTORY}/wasm32-wasip2/guest/{file}.wasm"))
}

/// The bytes of a module, by one of the paths above.
///
/// # Panics
/// When the file is gone, as after `cargo clean` in another window.
pub fn bytes(path: &str) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("cannot read the module {path}: {error}"))
}
