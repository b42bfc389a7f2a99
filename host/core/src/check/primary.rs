//! Checks the fields of the primary that a guest wants to own.

use super::{Context, Findings, Rule, metadata, shown};
use crate::object::Object;
use crate::path::{self, Step};
use serde_json::Value;

/// How messages name the object.
const WHO: &str = "What the guest wants of the primary";

/// Checks that it is the primary and nothing but declared fields.
pub(super) fn check(context: &Context<'_>, object: &Object, findings: &mut Findings) {
    identity(context, object, findings);
    metadata::shape(WHO, object, findings);
    metadata::marks(WHO, object, findings);
    metadata::labels(WHO, object, findings);
    metadata::hidden_values(WHO, &context.manifest.primary.kind, object, findings);
    metadata::duplicates(WHO, &context.manifest.primary.kind.of, object, findings);
    if object.0.get("status").is_some_and(|status| !metadata::is_zero(status)) {
        findings.add(Rule::PrimaryField, || {
            format!("{WHO} has a status; that goes into the outcome's status.")
        });
    }
    fields(context, object, findings);
}

fn identity(context: &Context<'_>, object: &Object, findings: &mut Findings) {
    let declared = &context.manifest.primary.kind.of;
    let says_kind = object.0.contains_key("kind") || object.0.contains_key("apiVersion");
    if says_kind && object.kind() != *declared {
        findings.add(Rule::PrimaryField, || {
            format!(
                "{WHO} is of kind {}, but the primary is a {declared}.",
                shown(&object.kind().to_string())
            )
        });
    }
    let is_other_name = !object.name().is_empty() && object.name() != context.primary.name();
    let is_other_namespace = object.namespace().is_some() && object.namespace() != context.primary.namespace();
    if is_other_name || is_other_namespace {
        let other = shown(object.name());
        findings.add(Rule::PrimaryField, || {
            format!("{WHO} names another object, '{other}'; name and namespace may be left out.")
        });
    }
}

fn fields(context: &Context<'_>, object: &Object, findings: &mut Findings) {
    let paths: Vec<&str> = context.manifest.writes_primary.iter().map(String::as_str).collect();
    let mut walk = Walk {
        at: String::new(),
        findings,
    };
    for (key, value) in &object.0 {
        match (key.as_str(), value) {
            ("apiVersion" | "kind" | "status", _) => {}
            ("metadata", Value::Object(metadata)) => {
                let paths = below(&paths, key);
                let is_checked = |key: &str| {
                    ["name", "namespace"].contains(&key)
                        || key != "ownerReferences" && metadata::HOST_METADATA.contains(&key)
                };
                for (key, value) in metadata.iter().filter(|(key, _)| !is_checked(key)) {
                    walk.at.push_str(".metadata");
                    walk.entry(key, value, &paths);
                    walk.at.clear();
                }
            }
            _ => walk.entry(key, value, &paths),
        }
    }
}

/// Goes through a value and finds what no path covers.
struct Walk<'a> {
    at: String,
    findings: &'a mut Findings,
}

impl Walk<'_> {
    fn entry(&mut self, key: &str, value: &Value, paths: &[&str]) {
        let length = self.at.len();
        self.at.push('.');
        self.at.push_str(&shown(key).replace('.', r"\."));
        self.value(value, &below(paths, key));
        self.at.truncate(length);
    }

    fn value(&mut self, value: &Value, paths: &[&str]) {
        if paths.iter().any(|path| path.is_empty()) {
            return;
        }
        match value {
            // What is null is not written.
            Value::Null => {}
            Value::Object(map) if !paths.is_empty() && !map.is_empty() => {
                for (key, value) in map {
                    self.entry(key, value, paths);
                }
            }
            Value::Array(list) if paths.iter().any(|path| path.starts_with("[*]")) => {
                let paths: Vec<&str> = paths.iter().filter_map(|path| path.strip_prefix("[*]")).collect();
                let length = self.at.len();
                self.at.push_str("[*]");
                for value in list {
                    self.value(value, &paths);
                }
                self.at.truncate(length);
            }
            _ => self.findings.add(Rule::PrimaryField, || {
                format!(
                    "{WHO} has {}, which is not within writes-primary of the guest's manifest.",
                    self.at
                )
            }),
        }
    }
}

/// What is left of the paths that go through this key.
fn below<'a>(paths: &[&'a str], key: &str) -> Vec<&'a str> {
    let rest = |path: &&'a str| match path::split(path) {
        Some((Step::Key(step), rest)) if step == key => Some(rest),
        _ => None,
    };
    paths.iter().filter_map(rest).collect()
}
