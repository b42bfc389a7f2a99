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

include!(concat!(env!("OUT_DIR"), "/modules.rs"));

/// The bytes of a module, by one of the paths above.
///
/// # Panics
/// When the file is gone, as after `cargo clean` in another window.
pub fn bytes(path: &str) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("cannot read the module {path}: {error}"))
}
