//! Writes lines to the host's log. The host adds guest, primary and digest, and bounds their number.

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// For whoever writes the guest.
    Debug,
    /// Worth knowing.
    Info,
    /// Worth looking at.
    Warn,
    /// Something is wrong.
    Error,
}

/// Logs `message` at [`Level::Debug`].
pub fn debug(message: impl AsRef<str>) {
    write(Level::Debug, message.as_ref());
}

/// Logs `message` at [`Level::Info`].
pub fn info(message: impl AsRef<str>) {
    write(Level::Info, message.as_ref());
}

/// Logs `message` at [`Level::Warn`].
pub fn warn(message: impl AsRef<str>) {
    write(Level::Warn, message.as_ref());
}

/// Logs `message` at [`Level::Error`].
pub fn error(message: impl AsRef<str>) {
    write(Level::Error, message.as_ref());
}

#[cfg(target_arch = "wasm32")]
fn write(level: Level, message: &str) {
    crate::convert::write_log(level, message);
}

/// Outside a host the lines go to the test that collects them, or nowhere.
#[cfg(not(target_arch = "wasm32"))]
fn write(level: Level, message: &str) {
    #[cfg(feature = "testing")]
    collected::push(level, message);
    #[cfg(not(feature = "testing"))]
    let _ = (level, message);
}

#[cfg(all(feature = "testing", not(target_arch = "wasm32")))]
pub(crate) mod collected {
    //! Collects the lines of one run on this thread.

    use super::Level;
    use std::cell::RefCell;

    type Lines = Vec<(Level, String)>;

    thread_local! {
        static LINES: RefCell<Option<Lines>> = const { RefCell::new(None) };
    }

    pub(super) fn push(level: Level, message: &str) {
        LINES.with_borrow_mut(|lines| {
            if let Some(lines) = lines {
                lines.push((level, message.to_owned()));
            }
        });
    }

    /// Runs `body` and gives its result and the lines it wrote.
    pub(crate) fn while_running<T>(body: impl FnOnce() -> T) -> (T, Lines) {
        LINES.set(Some(Vec::new()));
        let result = body();
        (result, LINES.take().unwrap_or_default())
    }
}
