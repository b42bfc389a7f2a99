//! Checks metadata and the few rules of builtin kinds that operators run into.

use super::kinds::{Kind, is_crd};
use super::normal::tidy_metadata;
use super::schema;
use serde_json::Value;
use windlass_core::object::Object;
use windlass_core::write::WriteError;

/// Fails, in the server's words, if an object is not fit to be stored in place of another.
pub(super) fn check(kind: &Kind, object: &Object, before: Option<&Object>) -> Result<(), WriteError> {
    readable(kind, object)?;
    let mut findings = metadata(object, &kind.served.kind.of.group);
    match kind.schema() {
        Some(schema) => {
            let mut body = object.0.clone();
            body.remove("metadata");
            schema::validate(&Value::Object(body), schema, "", &mut findings);
        }
        None => builtin(kind, object, before, &mut findings),
    }
    if let Some(before) = before {
        update(object, before, &mut findings);
    }
    match findings.as_slice() {
        [] => Ok(()),
        [one] => Err(invalid(kind, object.name(), one)),
        all => Err(invalid(kind, object.name(), &format!("[{}]", all.join(", ")))),
    }
}

/// Refuses an object in the server's words.
pub(super) fn invalid(kind: &Kind, name: &str, finding: &str) -> WriteError {
    WriteError::Invalid(format!("{} {name:?} is invalid: {finding}", kind.qualified()))
}

/// Refuses a write that crosses another.
pub(super) fn conflict(kind: &Kind, name: &str, why: &str) -> WriteError {
    WriteError::Conflict(format!(
        "Operation cannot be fulfilled on {} {name:?}: {why}",
        kind.resource()
    ))
}

/// Why a write with an old resourceVersion is refused.
pub(super) const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Fails where a body does not fit the place it is sent to; fills in what it leaves out.
pub(super) fn fit(kind: &Kind, body: &mut Object, namespace: Option<&str>, name: &str) -> Result<(), WriteError> {
    let of = &kind.served.kind.of;
    for (field, wanted) in [("apiVersion", of.api_version()), ("kind", of.kind.clone())] {
        match body.text_at(&[field]) {
            None | Some("") => drop(body.0.insert(field.into(), wanted.into())),
            Some(given) if given == wanted => {}
            Some(given) => {
                let text = format!("{field} {given:?} does not match the expected {field} {wanted:?}");
                return Err(WriteError::Invalid(text));
            }
        }
    }
    if body.name().is_empty() {
        let text = format!("the name of the object ({name} based on URL) was undeterminable: name must be provided");
        return Err(WriteError::Invalid(text));
    }
    if body.name() != name {
        return Err(WriteError::Invalid(format!(
            "the name of the object ({}) does not match the name on the URL ({name})",
            body.name()
        )));
    }
    if body.namespace().is_some() && body.namespace() != namespace {
        let text = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(WriteError::Invalid(text.into()));
    }
    tidy_metadata(body);
    if let Some(namespace) = namespace {
        body.metadata_mut().insert("namespace".into(), namespace.into());
    }
    Ok(())
}

fn metadata(object: &Object, group: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let name = object.name();
    if name.len() > 253 {
        findings.push(format!(
            "metadata.name: Invalid value: {name:?}: must be no more than 253 characters"
        ));
    } else if group != "rbac.authorization.k8s.io" && !is_subdomain(name) {
        findings.push(format!("metadata.name: Invalid value: {name:?}: {SUBDOMAIN}"));
    }
    for map in ["labels", "annotations"] {
        for (key, value) in object
            .at(&["metadata", map])
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            match value.as_str() {
                None => findings.push(format!(
                    "metadata.{map}: Invalid value: {value}: {key} must be a string"
                )),
                Some(value) if map == "labels" && value.len() > 63 => {
                    findings.push(format!(
                        "metadata.labels: Invalid value: {value:?}: must be no more than 63 bytes"
                    ));
                }
                Some(value) if map == "labels" && !is_label(value) => {
                    findings.push(format!("metadata.labels: Invalid value: {value:?}: {LABEL}"));
                }
                Some(_) => {}
            }
        }
    }
    let owners = object.owner_references();
    if owners.iter().any(|owner| owner.uid.is_empty()) {
        findings.push("metadata.ownerReferences.uid: Required value: must not be empty".into());
    }
    if owners.iter().filter(|owner| owner.controller == Some(true)).count() > 1 {
        let what = "Only one reference can have Controller set to true";
        findings.push(format!(
            "metadata.ownerReferences: Invalid value: \"ownerReferences\": {what}"
        ));
    }
    findings
}

fn update(object: &Object, before: &Object, findings: &mut Vec<String>) {
    if object.uid() != before.uid() {
        findings.push(format!(
            "metadata.uid: Invalid value: {:?}: field is immutable",
            object.uid()
        ));
    }
    if before.is_being_deleted() {
        let known: Vec<&str> = before.finalizers().collect();
        let new: Vec<&str> = object.finalizers().filter(|name| !known.contains(name)).collect();
        if !new.is_empty() {
            let what = "no new finalizers can be added if the object is being deleted, found new finalizers";
            findings.push(format!("metadata.finalizers: Forbidden: {what} {}", go_strings(&new)));
        }
    }
}

/// Texts as Go prints a slice of them.
fn go_strings(texts: &[&str]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
    format!("[]string{{{}}}", texts.join(", "))
}

fn builtin(kind: &Kind, object: &Object, before: Option<&Object>, findings: &mut Vec<String>) {
    if is_crd(&kind.served.kind.of) {
        crd(object, findings);
    }
    let of = &kind.served.kind.of;
    if of.group.is_empty() && matches!(of.kind.as_str(), "ConfigMap" | "Secret") {
        keys(object, findings);
    }
    if kind.served.kind.of.group == "apps" && kind.served.kind.of.kind != "ControllerRevision" {
        workload(object, before, findings);
    }
}

/// The keys of a ConfigMap or a Secret become names of files.
fn keys(object: &Object, findings: &mut Vec<String>) {
    for map in ["data", "binaryData"] {
        for key in object
            .at(&[map])
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(key, _)| key)
        {
            let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            if key.is_empty() || key.len() > 253 || !key.bytes().all(inner) {
                findings.push(format!("{map}[{key}]: Invalid value: {key:?}: {KEY}"));
            }
        }
    }
}

fn workload(object: &Object, before: Option<&Object>, findings: &mut Vec<String>) {
    let selector = object.at(&["spec", "selector"]);
    let labels = object.at(&["spec", "template", "metadata", "labels"]);
    let wanted = selector
        .and_then(|selector| selector.get("matchLabels"))
        .and_then(Value::as_object);
    let matched = selector.is_some()
        && wanted.is_none_or(|wanted| {
            wanted
                .iter()
                .all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
        });
    if selector.is_none() {
        findings.push("spec.selector: Required value".into());
    }
    if !matched {
        let labels = labels.cloned().unwrap_or(Value::Null);
        findings.push(format!(
            "spec.template.metadata.labels: Invalid value: {labels}: `selector` does not match template `labels`"
        ));
    }
    if let (Some(before), Some(selector)) = (before.and_then(|before| before.at(&["spec", "selector"])), selector)
        && before != selector
    {
        findings.push(format!("spec.selector: Invalid value: {selector}: field is immutable"));
    }
    let replicas = object.at(&["spec", "replicas"]).and_then(Value::as_i64);
    if let Some(replicas) = replicas.filter(|replicas| *replicas < 0) {
        findings.push(format!(
            "spec.replicas: Invalid value: {replicas}: must be greater than or equal to 0"
        ));
    }
}

/// Fails where the server cannot even read the body: values that are no text, and in binary maps no base64.
fn readable(kind: &Kind, object: &Object) -> Result<(), WriteError> {
    let of = &kind.served.kind.of;
    let binary = match of.kind.as_str() {
        "ConfigMap" if of.group.is_empty() => "binaryData",
        "Secret" if of.group.is_empty() => "data",
        _ => return Ok(()),
    };
    for map in ["data", "binaryData", "stringData"] {
        for value in object
            .at(&[map])
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|map| map.values())
        {
            let why = match value {
                Value::String(text) if map == binary && !is_base64(text) => "illegal base64 data".into(),
                Value::String(_) | Value::Null => continue,
                other => {
                    let field = format!("{}.{map} of type string", of.kind);
                    format!("json: cannot unmarshal {} into Go struct field {field}", go_type(other))
                }
            };
            let (kind, version) = (&of.kind, of.api_version());
            let text = format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}");
            return Err(WriteError::Invalid(text));
        }
    }
    Ok(())
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::Array(_) => "array",
        _ => "object",
    }
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    text.len().is_multiple_of(4) && text.len() - body.len() <= 2 && body.bytes().all(letter)
}

fn crd(object: &Object, findings: &mut Vec<String>) {
    let text = |path: &[&str]| object.text_at(path).unwrap_or_default();
    let name = format!("{}.{}", text(&["spec", "names", "plural"]), text(&["spec", "group"]));
    if object.name() != name {
        let given = object.name();
        findings.push(format!(
            "metadata.name: Invalid value: {given:?}: must be spec.names.plural+\".\"+spec.group"
        ));
    }
    let scope = text(&["spec", "scope"]);
    if scope != "Namespaced" && scope != "Cluster" {
        let allowed = "supported values: \"Cluster\", \"Namespaced\"";
        findings.push(format!("spec.scope: Unsupported value: {scope:?}: {allowed}"));
    }
}

fn is_label(value: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    value.bytes().all(inner) && is_framed(value.as_bytes(), |byte| byte.is_ascii_alphanumeric())
}

fn is_subdomain(name: &str) -> bool {
    let edge = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let part = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| edge(byte) || byte == b'-') && is_framed(part.as_bytes(), edge)
    };
    name.split('.').all(part)
}

fn is_framed(bytes: &[u8], edge: impl Fn(u8) -> bool) -> bool {
    [bytes.first(), bytes.last()]
        .into_iter()
        .flatten()
        .all(|byte| edge(*byte))
}

const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
     'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
     and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const LABEL: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
     must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
     validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
