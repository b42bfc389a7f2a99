//! Tells where the values of Secrets are, so that none of them stays where it must not; and carries seeds, unseen.

use crate::kind::{KindInfo, KindRef};
use crate::manifest::Projection;
use crate::object::Object;
use crate::path::{self, Step};
use serde_json::Value;
use std::fmt;

/// The secret bytes that a guest derives passwords and keys from. Neither shown nor serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct Seed(Vec<u8>);

impl Seed {
    /// Takes the bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes, for the guest alone.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Nothing of the bytes.
impl fmt::Debug for Seed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Seed(not shown)")
    }
}

/// Begin of what stands in for a value that is not shown. It is no base64, so that the API server refuses it in `data`.
pub const HIDDEN: &str = "hmac-sha256:";
/// In which `kubectl apply` keeps the whole object, values included.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The parts of a Secret that hold values.
const VALUES: [&str; 2] = ["data", "stringData"];

/// Whether objects of a kind are Secrets, whatever a guest calls the kind: the plural is what decides about requests.
pub fn is_secret(kind: &KindInfo) -> bool {
    kind.of.group.is_empty() && (names_secrets(&kind.of) || kind.plural == "secrets")
}

/// Whether this is the kind Secret, in whatever version.
pub fn names_secrets(of: &KindRef) -> bool {
    of.group.is_empty() && of.kind == "Secret"
}

/// Whether a projection of Secrets shows any of their values.
pub fn shows_values(projection: &Projection) -> bool {
    match projection {
        Projection::Metadata => false,
        Projection::Full => true,
        Projection::Fields(paths) => paths.iter().any(|path| is_value_path(path)),
    }
}

/// Whether a path leads to a value of a Secret.
pub fn is_value_path(path: &str) -> bool {
    matches!(path::split(path), Some((Step::Key(key), _)) if VALUES.contains(&key.as_ref()))
}

/// Puts something else in the place of every value of a Secret, and takes out the annotation that repeats them.
///
/// What is no text is put through as JSON; a part that is no map at all is left out.
pub fn replace_values(secret: &mut Object, replace: impl Fn(&str) -> String) {
    for part in VALUES {
        match secret.0.get_mut(part) {
            Some(Value::Object(values)) => {
                for value in values.values_mut() {
                    *value = Value::String(match value.as_str() {
                        Some(text) => replace(text),
                        None => replace(&value.to_string()),
                    });
                }
            }
            _ => drop(secret.0.remove(part)),
        }
    }
    without_last_applied(secret);
}

/// Takes out the annotation of `kubectl apply`, which repeats the whole object.
pub fn without_last_applied(object: &mut Object) {
    let metadata = object.0.get_mut("metadata").and_then(Value::as_object_mut);
    let annotations = metadata.and_then(|metadata| metadata.get_mut("annotations")?.as_object_mut());
    if let Some(annotations) = annotations {
        annotations.remove(LAST_APPLIED);
    }
}

/// The values of a Secret with their keys, as they are in `data` and `stringData`.
pub fn values(secret: &Object) -> impl Iterator<Item = (&String, &Value)> {
    let parts = VALUES.iter().filter_map(|part| secret.0.get(*part)?.as_object());
    parts.flatten()
}

/// The keys under which an object, if it is a Secret, has what stands in for a hidden value.
pub fn hidden_values(object: &Object) -> Vec<&str> {
    values(object)
        .filter(|(_, value)| value.as_str().is_some_and(|text| text.trim_start().starts_with(HIDDEN)))
        .map(|(key, _)| key.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Object {
        Object::from_value(value).unwrap()
    }

    #[test]
    fn a_secret_is_one_whatever_the_kind_is_called() {
        for (group, kind, plural, secret) in [
            ("", "Secret", "secrets", true),
            ("", "Other", "secrets", true),
            ("", "Secret", "others", true),
            ("example.com", "Secret", "secrets", false),
            ("", "ConfigMap", "configmaps", false),
        ] {
            assert_eq!(
                is_secret(&KindInfo::namespaced(group, "v1", kind, plural)),
                secret,
                "{kind} {plural}"
            );
        }
    }

    #[test]
    fn a_seed_is_neither_shown_nor_saved_with_its_request() {
        let request = crate::decision::Request {
            reconciler: crate::key::ReconcilerId::new("team-a", "nginx"),
            primary: Object::default(),
            children: Vec::new(),
            not_served: Vec::new(),
            answers: Vec::new(),
            settings: Value::Null,
            now: 0,
            seed: Some(Seed::new(vec![123; 32])),
        };
        let told = [format!("{request:?}"), json!(request).to_string()];
        assert!(told[0].contains("Seed(not shown)"), "{}", told[0]);
        assert!(told.iter().all(|text| !text.contains("123")), "{told:?}");
        let read: crate::decision::Request = serde_json::from_str(&told[1]).unwrap();
        assert_eq!(read.seed, None);
    }

    #[test]
    fn only_what_leads_into_the_values_shows_them() {
        let fields = |path: &str| Projection::Fields(vec![".type".into(), path.into()]);
        for (projection, shows) in [
            (Projection::Metadata, false),
            (Projection::Full, true),
            (fields(".data"), true),
            (fields(".data.password"), true),
            (fields(".stringData.password"), true),
            (fields(".database"), false),
            (fields(".metadata.labels"), false),
        ] {
            assert_eq!(shows_values(&projection), shows, "{projection:?}");
        }
    }

    #[test]
    fn no_value_is_left_anywhere() {
        let mut secret = object(json!({
            "kind": "Secret", "type": "Opaque",
            "metadata": {"name": "a", "annotations": {LAST_APPLIED: "{\"data\":{\"a\":\"hush\"}}", "kept": "yes"}},
            "data": {"a": "hush", "b": null, "c": {"deep": "hush"}},
            "stringData": ["hush"],
        }));
        replace_values(&mut secret, |text| format!("{} bytes", text.len()));
        let expected = json!({
            "kind": "Secret", "type": "Opaque", "metadata": {"name": "a", "annotations": {"kept": "yes"}},
            "data": {"a": "4 bytes", "b": "4 bytes", "c": "15 bytes"},
        });
        assert_eq!(Value::Object(secret.0), expected);
    }

    #[test]
    fn what_stands_in_for_a_value_is_found_in_both_parts() {
        let copied =
            object(json!({"data": {"a": "aHVzaA=="}, "stringData": {"b": "hmac-sha256:00", "c": " hmac-sha256:00"}}));
        assert_eq!(hidden_values(&copied), ["b", "c"]);
    }
}
