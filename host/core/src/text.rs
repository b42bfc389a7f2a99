//! Cuts texts, so that whoever wrote them decides nothing about how much of them is kept.

/// The longest text of a condition, an Event or a message that is kept in memory, in bytes: an error's text must not make
/// the object too big to be saved (I-04), nor those of ten thousand primaries fill the host.
pub const LONGEST_TEXT: usize = 1024;

/// Ends a text that was cut.
const CUT: &str = "\u{2026}";

/// Cuts a text to what is written of it, at a character's end, and marks that something is missing.
pub fn cut(text: &str) -> String {
    if text.len() <= LONGEST_TEXT {
        return text.into();
    }
    format!("{}{CUT}", start(text, LONGEST_TEXT - CUT.len()))
}

/// A text and what must follow it whole: the text is cut so that both are not longer than may be written.
pub fn cut_before(text: &str, rest: &str) -> String {
    let room = LONGEST_TEXT.saturating_sub(rest.len());
    if text.len() <= room {
        return format!("{text}{rest}");
    }
    cut(&format!("{}{CUT}{rest}", start(text, room.saturating_sub(CUT.len()))))
}

/// The start of a text, of at most so many bytes.
pub fn start(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(start("abc", 5), "abc");
        assert_eq!(start("abc", 2), "ab");
        assert_eq!(start("aß", 2), "a");
        assert_eq!(start("", 0), "");
    }

    #[test]
    fn long_texts_are_cut_at_a_character_and_marked() {
        let text = cut(&"é".repeat(2000));
        assert!(text.len() <= LONGEST_TEXT && text.ends_with("é…"));
        assert_eq!(cut("short"), "short");
    }

    #[test]
    fn what_must_follow_is_never_cut_for_what_comes_before() {
        let text = cut_before(&"é".repeat(2000), "; do this");
        assert!(text.len() <= LONGEST_TEXT && text.ends_with("é…; do this"), "{text}");
        assert_eq!(cut_before("short", "; do this"), "short; do this");
        assert_eq!(cut_before("short", &"x".repeat(2000)).len(), LONGEST_TEXT);
    }
}
