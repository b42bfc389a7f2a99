//! Cuts text of a guest's making to what fits a log line or a message.

/// The start of a text in one line of at most that many bytes: a line break would let a guest forge whole log lines.
pub(super) fn one_line(text: &str, bytes: usize) -> String {
    let start = text.get(..text.floor_char_boundary(bytes)).unwrap_or(text);
    start
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect()
}
