//! Holds JSON text that is known to be valid, and decodes it with errors that name the place.

use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};

/// One JSON value as text, as it crosses between host and guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json(String);

impl Json {
    /// Takes anything that serialises, such as a type of `k8s-openapi`, a struct of your own or a
    /// [`serde_json::Value`], and gives its text.
    ///
    /// # Panics
    /// When the value has no JSON form (a map whose keys are not strings). No Kubernetes type is like that.
    pub fn of(value: &impl Serialize) -> Self {
        Json(serde_json::to_string(value).expect("a Kubernetes object has only string keys"))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text as a tree, for tests and for looking things up.
    pub fn value(&self) -> serde_json::Value {
        serde_json::from_str(&self.0).expect("the text was made by a JSON serialiser")
    }
}

impl From<Json> for String {
    fn from(json: Json) -> String {
        json.0
    }
}

/// As the value itself, not as a string that contains JSON.
impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

/// Decodes `text`. The error is a sentence part that starts with the place:
/// `spec.replicas: invalid type: string "two", expected i32`.
pub(crate) fn decode<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let reason = without_position(&error.inner().to_string());
        if path == "." {
            reason
        } else {
            format!("{path}: {reason}")
        }
    })
}

/// Line and column in a text that the user never sees would only confuse.
fn without_position(message: &str) -> String {
    match message.rfind(" at line ") {
        Some(end) => message[..end].to_owned(),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    struct Outer {
        #[serde(rename = "inner")]
        _inner: Inner,
    }

    #[derive(Debug, Deserialize)]
    struct Inner {
        #[serde(rename = "count")]
        _count: i32,
    }

    #[test]
    fn an_error_names_the_place_and_not_the_column() {
        let cases = [
            (
                r#"{"inner":{"count":"two"}}"#,
                r#"inner.count: invalid type: string "two", expected i32"#,
            ),
            (r#"{"inner":{}}"#, "inner: missing field `count`"),
            (r#"{}"#, "missing field `inner`"),
            (
                r#"{"inner":{"count":3000000000}}"#,
                "inner.count: invalid value: integer `3000000000`, expected i32",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(decode::<Outer>(text).unwrap_err(), expected);
        }
    }
}
