//! Shows on standard error what is waited for: a spinner on a terminal, a line for each change elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// How fast the spinner turns.
const TICK: Duration = Duration::from_millis(120);

/// A line for people on standard error. Nobody may be reading any more: that is no error.
pub(super) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// What is going on; gone from the screen when it is dropped.
pub(super) struct Progress {
    /// None where standard error is no terminal.
    spinner: Option<ProgressBar>,
    last: String,
}

impl Progress {
    /// Begins with nothing to show.
    pub(super) fn new() -> Self {
        let spinner = std::io::stderr().is_terminal().then(|| {
            let spinner = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                spinner.set_style(style);
            }
            spinner.enable_steady_tick(TICK);
            spinner
        });
        Self {
            spinner,
            last: String::new(),
        }
    }

    /// Shows this from now on.
    pub(super) fn show(&mut self, text: &str) {
        if self.last == text {
            return;
        }
        self.last = text.into();
        match &self.spinner {
            Some(spinner) => spinner.set_message(text.to_owned()),
            None => say(text),
        }
    }

    /// Shows a count that changes often: only where it can be written over.
    pub(super) fn count(&self, text: String) {
        if let Some(spinner) = &self.spinner {
            spinner.set_message(text);
        }
    }

    /// Writes a line that stays.
    pub(super) fn note(&self, text: &str) {
        match &self.spinner {
            Some(spinner) => spinner.suspend(|| say(text)),
            None => say(text),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }
}
