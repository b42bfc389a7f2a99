//! Checks the metadata of objects that a guest gives, and what else holds for children and primaries alike.

use super::{Findings, Rule, shown};
use crate::kind::{KindInfo, KindRef};
use crate::names;
use crate::object::Object;
use crate::secrets;
use crate::shape::{self, Shape};
use crate::syntax;
use serde_json::Value;

/// Fields of metadata that the host or the API server sets. What a guest says of those that only the server sets is left out
/// by `canonical::intent`: typed builders emit them, and so does whoever starts from an object it was shown.
pub const HOST_METADATA: [&str; 9] = [
    "ownerReferences",
    "uid",
    "resourceVersion",
    "generation",
    "managedFields",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
];

/// Metadata is a map, texts in it are texts and its maps are maps of text.
pub(super) fn shape(who: &str, object: &Object, findings: &mut Findings) {
    let Some(metadata) = object.0.get("metadata") else {
        return;
    };
    let Some(metadata) = metadata.as_object() else {
        return findings.add(Rule::ObjectShape, || format!("{who} has metadata that is not a map."));
    };
    for key in ["name", "namespace"] {
        if metadata
            .get(key)
            .is_some_and(|value| !value.is_string() && !value.is_null())
        {
            findings.add(Rule::ObjectShape, || {
                format!("{who} has a metadata.{key} that is not a text.")
            });
        }
    }
    for key in ["labels", "annotations"] {
        let is_bad =
            |map: &Value| !map.is_null() && !map.as_object().is_some_and(|map| map.values().all(Value::is_string));
        if metadata.get(key).is_some_and(is_bad) {
            findings.add(Rule::ObjectShape, || {
                format!("{who} has metadata.{key} that is not a map of texts; numbers and booleans go in quotes.")
            });
        }
    }
    let is_bad =
        |list: &Value| !list.is_null() && !list.as_array().is_some_and(|list| list.iter().all(Value::is_string));
    if metadata.get("finalizers").is_some_and(is_bad) {
        findings.add(Rule::ObjectShape, || {
            format!("{who} has metadata.finalizers that is not a list of texts.")
        });
    }
}

/// No value of a Secret is what the guest was shown in place of one: writing that would destroy the value.
pub(super) fn hidden_values(who: &str, kind: &KindInfo, object: &Object, findings: &mut Findings) {
    if !secrets::is_secret(kind) {
        return;
    }
    for key in secrets::hidden_values(object) {
        findings.add(Rule::HiddenValue, || {
            format!(
                "{who} has under '{}' what stands in for a value that the guest is not shown, and writing it would destroy \
                 the value: leave it out, or allow values by spec.secretValues of the Reconciler.",
                shown(key)
            )
        });
    }
}

/// No label, annotation or finalizer is one of the host's.
pub(super) fn marks(who: &str, object: &Object, findings: &mut Findings) {
    for map in ["labels", "annotations"] {
        for key in keys(object, map).filter(|key| is_host_mark(key)) {
            findings.add(Rule::HostMark, || {
                format!(
                    "{who} has '{}' in metadata.{map}; everything under windlass.dev/ is the host's.",
                    shown(key)
                )
            });
        }
    }
    for finalizer in object.finalizers().filter(|finalizer| is_host_mark(finalizer)) {
        findings.add(Rule::HostMark, || {
            format!(
                "{who} has the finalizer '{}'; everything under windlass.dev/ is the host's.",
                shown(finalizer)
            )
        });
    }
}

/// No owner is given. An empty list of owners is a wish too: to take ownership of the field away from the host.
pub(super) fn no_owners(who: &str, object: &Object, findings: &mut Findings) {
    if object
        .at(&["metadata", "ownerReferences"])
        .is_some_and(|owners| !owners.is_null())
    {
        findings.add(Rule::HostField, || {
            format!("{who} has metadata.ownerReferences, which the host sets; leave it out.")
        });
    }
}

/// Keys and values of labels, and keys of annotations, are such that the API server takes them.
pub(super) fn labels(who: &str, object: &Object, findings: &mut Findings) {
    for map in ["labels", "annotations"] {
        for key in keys(object, map) {
            if let Err(rule) = syntax::label_key(key) {
                findings.add(Rule::Label, || {
                    format!("{who} has the key '{}' in metadata.{map}, which {rule}.", shown(key))
                });
            }
        }
    }
    for (key, value) in object.labels() {
        if let Err(rule) = syntax::label_value(value) {
            findings.add(Rule::Label, || {
                format!(
                    "{who} has the label {}={}, whose value {rule}.",
                    shown(key),
                    shown(value)
                )
            });
        }
    }
}

/// No list has an entry twice that the API server tells from others by a key: it would take that once and never again.
pub(super) fn duplicates(who: &str, of: &KindRef, object: &Object, findings: &mut Findings) {
    let fields = object.0.iter().filter(|(key, _)| *key != "status");
    for (key, value) in fields {
        for rest in shape::duplicates(value, Shape::of_kind(of).field(key)) {
            findings.add(Rule::ListTwice, || {
                let path = format!("{key}{}{rest}", if rest.starts_with('[') { "" } else { "." });
                format!(
                    "{who} has {} more than once; entries of that list are told apart by what is in the brackets.",
                    shown(&path)
                )
            });
        }
    }
}

/// Whether a value is what a typed builder emits for a field that nobody set: that is no wish.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.values().all(is_zero),
        Value::Bool(true) => false,
    }
}

fn keys<'a>(object: &'a Object, map: &str) -> impl Iterator<Item = &'a str> {
    let map = object.at(&["metadata", map]).and_then(Value::as_object);
    map.into_iter().flat_map(|map| map.keys().map(String::as_str))
}

fn is_host_mark(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    domain == names::GROUP || domain.ends_with(".reconciler.windlass.dev")
}
