//! Tells what a ConfigMap holds of a module: all of it, some parts, or where its parts are.

use super::source::refused;
use crate::api::{INDEX_KEY, Index, MAX_PARTS, Refused};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::collections::BTreeMap;
use windlass_core::names::ANNOTATION_DIGEST;
use windlass_core::object::Object;

/// Endings of keys that hold a module.
const ENDINGS: [&str; 3] = [".wasm", ".wasm.gz", ".wasm.zst"];

/// What a ConfigMap holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A module under one key.
    Module(Vec<u8>),
    /// A module under numbered keys, with the digest that the whole should have, where the ConfigMap says so.
    Parts(Vec<u8>, Option<String>),
    /// The places of its parts.
    Index(Index),
}

/// Why a ConfigMap gives no module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    /// What is there cannot be a module.
    Refused(Refused),
    /// Something is still missing.
    Incomplete(String),
}

impl From<Refused> for Lack {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

/// What is under the key, or under the only key that can hold a module, or under all its numbered keys.
pub(super) fn content(config_map: &Object, key: Option<&str>) -> Result<Content, Lack> {
    if let Some(key) = key {
        return Ok(Content::Module(bytes(config_map, key)?));
    }
    if let Some(text) = config_map.text_at(&["data", INDEX_KEY]) {
        return Ok(Content::Index(index(config_map, text)?));
    }
    let name = config_map.reference();
    let whole: Vec<&str> = keys(config_map, "binaryData").filter(|key| is_module(key)).collect();
    let numbered: BTreeMap<usize, &str> = keys(config_map, "binaryData")
        .filter_map(|key| Some((number(key)?, key)))
        .collect();
    match (whole.as_slice(), numbered.last_key_value()) {
        ([key], None) => Ok(Content::Module(bytes(config_map, key)?)),
        ([], Some((last, _))) => {
            let mut all = Vec::new();
            for part in 0..=*last {
                let Some(key) = numbered.get(&part) else {
                    return Err(Lack::Incomplete(format!(
                        "{name} has no key for part {part} of {}",
                        last + 1
                    )));
                };
                all.extend(bytes(config_map, key)?);
            }
            let digest = config_map.annotation(ANNOTATION_DIGEST).map(Into::into);
            Ok(Content::Parts(all, digest))
        }
        ([], None) => Err(refused("NoModule", no_module(config_map)).into()),
        (several, _) => {
            let keys = several
                .iter()
                .chain(numbered.values())
                .copied()
                .collect::<Vec<_>>()
                .join(", ");
            let message = format!("{name} has several modules ({keys}); leave one, or name it in spec.source");
            Err(refused("SeveralModules", message).into())
        }
    }
}

/// The bytes of one part: under the key, or under the only one there is.
pub(super) fn part(config_map: &Object, key: Option<&str>) -> Result<Vec<u8>, Lack> {
    let only: Vec<&str> = keys(config_map, "binaryData").collect();
    match (key, only.as_slice()) {
        (Some(key), _) => Ok(bytes(config_map, key)?),
        (None, [key]) => Ok(bytes(config_map, key)?),
        (None, several) => {
            let name = config_map.reference();
            let message = format!(
                "{name} has {} keys in binaryData, where a part of a module is one",
                several.len()
            );
            Err(Lack::Incomplete(message))
        }
    }
}

fn index(config_map: &Object, text: &str) -> Result<Index, Refused> {
    let name = config_map.reference();
    let invalid = |what: String| refused("Index", format!("{INDEX_KEY} of {name} {what}"));
    let index: Index = serde_saphyr::from_str(text)
        .map_err(|error| invalid(format!("is not an index, a digest with a list of parts: {error}")))?;
    if index.parts.is_empty() || index.parts.len() > MAX_PARTS {
        return Err(invalid(format!(
            "names {} parts; a module has 1 to {MAX_PARTS}",
            index.parts.len()
        )));
    }
    if index.digest.len() != 64
        || !index
            .digest
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    {
        return Err(invalid(
            "needs the sha256 of the module as 64 hexadecimal digits in lower case".into(),
        ));
    }
    Ok(index)
}

fn bytes(config_map: &Object, key: &str) -> Result<Vec<u8>, Refused> {
    let name = config_map.reference();
    let Some(text) = config_map.text_at(&["binaryData", key]) else {
        return Err(refused("NoModule", format!("{name} has no key {key:?} in binaryData")));
    };
    STANDARD
        .decode(text)
        .map_err(|error| refused("Invalid", format!("{key} of {name} is not base64: {error}")))
}

fn keys<'a>(config_map: &'a Object, section: &str) -> impl Iterator<Item = &'a str> {
    let section = config_map.at(&[section]).and_then(Value::as_object);
    section.into_iter().flatten().map(|(key, _)| key.as_str())
}

fn is_module(key: &str) -> bool {
    ENDINGS.iter().any(|ending| key.ends_with(ending))
}

/// The number of a part's key, `module.wasm.gz.1`.
fn number(key: &str) -> Option<usize> {
    let (stem, number) = key.rsplit_once('.')?;
    let number: usize = number.parse().ok()?;
    (is_module(stem) && number < MAX_PARTS).then_some(number)
}

fn no_module(config_map: &Object) -> String {
    let name = config_map.reference();
    match keys(config_map, "data").find(|key| is_module(key)) {
        // kubectl puts an empty file into data.
        Some(key) if config_map.text_at(&["data", key]).is_some_and(str::is_empty) => {
            format!("{key} of {name} is empty; give the .wasm file that the build made")
        }
        Some(key) => format!("{name} has {key} in data, where only text survives; put it into binaryData"),
        None => format!("{name} has no key in binaryData that ends in .wasm, .wasm.gz or .wasm.zst"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config_map(body: Value) -> Object {
        let mut object = Object::from_value(body).unwrap();
        object.metadata_mut().insert("name".into(), "nginx".into());
        object.metadata_mut().insert("namespace".into(), "system".into());
        object.0.insert("apiVersion".into(), "v1".into());
        object.0.insert("kind".into(), "ConfigMap".into());
        object
    }

    /// The bytes, or the reason.
    fn of(body: &Value, key: Option<&str>) -> Result<Vec<u8>, String> {
        match content(&config_map(body.clone()), key) {
            Ok(Content::Module(bytes) | Content::Parts(bytes, _)) => Ok(bytes),
            Ok(Content::Index(index)) => Err(format!("Index of {}", index.parts.len())),
            Err(Lack::Refused(refused)) => Err(refused.reason),
            Err(Lack::Incomplete(_)) => Err("Incomplete".into()),
        }
    }

    #[test]
    fn the_only_module_is_taken_and_anything_else_says_what_is_wrong() {
        let index = format!("digest: {}\nparts: [{{name: a}}, {{name: b, key: k}}]", "0".repeat(64));
        let none = format!("digest: {}\nparts: []", "0".repeat(64));
        let cases = [
            (
                json!({"binaryData": {"nginx.wasm": "AGFzbQ=="}}),
                None,
                Ok(b"\0asm".to_vec()),
            ),
            (
                json!({"binaryData": {"x.wasm.gz": "", "readme": "AA=="}}),
                None,
                Ok(Vec::new()),
            ),
            (
                json!({"binaryData": {"a.wasm": "AA==", "b.wasm": "AQ=="}}),
                Some("b.wasm"),
                Ok(vec![1]),
            ),
            (
                json!({"binaryData": {"a.wasm": "AA==", "b.wasm": "AQ=="}}),
                None,
                Err("SeveralModules"),
            ),
            (
                json!({"binaryData": {"a.wasm": "AA==", "b.wasm.0": "AQ=="}}),
                None,
                Err("SeveralModules"),
            ),
            (
                json!({"binaryData": {"m.wasm.1": "AQ==", "m.wasm.0": "AA=="}}),
                None,
                Ok(vec![0, 1]),
            ),
            (
                json!({"binaryData": {"m.wasm.gz.10": "AQ==", "m.wasm.gz.0": "AA=="}}),
                None,
                Err("Incomplete"),
            ),
            (json!({"binaryData": {"m.wasm.99": "AQ=="}}), None, Err("NoModule")),
            (json!({"data": {"index.yaml": index}}), None, Err("Index of 2")),
            (json!({"data": {"index.yaml": none}}), None, Err("Index")),
            (
                json!({"data": {"index.yaml": "parts: [{name: a}]"}}),
                None,
                Err("Index"),
            ),
            (
                json!({"data": {"index.yaml": "digest: abc\nparts: [{name: a}]"}}),
                None,
                Err("Index"),
            ),
            (json!({"binaryData": {"a.txt": "AA=="}}), None, Err("NoModule")),
            (json!({"data": {"a.wasm": "text"}}), None, Err("NoModule")),
            (json!({}), Some("a.wasm"), Err("NoModule")),
            (json!({"binaryData": {"a.wasm": "%"}}), None, Err("Invalid")),
        ];
        for (body, key, wanted) in cases {
            assert_eq!(of(&body, key), wanted.map_err(String::from), "{body}");
        }
        let Err(Lack::Refused(refused)) = content(&config_map(json!({"data": {"a.wasm": "text"}})), None) else {
            panic!("text is no module");
        };
        assert!(
            refused.message.contains("put it into binaryData"),
            "{}",
            refused.message
        );
    }

    #[test]
    fn a_part_is_one_key() {
        let one = config_map(json!({"binaryData": {"anything": "AA=="}}));
        let two = config_map(json!({"binaryData": {"a": "AA==", "b": "AQ=="}}));
        assert_eq!(part(&one, None), Ok(vec![0]));
        assert_eq!(part(&two, Some("b")), Ok(vec![1]));
        assert!(matches!(part(&two, None), Err(Lack::Incomplete(_))));
        assert!(matches!(part(&two, Some("c")), Err(Lack::Refused(_))));
    }
}
