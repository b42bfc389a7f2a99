//! Prints a write as the difference that it makes to its object.

use super::files;
use serde_json::{Value, json};
use similar::TextDiff;
use windlass_core::object::Object;

/// What the server keeps books on, and nobody wants to read in a difference.
const BOOKKEEPING: [&str; 5] = [
    "managedFields",
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "generation",
];

/// The difference as text, with lines that begin with `+` and `-`, without a header.
pub(super) fn text(before: Option<&Object>, after: Option<&Object>) -> anyhow::Result<String> {
    let (before, after) = (shown(before)?, shown(after)?);
    let difference = TextDiff::from_lines(&before, &after);
    let mut text = String::new();
    for hunk in difference.unified_diff().context_radius(2).iter_hunks() {
        for change in hunk.iter_changes() {
            text.push_str(&format!("  {}{change}", change.tag()));
        }
    }
    Ok(text)
}

/// An object as a program wants it: whole, without the server's books.
pub(super) fn json(object: Option<&Object>) -> Value {
    object.map_or(Value::Null, |object| json!(without_bookkeeping(object)))
}

fn shown(object: Option<&Object>) -> anyhow::Result<String> {
    object.map_or(Ok(String::new()), |object| files::yaml(&without_bookkeeping(object)))
}

fn without_bookkeeping(object: &Object) -> Object {
    let mut object = object.clone();
    for field in BOOKKEEPING {
        object.metadata_mut().remove(field);
    }
    object
}
