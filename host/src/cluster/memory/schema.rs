//! Prunes, defaults and validates custom objects by the schema of their CRD, in the server's words.

use serde_json::{Map, Value};

/// Drops what the schema does not know, at every depth. The top keeps `apiVersion`, `kind` and `metadata`.
pub(super) fn prune(object: &mut Map<String, Value>, schema: &Value) {
    prune_map(object, schema, true);
}

fn prune_map(fields: &mut Map<String, Value>, schema: &Value, is_object: bool) {
    let properties = schema.get("properties").and_then(Value::as_object);
    let additional = schema
        .get("additionalProperties")
        .filter(|additional| **additional != Value::Bool(false));
    let keeps_unknown = is_true(schema, "x-kubernetes-preserve-unknown-fields") || additional.is_some();
    let is_object = is_object || is_true(schema, "x-kubernetes-embedded-resource");
    let is_servers = |name: &str| is_object && ["apiVersion", "kind", "metadata"].contains(&name);
    fields.retain(|name, _| {
        keeps_unknown || is_servers(name) || properties.is_some_and(|properties| properties.contains_key(name))
    });
    for (name, value) in fields.iter_mut().filter(|(name, _)| !is_servers(name)) {
        if let Some(below) = properties.and_then(|properties| properties.get(name)).or(additional) {
            prune_value(value, below);
        }
    }
}

fn prune_value(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(fields) => prune_map(fields, schema, false),
        Value::Array(entries) => {
            if let Some(items) = schema.get("items") {
                entries.iter_mut().for_each(|entry| prune_value(entry, items));
            }
        }
        _ => {}
    }
}

/// Sets the defaults of fields that are missing, or null where null is not allowed.
pub(super) fn default(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(fields) => {
            for (name, below) in schema
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                let missing = match fields.get(name) {
                    None => true,
                    Some(Value::Null) => !is_true(below, "nullable"),
                    Some(_) => false,
                };
                match below.get("default") {
                    Some(default) if missing => drop(fields.insert(name.clone(), default.clone())),
                    None if missing => drop(fields.remove(name)),
                    _ => {}
                }
                if let Some(value) = fields.get_mut(name) {
                    default(value, below);
                }
            }
            if let Some(below) = schema.get("additionalProperties").filter(|below| below.is_object()) {
                fields.values_mut().for_each(|value| default(value, below));
            }
        }
        Value::Array(entries) => {
            if let Some(items) = schema.get("items") {
                entries.iter_mut().for_each(|entry| default(entry, items));
            }
        }
        _ => {}
    }
}

/// What is wrong with a value, each finding as the server words it.
pub(super) fn validate(value: &Value, schema: &Value, path: &str, findings: &mut Vec<String>) {
    if value.is_null() && is_true(schema, "nullable") {
        return;
    }
    if let Some(wanted) = wrong_type(value, schema) {
        let is = format!("{:?}", type_of(value));
        findings.push(invalid(path, &is, &format!("must be of type {wanted}: {is}")));
        return;
    }
    check_limits(value, schema, path, findings);
    match value {
        Value::Object(fields) => {
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            for name in required
                .filter_map(Value::as_str)
                .filter(|name| !fields.contains_key(*name))
            {
                findings.push(format!("{}: Required value", joined(path, name)));
            }
            for (name, value) in fields {
                let known = schema.get("properties").and_then(|properties| properties.get(name));
                let open = schema.get("additionalProperties").filter(|below| below.is_object());
                if let Some(below) = known.or(open) {
                    validate(value, below, &joined(path, name), findings);
                }
            }
        }
        Value::Array(entries) => {
            for (at, entry) in entries.iter().enumerate() {
                if let Some(items) = schema.get("items") {
                    validate(entry, items, &format!("{path}[{at}]"), findings);
                }
            }
        }
        _ => {}
    }
}

/// The type that the schema wants, if the value has another.
fn wrong_type<'a>(value: &Value, schema: &'a Value) -> Option<&'a str> {
    if is_true(schema, "x-kubernetes-int-or-string") {
        return (!value.is_string() && !is_integer(value)).then_some("integer,string");
    }
    let wanted = schema.get("type").and_then(Value::as_str)?;
    let fits = match wanted {
        "integer" => is_integer(value),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    };
    (!fits).then_some(wanted)
}

fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn check_limits(value: &Value, schema: &Value, path: &str, findings: &mut Vec<String>) {
    let number = |name: &str| schema.get(name).and_then(Value::as_f64);
    let mut find = |text: String| findings.push(invalid(path, &shown(value), &text));
    if let Some(is) = value.as_f64() {
        if let Some(least) = number("minimum").filter(|least| is < *least) {
            find(format!("should be greater than or equal to {least}"));
        }
        if let Some(most) = number("maximum").filter(|most| is > *most) {
            find(format!("should be less than or equal to {most}"));
        }
    }
    if let Some(least) = value
        .as_str()
        .and_then(|is| number("minLength").filter(|least| length(is) < *least))
    {
        find(format!("should be at least {least} chars long"));
    }
    if let Some(most) = value
        .as_str()
        .and_then(|is| number("maxLength").filter(|most| length(is) > *most))
    {
        findings.push(format!("{path}: Too long: may not be more than {most} bytes"));
    }
    if let Some(entries) = value.as_array() {
        let count = entries.len();
        if let Some(least) = number("minItems").filter(|least| (count as f64) < *least) {
            findings.push(invalid(
                path,
                &count.to_string(),
                &format!("should have at least {least} items"),
            ));
        }
        if let Some(most) = number("maxItems").filter(|most| count as f64 > *most) {
            findings.push(format!("{path}: Too many: {count}: must have at most {most} items"));
        }
    }
    if let Some(allowed) = schema
        .get("enum")
        .and_then(Value::as_array)
        .filter(|allowed| !allowed.contains(value))
    {
        let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        findings.push(format!(
            "{path}: Unsupported value: {value}: supported values: {}",
            allowed.join(", ")
        ));
    }
}

fn length(text: &str) -> f64 {
    text.chars().count() as f64
}

fn is_true(schema: &Value, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool).unwrap_or(false)
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.into()
    } else {
        format!("{path}.{name}")
    }
}

fn invalid(path: &str, value: &str, what: &str) -> String {
    format!("{path}: Invalid value: {value}: {path} in body {what}")
}

/// A wrong value as messages show it: containers by their type only.
fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) | Value::Null => format!("{:?}", type_of(value)),
        other => other.to_string(),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) if is_integer(value) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
