//! Finds what of a write is not there in what the API server made of it.

use crate::object::Object;
use serde_json::{Map, Value};

/// What the API server says of a field that its schema does not have: to an apply, and to everything else that is validated
/// strictly. Code and reason are those of any other mistake in the content, so that only the words tell.
const UNKNOWN: [&str; 2] = ["field not declared in schema", "unknown field"];

/// The first field that was sent and did not come back, as `.status.attempts`; none if all are there (A-08).
///
/// Values do not count, since servers spell, default and convert them; neither do nulls and empty maps, which are no fields.
/// Lists count as a whole.
pub fn first_dropped(sent: &Object, returned: &Object) -> Option<String> {
    first_absent("", &sent.0, &returned.0)
}

/// Whether words of the API server are about a field that the schema does not have.
pub fn names_unknown_field(words: &str) -> bool {
    UNKNOWN.iter().any(|unknown| words.contains(unknown))
}

fn first_absent(path: &str, sent: &Map<String, Value>, returned: &Map<String, Value>) -> Option<String> {
    sent.iter().find_map(|(key, value)| {
        let path = format!("{path}.{key}");
        match (value, returned.get(key)) {
            (Value::Null, _) => None,
            (Value::Object(inner), _) if inner.is_empty() => None,
            (Value::Object(inner), Some(Value::Object(there))) => first_absent(&path, inner, there),
            (Value::Object(inner), None) => first_absent(&path, inner, &Map::new()).or(Some(path)),
            (_, None | Some(Value::Null)) => Some(path),
            (_, Some(_)) => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn dropped(sent: Value, returned: Value) -> Option<String> {
        first_dropped(
            &Object::from_value(sent).unwrap(),
            &Object::from_value(returned).unwrap(),
        )
    }

    #[test]
    fn a_field_that_does_not_come_back_is_named_with_its_path() {
        let there = json!({"status": {"told": {"a": 1}, "list": []}});
        assert_eq!(
            dropped(json!({"status": {"attempts": 1}}), there.clone()).as_deref(),
            Some(".status.attempts")
        );
        assert_eq!(
            dropped(json!({"status": {"told": {"b": {"c": 0}}}}), there.clone()).as_deref(),
            Some(".status.told.b.c")
        );
        assert_eq!(
            dropped(json!({"status": {"list": [1]}}), there),
            None,
            "its value is the server's"
        );
    }

    #[test]
    fn values_nulls_and_empty_maps_do_not_count() {
        let sent = json!({"spec": {"cpu": "1000m", "empty": {}, "nothing": null}});
        assert_eq!(dropped(sent, json!({"spec": {"cpu": "1", "added": true}})), None);
    }

    #[test]
    fn the_words_of_both_kinds_of_validation_are_known() {
        assert!(names_unknown_field(
            "failed to create typed patch object (a/b; c/v1, Kind=D): .status.attempts: field not declared in schema"
        ));
        assert!(names_unknown_field(
            r#"strict decoding error: unknown field "spec.foo""#
        ));
        assert!(!names_unknown_field("spec.replicas: Invalid value: -1"));
    }
}
