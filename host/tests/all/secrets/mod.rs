//! Secrets that are made here: seeds and what is derived from them, the hash of what was applied, and where no value may be.

mod applied;
mod on_real;
mod seeds;
mod told;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A secret in every spelling in which it could get into a text by accident.
pub(crate) fn spellings(secret: &[u8]) -> Vec<String> {
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let list = format!("{secret:?}");
    let text = std::str::from_utf8(secret).unwrap_or_default().to_owned();
    let base64 = STANDARD.encode(secret);
    // Where it is in the middle of a line, its end may be another.
    let begin = base64.trim_end_matches('=');
    let spellings = [hex.to_uppercase(), hex, list, text, begin[..begin.len() - 2].into()];
    spellings.into_iter().filter(|text| !text.is_empty()).collect()
}

/// Fails if a text has a secret in any spelling.
pub(crate) fn assert_untold(whose: &str, secret: &[u8], text: &str) {
    for spelling in spellings(secret) {
        if let Some(at) = text.find(&spelling) {
            let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
            panic!(
                "{whose} is told as {spelling:?} in: {}",
                text[line..].lines().next().unwrap_or_default()
            );
        }
    }
}

#[test]
fn a_secret_is_found_in_every_spelling() {
    for text in [
        "x S3CR3T-42 x",
        "UzNDUjNULTQy",
        "[83, 51, 67, 82, 51, 84, 45, 52, 50]",
        "5333435233542d3432",
    ] {
        let found = std::panic::catch_unwind(|| assert_untold("it", b"S3CR3T-42", text));
        assert!(found.is_err(), "{text}");
    }
}
