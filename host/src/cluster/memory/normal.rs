//! Brings objects into the form in which the server stores them: no empty metadata, a few defaults, canonical quantities.

use serde_json::{Map, Value, json};
use windlass_core::object::Object;

/// The object of a kind without any content, as the server has it before a create: what is here is nobody's.
pub(super) fn empty(object: &Object, builtin: bool) -> Value {
    let mut empty = json!({"metadata": {}});
    let kind = object.text_at(&["kind"]).unwrap_or_default();
    if builtin && object.at(&["spec"]).is_some() {
        empty["spec"] = json!({});
        match kind {
            "Pod" => empty["spec"] = json!({"containers": null}),
            "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" => {
                empty["spec"] = json!({
                    "selector": null,
                    "strategy": {},
                    "updateStrategy": {},
                    "template": {"metadata": {}, "spec": {"containers": null}},
                });
            }
            _ => {}
        }
    }
    empty
}

/// Drops what metadata does not store: nulls and empty maps and lists.
pub(super) fn tidy_metadata(object: &mut Object) {
    let metadata = object.metadata_mut();
    for name in ["labels", "annotations"] {
        if let Some(Value::Object(entries)) = metadata.get_mut(name) {
            entries.retain(|_, value| !value.is_null());
        }
    }
    metadata.retain(|_, value| !is_nothing(value));
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(entries) => entries.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// Normalises an object of a builtin kind.
pub(super) fn builtin(object: &mut Object) {
    let kind = object.text_at(&["kind"]).unwrap_or_default().to_owned();
    drop_nulls_of(object);
    if let Some(Value::Object(spec)) = object.0.get_mut("spec") {
        match kind.as_str() {
            "Deployment" => fill(
                spec,
                json!({
                    "replicas": 1,
                    "progressDeadlineSeconds": 600,
                    "revisionHistoryLimit": 10,
                    "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
                }),
            ),
            "StatefulSet" | "ReplicaSet" => fill(spec, json!({"replicas": 1})),
            "Service" => {
                fill(
                    spec,
                    json!({"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"}),
                );
                default_protocol(spec.get_mut("ports"));
                for port in spec
                    .get_mut("ports")
                    .and_then(Value::as_array_mut)
                    .into_iter()
                    .flatten()
                {
                    let number = port.get("port").cloned().unwrap_or_default();
                    port.as_object_mut()
                        .map(|port| port.entry("targetPort").or_insert(number));
                }
            }
            _ => {}
        }
        if kind == "Pod" {
            fill(spec, json!({"enableServiceLinks": true}));
        }
        if let Some(pod) = pod_spec(&kind, spec) {
            normalise_pod(pod);
        }
    }
    if kind == "Secret" {
        object.0.entry("type").or_insert_with(|| "Opaque".into());
    }
}

/// The status that the server itself gives a new object.
pub(super) fn first_status(kind: &str) -> Option<Value> {
    match kind {
        "Pod" => Some(json!({"phase": "Pending"})),
        "Namespace" => Some(json!({"phase": "Active"})),
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" | "CronJob" => Some(json!({})),
        _ => None,
    }
}

fn pod_spec<'a>(kind: &str, spec: &'a mut Map<String, Value>) -> Option<&'a mut Map<String, Value>> {
    match kind {
        "Pod" => Some(spec),
        "CronJob" => spec
            .get_mut("jobTemplate")?
            .get_mut("spec")?
            .get_mut("template")?
            .get_mut("spec")?
            .as_object_mut(),
        _ => spec.get_mut("template")?.get_mut("spec")?.as_object_mut(),
    }
}

/// Sets fields that are not there.
fn fill(fields: &mut Map<String, Value>, defaults: Value) {
    let Value::Object(defaults) = defaults else { return };
    for (name, value) in defaults {
        fields.entry(name).or_insert(value);
    }
}

fn normalise_pod(pod: &mut Map<String, Value>) {
    fill(
        pod,
        json!({
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "securityContext": {},
            "schedulerName": "default-scheduler",
        }),
    );
    for list in ["containers", "initContainers"] {
        for container in pod.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
            let tag = image
                .rsplit('/')
                .next()
                .and_then(|name| name.split_once(':'))
                .map_or("latest", |(_, tag)| tag);
            let pull = if tag == "latest" { "Always" } else { "IfNotPresent" };
            if let Some(container) = container.as_object_mut() {
                fill(
                    container,
                    json!({
                        "resources": {},
                        "terminationMessagePath": "/dev/termination-log",
                        "terminationMessagePolicy": "File",
                        "imagePullPolicy": pull,
                    }),
                );
            }
            default_protocol(container.get_mut("ports"));
            default_probes(container);
            for variable in container
                .get_mut("env")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                default_field_version(variable.get_mut("valueFrom"));
            }
            for side in ["limits", "requests"] {
                let quantities = container
                    .get_mut("resources")
                    .and_then(|resources| resources.get_mut(side));
                for value in quantities
                    .and_then(Value::as_object_mut)
                    .into_iter()
                    .flat_map(Map::values_mut)
                {
                    *value = quantity(value);
                }
            }
        }
    }
}

fn default_probes(container: &mut Value) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = container.get_mut(name).and_then(Value::as_object_mut) else {
            continue;
        };
        fill(
            probe,
            json!({"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}),
        );
        if let Some(get) = probe.get_mut("httpGet").and_then(Value::as_object_mut) {
            fill(get, json!({"path": "/", "scheme": "HTTP"}));
        }
    }
}

/// A reference to a field of the pod itself is of the version of pods.
fn default_field_version(source: Option<&mut Value>) {
    let reference = source
        .and_then(|source| source.get_mut("fieldRef"))
        .and_then(Value::as_object_mut);
    if let Some(reference) = reference {
        fill(reference, json!({"apiVersion": "v1"}));
    }
}

fn default_protocol(ports: Option<&mut Value>) {
    for port in ports.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(port) = port.as_object_mut() {
            port.entry("protocol").or_insert_with(|| "TCP".into());
        }
    }
}

/// Drops nulls at every depth.
pub(super) fn drop_nulls_of(object: &mut Object) {
    object.0.retain(|_, value| !value.is_null());
    object.0.values_mut().for_each(drop_nulls);
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(entries) => entries.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// The canonical spelling of a quantity, for the spellings that people use: `1000m` is `1`, `0.5` is `500m`,
/// `1024Mi` is `1Gi`. Others stay as they are.
fn quantity(value: &Value) -> Value {
    let text = value.as_str().map_or_else(|| value.to_string(), Into::into);
    canonical_quantity(&text).unwrap_or(text).into()
}

/// The canonical spelling of a quantity; none for spellings that people do not use, and for what is none.
pub fn canonical_quantity(text: &str) -> Option<String> {
    const BINARY: &[&str] = &["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    const DECIMAL: &[&str] = &["m", "", "k", "M", "G", "T", "P", "E"];
    let digits = text
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let (suffixes, step) = if BINARY.contains(&suffix) {
        (BINARY, 1024)
    } else {
        (DECIMAL, 1000)
    };
    let mut rank = suffixes.iter().position(|known| *known == suffix)?;
    let mut count: u64 = match number.split_once('.') {
        None => number.parse().ok()?,
        Some((whole, part)) if suffixes == DECIMAL && rank > 0 && part.len() <= 3 => {
            rank -= 1;
            format!("{whole}{part:0<3}").parse().ok()?
        }
        Some(_) => return None,
    };
    while count > 0 && count.is_multiple_of(step) && rank + 1 < suffixes.len() {
        count /= step;
        rank += 1;
    }
    Some(format!("{count}{}", suffixes[rank]))
}
