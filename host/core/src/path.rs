//! Follows field paths, written as in a CRD printer column, through objects.
//!
//! A path is `.spec.nodeName` or `.spec.tls[*].secretName`; a dot inside a key is written `\.`, as in
//! `.metadata.annotations.example\.com/owner`. Paths are read while they are followed, so that following one
//! allocates nothing.

use crate::object::Object;
use serde_json::Value;
use std::borrow::Cow;

/// Why a text is not a field path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the field path '{path}' cannot be read at '{at}': write it like .spec.nodeName or .spec.tls[*].secretName")]
pub struct PathError {
    /// The whole path.
    pub path: String,
    /// Where it stops being one.
    pub at: String,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// Into the entry of a map.
    Key(Cow<'a, str>),
    /// Into every element of a list.
    Each,
}

/// Checks that a text is a field path.
///
/// # Errors
/// [`PathError`] with the place where it stops being one.
pub fn validate(path: &str) -> Result<(), PathError> {
    let error = |at: &str| PathError {
        path: path.into(),
        at: at.into(),
    };
    if !path.starts_with('.') {
        return Err(error(path));
    }
    let mut rest = path;
    while !rest.is_empty() {
        rest = split(rest).ok_or_else(|| error(rest))?.1;
    }
    Ok(())
}

/// Whether a value at `path` is at `prefix` or below it.
pub fn is_within(path: &str, prefix: &str) -> bool {
    let (mut path, mut prefix) = (path, prefix);
    while !prefix.is_empty() {
        let (Some((step, path_rest)), Some((wanted, prefix_rest))) = (split(path), split(prefix)) else {
            return false;
        };
        if step != wanted {
            return false;
        }
        (path, prefix) = (path_rest, prefix_rest);
    }
    true
}

/// Whether any scalar at the path is this text. A field that is missing is nothing, not even the empty text.
pub fn holds(object: &Object, path: &str, value: &str) -> bool {
    any(object, path, &mut |found| {
        text(found).is_some_and(|found| found == value)
    })
}

/// Shows every value at the path to `test` until it says true; false for a path that cannot be read.
pub fn any(object: &Object, path: &str, test: &mut dyn FnMut(&Value) -> bool) -> bool {
    match split(path) {
        Some((Step::Key(key), rest)) => object
            .0
            .get(key.as_ref())
            .is_some_and(|value| any_below(value, rest, test)),
        _ => false,
    }
}

/// A scalar as text: strings as they are, numbers and booleans as JSON has them; none for anything else.
pub fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Bool(true) => Some(Cow::Borrowed("true")),
        Value::Bool(false) => Some(Cow::Borrowed("false")),
        _ => None,
    }
}

/// The first step and the rest; none at the end and where the text is no path.
pub(crate) fn split(path: &str) -> Option<(Step<'_>, &str)> {
    if let Some(rest) = path.strip_prefix("[*]") {
        return Some((Step::Each, rest));
    }
    let text = path.strip_prefix('.')?;
    let mut escaped = false;
    let mut end = text.len();
    for (index, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '.' | '[' => {
                end = index;
                break;
            }
            ']' => return None,
            _ => {}
        }
    }
    let (key, rest) = text.split_at(end);
    let rest_is_path = rest.is_empty() || rest.starts_with('.') || rest.starts_with("[*]");
    if key.is_empty() || escaped || !rest_is_path {
        return None;
    }
    let key = if key.contains('\\') {
        Cow::Owned(unescaped(key))
    } else {
        Cow::Borrowed(key)
    };
    Some((Step::Key(key), rest))
}

fn unescaped(key: &str) -> String {
    let mut characters = key.chars();
    std::iter::from_fn(|| match characters.next()? {
        '\\' => characters.next(),
        character => Some(character),
    })
    .collect()
}

fn any_below(value: &Value, path: &str, test: &mut dyn FnMut(&Value) -> bool) -> bool {
    if path.is_empty() {
        return test(value);
    }
    match (split(path), value) {
        (Some((Step::Key(key), rest)), Value::Object(map)) => {
            map.get(key.as_ref()).is_some_and(|value| any_below(value, rest, test))
        }
        (Some((Step::Each, rest)), Value::Array(list)) => list.iter().any(|value| any_below(value, rest, test)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_are_written_as_in_a_printer_column() {
        for path in [
            ".spec",
            ".spec.nodeName",
            ".spec.tls[*].secretName",
            ".a[*][*]",
            r".metadata.annotations.a\.b/c",
        ] {
            assert_eq!(validate(path), Ok(()), "{path}");
        }
        for path in [
            "", "spec", ".", ".a.", "..a", ".a[0]", ".a[*", ".a]", "[*]", ".a[*]b", r".a\", ".a[*].", "{.a}",
        ] {
            assert!(validate(path).is_err(), "{path}");
        }
    }

    #[test]
    fn a_bad_path_is_named_with_the_place() {
        let error = validate(".spec.tls[0].name").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the field path '.spec.tls[0].name' cannot be read at '.tls[0].name': \
             write it like .spec.nodeName or .spec.tls[*].secretName"
        );
    }

    #[test]
    fn any_element_is_enough_and_missing_is_nothing() {
        let object = Object::from_value(json!({
            "metadata": {"annotations": {"example.com/owner": "ann"}},
            "spec": {"nodeName": "n1", "port": 80, "on": true, "none": null, "tls": [{"name": "a"}, {}, {"name": "b"}]},
        }))
        .unwrap();
        let cases = [
            (".spec.nodeName", "n1", true),
            (".spec.nodeName", "n2", false),
            (".spec.port", "80", true),
            (".spec.on", "true", true),
            (".spec.none", "", false),
            (".spec.missing", "", false),
            (".spec.tls[*].name", "b", true),
            (".spec.tls[*].name", "c", false),
            (".spec.tls.name", "a", false),
            (".spec.nodeName[*]", "n1", false),
            (r".metadata.annotations.example\.com/owner", "ann", true),
            ("spec.nodeName", "n1", false),
        ];
        for (path, value, expected) in cases {
            assert_eq!(holds(&object, path, value), expected, "{path} = {value}");
        }
    }

    #[test]
    fn a_path_is_within_itself_and_what_is_above() {
        assert!(is_within(".spec.tls[*].name", ".spec.tls"));
        assert!(is_within(".spec", ".spec"));
        assert!(!is_within(".spec", ".spec.tls"));
        assert!(!is_within(".specs", ".spec"));
        assert!(!is_within(".spec.tls", ".spec.tls[*]"));
    }
}
