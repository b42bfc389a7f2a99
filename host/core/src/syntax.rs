//! Checks names, labels and reasons by the API server's own rules, and says which rule is broken.

/// Longest name of an object, and longest prefix of a label key.
const SUBDOMAIN_LENGTH: usize = 253;
/// Longest label value, and longest DNS label.
const LABEL_LENGTH: usize = 63;

/// Checks an RFC 1123 subdomain, which most objects' names are.
///
/// # Errors
/// The rule that is broken, as the end of a sentence.
pub fn subdomain(text: &str) -> Result<(), &'static str> {
    let valid = text.len() <= SUBDOMAIN_LENGTH && text.split('.').all(is_dns_part);
    valid.then_some(()).ok_or(
        "must be an RFC 1123 subdomain: lower case letters, digits, '-' and '.', first and last a letter or digit, \
         at most 253 characters",
    )
}

/// Checks an RFC 1123 label, which names of namespaces and services are.
///
/// # Errors
/// The rule that is broken, as the end of a sentence.
pub fn dns_label(text: &str) -> Result<(), &'static str> {
    let valid = text.len() <= LABEL_LENGTH && is_dns_part(text);
    valid.then_some(()).ok_or(
        "must be an RFC 1123 label: lower case letters, digits and '-', first and last a letter or digit, \
         at most 63 characters",
    )
}

/// Checks what RBAC objects may be called: anything that can be one segment of a request path.
///
/// # Errors
/// The rule that is broken, as the end of a sentence.
pub fn path_segment(text: &str) -> Result<(), &'static str> {
    let valid = !text.is_empty() && text != "." && text != ".." && !text.contains(['/', '%']);
    valid
        .then_some(())
        .ok_or("must be a path segment: not empty, not '.' or '..', without '/' and '%'")
}

/// Checks the key of a label or annotation: `name` or `example.com/name`.
///
/// # Errors
/// The rule that is broken, as the end of a sentence.
pub fn label_key(text: &str) -> Result<(), &'static str> {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    if prefix.is_some_and(|prefix| subdomain(prefix).is_err()) {
        return Err("must have an RFC 1123 subdomain before the '/', such as example.com/name");
    }
    let valid = !name.is_empty() && name.len() <= LABEL_LENGTH && is_label_text(name);
    valid.then_some(()).ok_or(
        "must be at most 63 letters, digits, '-', '_' and '.', first and last a letter or digit, \
         with at most one prefix such as example.com/",
    )
}

/// Checks the value of a label.
///
/// # Errors
/// The rule that is broken, as the end of a sentence.
pub fn label_value(text: &str) -> Result<(), &'static str> {
    let valid = text.is_empty() || text.len() <= LABEL_LENGTH && is_label_text(text);
    valid.then_some(()).ok_or(
        "must be a label value: empty, or at most 63 letters, digits, '-', '_' and '.', first and last a letter or digit",
    )
}

/// Checks a condition's type, as metav1.Condition has it.
///
/// # Errors
/// The rule that is broken, as the end of a sentence.
pub fn condition_type(text: &str) -> Result<(), &'static str> {
    let name = text.rsplit_once('/').map_or(text, |(_, name)| name);
    let prefix_is_valid = text
        .rsplit_once('/')
        .is_none_or(|(prefix, _)| subdomain(prefix).is_ok());
    let valid = prefix_is_valid && text.len() <= 316 && !name.is_empty() && is_label_text(name);
    valid
        .then_some(())
        .ok_or("must be a CamelCase word such as Ready or example.com/Ready, at most 316 characters")
}

/// Checks the reason of a condition or an Event: one CamelCase word.
///
/// # Errors
/// The rule that is broken, as the end of a sentence.
pub fn reason(text: &str) -> Result<(), &'static str> {
    let first_is_valid = text.starts_with(|first: char| first.is_ascii_alphabetic());
    let last_is_valid = text.ends_with(|last: char| last.is_ascii_alphanumeric() || last == '_');
    let inner_is_valid = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"_,:".contains(&byte));
    let valid = text.len() <= 1024 && first_is_valid && last_is_valid && inner_is_valid;
    valid
        .then_some(())
        .ok_or("must be one CamelCase word such as ImageMissing, at most 1024 characters")
}

fn is_dns_part(text: &str) -> bool {
    let inner_is_valid = text
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    !text.is_empty() && inner_is_valid && !text.starts_with('-') && !text.ends_with('-')
}

fn is_label_text(text: &str) -> bool {
    let inner_is_valid = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let is_edge = |edge: char| edge.is_ascii_alphanumeric();
    inner_is_valid && text.starts_with(is_edge) && text.ends_with(is_edge)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rule = fn(&str) -> Result<(), &'static str>;

    fn check(rule: Rule, good: &[&str], bad: &[&str]) {
        for text in good {
            assert_eq!(rule(text), Ok(()), "{text:?} is good");
        }
        for text in bad {
            assert!(rule(text).is_err(), "{text:?} is bad");
        }
    }

    #[test]
    fn names_follow_rfc_1123() {
        let longest = ["a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(61)].join(".");
        let too_long = format!("{longest}e");
        check(
            subdomain,
            &["a", "web-1", "a.b.c", "0", &longest],
            &["", "A", "-a", "a-", "a..b", "a_b", "ä", &too_long],
        );
        let label = "a".repeat(63);
        check(
            dns_label,
            &["a", "web-1", &label],
            &["", "a.b", "a-", &format!("{label}a")],
        );
        check(path_segment, &["system:node", "A_b"], &["", ".", "..", "a/b", "a%b"]);
    }

    #[test]
    fn labels_are_at_most_63_characters_with_alphanumeric_ends() {
        let longest = "x".repeat(63);
        let too_long = "x".repeat(64);
        check(
            label_value,
            &["", "a", "A.b_c-1", &longest],
            &[&too_long, "-a", "a.", "a b", "a/b"],
        );
        check(
            label_key,
            &["app", "app.kubernetes.io/name", &longest, "in"],
            &["", "/a", "a/", "a/b/c", "A.b/c", "a b", &too_long],
        );
    }

    #[test]
    fn condition_words_follow_the_api_conventions() {
        check(
            condition_type,
            &["Ready", "example.com/Ready", "A-b.c"],
            &["", "/Ready", "a/b/C", "Not ready", "-A"],
        );
        check(
            reason,
            &["A", "ImageMissing", "A_", "Http:404"],
            &["", "1A", "Not found", "A:", "A-B", "Ä"],
        );
    }
}
