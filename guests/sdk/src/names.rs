//! Makes names and label values that Kubernetes accepts from names of any length, without two becoming one.
//!
//! What fits is kept as it is. What does not is cut and gets `--` and ten hexadecimal digits of its
//! SHA-256, so that two long names with the same beginning stay apart. A text that ends like that by
//! itself gets them too: so nobody can choose the name that another one is cut to.

use sha2::{Digest, Sha256};

/// The most characters of a label value, and of a name that becomes a DNS label (Services, namespaces).
pub const LABEL: usize = 63;

/// The most characters of most objects' names, which are DNS subdomains.
pub const SUBDOMAIN: usize = 253;

/// The most characters of a Deployment's name: its ReplicaSets are named after it with a dash and a hash
/// of up to ten characters, and their names end at [`SUBDOMAIN`]. A longer one is accepted and never gets
/// a pod. (Pods need no such care: the API server cuts their generated names itself.)
pub const DEPLOYMENT: usize = SUBDOMAIN - 11;

const MARK: &str = "--";
const DIGITS: usize = 10;

/// A valid label value for `text`: at most 63 characters, alphanumeric at both ends.
///
/// ```
/// use windlass_sdk::names::label_value;
/// assert_eq!(label_value("nginx-web"), "nginx-web");
/// assert!(label_value(&"a".repeat(64)).starts_with("aaaa"));
/// ```
pub fn label_value(text: &str) -> String {
    if text.len() <= LABEL && is_label_value(text) && !is_marked(text) {
        return text.to_owned();
    }
    let readable: String = text
        .chars()
        .map(|c| if is_label_character(c) { c } else { '-' })
        .collect();
    marked(&readable, text, "", LABEL)
}

/// A valid object name, `stem` followed by `suffix`, of at most `max` characters; see [`DEPLOYMENT`],
/// [`SUBDOMAIN`] and [`LABEL`]. Where it is too long the stem is cut and the suffix is kept.
///
/// `suffix` has to be able to end a name (`-deploy`), and `max` to leave room for it and twelve characters.
///
/// ```
/// use windlass_sdk::names::{DEPLOYMENT, object_name};
/// assert_eq!(object_name("web", "-deploy", DEPLOYMENT), "web-deploy");
/// ```
pub fn object_name(stem: &str, suffix: &str, max: usize) -> String {
    let whole = format!("{stem}{suffix}");
    let valid = is_subdomain(&whole) && !is_marked(stem);
    if valid && whole.len() <= max {
        return whole;
    }
    let readable = if is_subdomain(&whole) {
        stem.to_owned()
    } else {
        dashed(stem)
    };
    marked(&readable, stem, suffix, max)
}

/// `readable` cut to fit, the mark, the digits of `original`, the suffix.
fn marked(readable: &str, original: &str, suffix: &str, max: usize) -> String {
    let room = max.saturating_sub(MARK.len() + DIGITS + suffix.len());
    let cut: String = readable.chars().take(room).collect();
    let head = cut.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let mark = if head.is_empty() { "" } else { MARK };
    format!("{head}{mark}{}{suffix}", digits(original))
}

fn digits(text: &str) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .take(DIGITS / 2)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Whether it ends as [`marked`] makes it, or could be nothing but its digits.
fn is_marked(text: &str) -> bool {
    let Some(start) = text.len().checked_sub(DIGITS) else {
        return false;
    };
    let hexadecimal = text
        .bytes()
        .skip(start)
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    hexadecimal && (start == 0 || text.is_char_boundary(start) && text[..start].ends_with(MARK))
}

fn is_label_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.')
}

fn is_label_value(text: &str) -> bool {
    let ends = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    text.chars().all(is_label_character) && ends(text.chars().next()) && ends(text.chars().last())
}

/// Whether it is one, length aside: parts of lower-case letters, digits and inner dashes between dots.
fn is_subdomain(text: &str) -> bool {
    let alphanumeric = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    text.split('.').map(str::as_bytes).all(|part| {
        alphanumeric(part.first())
            && alphanumeric(part.last())
            && part.iter().all(|byte| *byte == b'-' || alphanumeric(Some(byte)))
    })
}

fn dashed(text: &str) -> String {
    text.chars()
        .map(|c| c.to_ascii_lowercase())
        .map(|c| {
            if c.is_ascii_lowercase() || c.is_ascii_digit() {
                c
            } else {
                '-'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
