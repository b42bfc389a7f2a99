//! Prints a write as the difference that it makes to its object.

use super::files;
use serde_json::{Value, json};
use similar::TextDiff;
use windlass_core::names::ANNOTATION_APPLIED;
use windlass_core::object::Object;
use windlass_core::secrets::{names_secrets, replace_values, values};

/// What the server keeps books on, and nobody wants to read in a difference.
const BOOKKEEPING: [&str; 5] = [
    "managedFields",
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "generation",
];

/// In place of a value of a Secret, as `kubectl diff` has it.
const HIDDEN: &str = "***";

/// The difference as text, with lines that begin with `+` and `-`, without a header.
pub(super) fn text(before: Option<&Object>, after: Option<&Object>) -> anyhow::Result<String> {
    let (before, after) = (yaml(before, after, "before")?, yaml(after, before, "after")?);
    let difference = TextDiff::from_lines(&before, &after);
    let mut text = String::new();
    for hunk in difference.unified_diff().context_radius(2).iter_hunks() {
        for change in hunk.iter_changes() {
            text.push_str(&format!("  {}{change}", change.tag()));
        }
    }
    Ok(text)
}

/// Both objects as a program wants them, without the server's books.
pub(super) fn json(before: Option<&Object>, after: Option<&Object>) -> (Value, Value) {
    let one =
        |object: Option<&Object>, other, side| object.map_or(Value::Null, |object| json!(shown(object, other, side)));
    (one(before, after, "before"), one(after, before, "after"))
}

fn yaml(object: Option<&Object>, other: Option<&Object>, side: &str) -> anyhow::Result<String> {
    object.map_or(Ok(String::new()), |object| files::yaml(&shown(object, other, side)))
}

/// An object without the server's books and, if it is a Secret, without its values: where they differ from the other side's,
/// that is said. The hash of what was applied goes too, for it is under a key that everybody knows.
fn shown(object: &Object, other: Option<&Object>, side: &str) -> Object {
    let mut object = object.clone();
    for field in BOOKKEEPING {
        object.metadata_mut().remove(field);
    }
    if names_secrets(&object.kind()) {
        let is_there =
            |text: &str| other.is_some_and(|other| values(other).any(|(_, value)| value.as_str() == Some(text)));
        replace_values(&mut object, |text| match other.is_none() || is_there(text) {
            true => HIDDEN.into(),
            false => format!("{HIDDEN} ({side})"),
        });
        let metadata = object.metadata_mut();
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove(ANNOTATION_APPLIED);
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(data: &Value, applied: &str) -> Object {
        let annotations = json!({ANNOTATION_APPLIED: applied});
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "annotations": annotations}, "data": data,
        });
        Object::from_value(secret).unwrap()
    }

    #[test]
    fn of_a_secret_it_says_what_changes_and_shows_no_value() {
        let before = secret(&json!({"same": "aHVzaA==", "other": "b2xk", "goes": "Z29uZQ=="}), "1");
        let after = secret(&json!({"same": "aHVzaA==", "other": "bmV3", "comes": "bmV3ZXI="}), "2");
        let (shown_before, shown_after) = json(Some(&before), Some(&after));
        let data = json!({"same": "***", "other": "*** (before)", "goes": "*** (before)"});
        assert_eq!(shown_before["data"], data);
        let data = json!({"same": "***", "other": "*** (after)", "comes": "*** (after)"});
        assert_eq!(shown_after["data"], data);
        let text = text(Some(&before), Some(&after)).unwrap();
        for value in ["aHVzaA==", "b2xk", "bmV3", "Z29uZQ==", ANNOTATION_APPLIED] {
            assert!(!text.contains(value), "{value}: {text}");
        }
        let (nothing, made) = json(None, Some(&after));
        assert!(nothing.is_null() && made["data"]["other"] == "***", "{made}");
    }
}
