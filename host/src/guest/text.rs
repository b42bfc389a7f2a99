//! Cuts text of a guest's making to what fits a log line or a message.

use windlass_core::text::start;

/// The start of a text in one line of at most that many bytes: a line break would let a guest forge whole log lines.
pub(super) fn one_line(text: &str, bytes: usize) -> String {
    start(text, bytes)
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect()
}
