//! Compares texts with committed files; `BLESS=1` writes what comes out.

use std::path::{Path, PathBuf};

/// A file below this package.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Whether files are to be written instead of compared.
pub(crate) fn blesses() -> bool {
    std::env::var_os("BLESS").is_some_and(|value| value == "1")
}

/// What the file says; empty if it is not there.
pub(crate) fn text(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_default()
}

/// Fails with the difference unless the file says this, or writes it.
pub(crate) fn assert(name: &str, found: &str) {
    if blesses() {
        std::fs::create_dir_all(path(name).parent().unwrap()).unwrap();
        std::fs::write(path(name), found).unwrap();
        return;
    }
    let wanted = text(name);
    assert!(
        wanted == found,
        "{name} differs (BLESS=1 writes it):\n{}",
        difference(&wanted, found)
    );
}

/// What would have to change in one text to be the other.
pub(crate) fn difference(wanted: &str, found: &str) -> String {
    similar::TextDiff::from_lines(wanted, found)
        .unified_diff()
        .context_radius(3)
        .to_string()
}
