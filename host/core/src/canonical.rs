//! Writes JSON so that the same state is always the same text, and hashes it.

use crate::keyed::{Keyed, hex};
use crate::object::Object;
use crate::secrets::names_secrets;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Fields of `metadata` that only the server sets. Typed builders emit them as zeros, which are no wishes (A-09).
const SERVER_OWNED: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The value as text: keys sorted, no whitespace, whatever order the map itself keeps.
pub fn to_text(value: &Value) -> String {
    let mut text = String::new();
    write_value(value, &mut text);
    text
}

/// The sha256 of the canonical text: 64 lower-case hex digits, without a prefix.
pub fn hash(value: &Value) -> String {
    hex(&Sha256::digest(to_text(value)))
}

/// What the intents of Secrets are hashed with.
///
/// The hash of what was applied stands in the child's metadata, which many may read who may not read its values: from a plain
/// hash a weak value could be guessed.
#[derive(Clone, Debug)]
pub struct IntentKey(Keyed);

impl IntentKey {
    /// Derives it from the host's key.
    pub fn derive(host_key: &[u8]) -> Self {
        Self(Keyed::derive(host_key, b"windlass applied\0"))
    }

    /// The hash of an intent, 64 lower-case hex digits: for a Secret its HMAC, for everything else its [`hash`].
    pub fn hash(&self, intent: &Object) -> String {
        let value = Value::Object(intent.0.clone());
        if names_secrets(&intent.kind()) {
            self.0.tag(to_text(&value).as_bytes())
        } else {
            hash(&value)
        }
    }
}

/// What a wanted object really asks for: without nulls, status and what only the server sets.
///
/// `stringData` of a Secret is spelt as `data`, which is where the server puts it: nobody could own or lose it elsewhere.
pub fn intent(object: &Object) -> Object {
    let mut intent = Object(without_nulls(&object.0));
    intent.0.remove("status");
    let metadata = intent.metadata_mut();
    for field in SERVER_OWNED {
        metadata.remove(field);
    }
    if names_secrets(&intent.kind()) {
        spell_out_string_data(&mut intent);
    }
    intent
}

fn write_value(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<&String, &Value> = map.iter().collect();
            text.push('{');
            for (index, (key, value)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_value(value, text);
            }
            text.push('}');
        }
        Value::Array(list) => {
            text.push('[');
            for (index, value) in list.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_value(value, text);
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

fn without_nulls(map: &Map<String, Value>) -> Map<String, Value> {
    map.iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| (key.clone(), value_without_nulls(value)))
        .collect()
}

fn value_without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(without_nulls(map)),
        // A null inside a list has a position that something else would take: it stays.
        Value::Array(list) => Value::Array(list.iter().map(value_without_nulls).collect()),
        scalar => scalar.clone(),
    }
}

fn spell_out_string_data(secret: &mut Object) {
    let Some(Value::Object(plain)) = secret.0.remove("stringData") else {
        return;
    };
    let data = secret.0.entry("data").or_insert_with(|| Value::Object(Map::new()));
    let Some(data) = data.as_object_mut() else { return };
    for (key, value) in plain {
        // What is no text is left for the server to refuse.
        let value = value
            .as_str()
            .map(|text| Value::from(base64(text.as_bytes())))
            .unwrap_or(value);
        data.insert(key, value);
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let six = (bits >> (18 - 6 * digit)) & 63;
            text.push(if digit > chunk.len() {
                '='
            } else {
                char::from(DIGITS[six as usize])
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Object {
        Object::from_value(value).unwrap()
    }

    #[test]
    fn keys_are_sorted_at_every_depth_and_lists_keep_their_order() {
        let value = json!({"b": [3, {"z": "\"", "a": null}], "a": true});
        assert_eq!(to_text(&value), r#"{"a":true,"b":[3,{"a":null,"z":"\""}]}"#);
    }

    #[test]
    fn the_hash_is_the_sha256_of_the_text() {
        assert_eq!(
            hash(&json!({})),
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
    }

    #[test]
    fn only_who_has_the_key_can_hash_what_a_secret_holds() {
        let (one, other) = (IntentKey::derive(b"one"), IntentKey::derive(b"other"));
        let secret = object(json!({"apiVersion": "v1", "kind": "Secret", "data": {"password": "MTIzNA=="}}));
        assert_eq!(
            one.hash(&secret),
            IntentKey::derive(b"one").hash(&secret),
            "the same after a restart"
        );
        assert_ne!(one.hash(&secret), other.hash(&secret));
        assert_ne!(one.hash(&secret), hash(&Value::Object(secret.0.clone())));
        let changed = object(json!({"apiVersion": "v1", "kind": "Secret", "data": {"password": "MTIzNQ=="}}));
        assert_ne!(one.hash(&secret), one.hash(&changed));
        for (api_version, kind) in [("v1", "ConfigMap"), ("example.com/v1", "Secret")] {
            let object = object(json!({"apiVersion": api_version, "kind": kind, "data": {"password": "1234"}}));
            assert_eq!(
                one.hash(&object),
                hash(&Value::Object(object.0.clone())),
                "{api_version} {kind}"
            );
        }
    }

    #[test]
    fn what_typed_builders_add_is_no_intent() {
        let built = object(json!({
            "kind": "Deployment", "apiVersion": "apps/v1", "status": {"replicas": 0},
            "metadata": {"name": "web", "creationTimestamp": null, "resourceVersion": "1", "uid": "x", "managedFields": [],
                         "generation": 9},
            "spec": {"paused": null, "template": {"metadata": {"creationTimestamp": null}}, "list": [null]},
        }));
        let wanted = json!({"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "web"},
                            "spec": {"template": {"metadata": {}}, "list": [null]}});
        assert_eq!(intent(&built).into_value(), wanted);
    }

    #[test]
    fn string_data_is_spelt_as_the_data_it_becomes() {
        let secret = object(json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "eA=="},
                                   "stringData": {"b": "any carnal pleas", "c": "hi", "d": ""}}));
        let data = json!({"a": "eA==", "b": "YW55IGNhcm5hbCBwbGVhcw==", "c": "aGk=", "d": ""});
        assert_eq!(intent(&secret).into_value()["data"], data);
        assert!(intent(&secret).at(&["stringData"]).is_none());
    }
}
