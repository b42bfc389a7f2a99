//! Fetches a module's bytes when they changed, and does not keep them.

use super::steps::{Gate, Halt};
use crate::api::{ReconcilerSpec, Refused};
use crate::control;
use crate::guest;
use crate::host::Host;
use crate::running::{Fetched, Slot};
use crate::store::Sync;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use windlass_core::key::ReconcilerId;
use windlass_core::names::LABEL_MODULE;
use windlass_core::object::Object;
use windlass_core::reason::Reason;
use windlass_core::write::Target;

/// Endings of keys that hold a module.
const ENDINGS: [&str; 3] = [".wasm", ".wasm.gz", ".wasm.zst"];
/// Key of the settings that lie beside a drop-in module.
const SETTINGS_KEY: &str = "settings.yaml";

/// Fetches the source if it is not what was fetched last; gives its bytes only then.
pub(super) async fn fetch(
    host: &Host,
    id: &ReconcilerId,
    spec: &ReconcilerSpec,
    slot: &mut Slot,
) -> Result<Option<Vec<u8>>, Halt> {
    let source = spec.source.config_map.clone().unwrap_or_default();
    let name = source.name.clone().unwrap_or_default();
    let Some(seen) = host
        .store
        .get(&control::config_maps(&id.namespace), Some(&id.namespace), &name)
    else {
        return Err(missing(host, id, &name));
    };
    let from = (
        seen.uid().to_owned(),
        seen.resource_version().to_owned(),
        source.key.clone(),
        spec.settings.clone(),
    );
    if slot.fetched.as_ref().is_some_and(|fetched| fetched.from == from) {
        return Ok(None);
    }
    let target = Target::of(&control::config_maps(&id.namespace).kind, &seen);
    let config_map = match host.cluster.get(&target).await {
        Ok(Some(config_map)) => config_map,
        Ok(None) => return Err(missing(host, id, &name)),
        Err(error) => {
            let message = format!("ConfigMap {id} could not be read: {error}", id = target.reference());
            return Err(Halt::waiting(Gate::Loaded, Reason::ClusterUnavailable, message));
        }
    };
    let bytes = bytes(&config_map, source.key.as_deref()).map_err(Halt::Refused)?;
    let settings = settings(&config_map, spec).map_err(Halt::Refused)?;
    slot.fetched = Some(Fetched {
        from,
        digest: digest(&bytes),
        settings,
    });
    Ok(Some(bytes))
}

/// Fetches the source although it is what was fetched last, because its bytes are needed again.
pub(super) async fn fetch_again(
    host: &Host,
    id: &ReconcilerId,
    spec: &ReconcilerSpec,
    slot: &mut Slot,
) -> Result<Vec<u8>, Halt> {
    slot.fetched = None;
    let bytes = fetch(host, id, spec, slot).await?;
    bytes.ok_or_else(|| {
        Halt::waiting(
            Gate::Loaded,
            Reason::SourceMissing,
            "the source changed while it was read",
        )
    })
}

/// The module's digest; of bytes that cannot even be unpacked, their own, to name what is refused.
fn digest(bytes: &[u8]) -> String {
    guest::digest(bytes).unwrap_or_else(|_| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

fn missing(host: &Host, id: &ReconcilerId, name: &str) -> Halt {
    match host.store.sync(&control::config_maps(&id.namespace)) {
        Sync::Waiting(None) => return Halt::NotYet,
        Sync::Waiting(Some(trouble)) => {
            let message = format!("the ConfigMaps of namespace {} cannot be read: {trouble}", id.namespace);
            return Halt::watched(Gate::Loaded, Reason::ClusterUnavailable, message);
        }
        Sync::Synced(_) | Sync::Closed => {}
    }
    let message = if host.settings.source_namespaces.contains(&id.namespace) {
        format!(
            "there is no ConfigMap {}/{name}; what ran goes on. To remove a module, delete its Reconciler too",
            id.namespace
        )
    } else {
        format!(
            "the host does not read sources in namespace {}; start it with --source-namespace {}",
            id.namespace, id.namespace
        )
    };
    Halt::watched(Gate::Loaded, Reason::SourceMissing, message)
}

/// The bytes under the key, or under the only key that can hold a module.
fn bytes(config_map: &Object, key: Option<&str>) -> Result<Vec<u8>, Refused> {
    let name = config_map.reference();
    let data = config_map.at(&["binaryData"]).and_then(Value::as_object);
    let entries = || data.into_iter().flatten();
    let key = match key {
        Some(key) => key.to_owned(),
        None => {
            let is_module = |key: &&String| ENDINGS.iter().any(|ending| key.ends_with(ending));
            let found: Vec<&String> = entries().map(|(key, _)| key).filter(is_module).collect();
            match found.as_slice() {
                [key] => (*key).clone(),
                [] => return Err(refused("NoModule", no_module(config_map))),
                several => {
                    let keys = several.iter().map(|key| key.as_str()).collect::<Vec<_>>().join(", ");
                    let message = format!("{name} has several modules ({keys}); leave one, or name it in spec.source");
                    return Err(refused("SeveralModules", message));
                }
            }
        }
    };
    let Some(text) = entries()
        .find(|(other, _)| **other == key)
        .and_then(|(_, value)| value.as_str())
    else {
        return Err(refused("NoModule", format!("{name} has no key {key:?} in binaryData")));
    };
    STANDARD
        .decode(text)
        .map_err(|error| refused("Invalid", format!("{key} of {name} is not base64: {error}")))
}

fn no_module(config_map: &Object) -> String {
    let name = config_map.reference();
    let is_module = |key: &String| ENDINGS.iter().any(|ending| key.ends_with(ending));
    let in_data = config_map
        .at(&["data"])
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    match in_data.clone().find(|(key, _)| is_module(key)) {
        // kubectl puts an empty file into data.
        Some((key, Value::String(text))) if text.is_empty() => {
            format!("{key} of {name} is empty; give the .wasm file that the build made")
        }
        Some((key, _)) => format!("{name} has {key} in data, where only text survives; put it into binaryData"),
        None => format!("{name} has no key in binaryData that ends in .wasm, .wasm.gz or .wasm.zst"),
    }
}

/// The settings of the spec; for a drop-in without any, those that lie beside the module.
fn settings(config_map: &Object, spec: &ReconcilerSpec) -> Result<Value, Refused> {
    if let Some(settings) = &spec.settings {
        return Ok(Value::Object(settings.clone()));
    }
    let beside = config_map.text_at(&["data", SETTINGS_KEY]);
    let Some(text) = beside.filter(|_| config_map.label(LABEL_MODULE) == Some("true")) else {
        return Ok(Value::Object(Map::new()));
    };
    let name = config_map.reference();
    match serde_saphyr::from_str::<Option<Map<String, Value>>>(text) {
        Ok(settings) => Ok(Value::Object(settings.unwrap_or_default())),
        Err(error) => Err(refused(
            "Settings",
            format!("{SETTINGS_KEY} of {name} is not a YAML map: {error}"),
        )),
    }
}

fn refused(reason: &str, message: String) -> Refused {
    Refused {
        digest: String::new(),
        step: "Fetch".into(),
        reason: reason.into(),
        message,
        rights_hash: None,
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

    #[test]
    fn the_only_module_is_taken_and_anything_else_says_what_is_wrong() {
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
            (json!({"binaryData": {"a.txt": "AA=="}}), None, Err("NoModule")),
            (json!({"data": {"a.wasm": "text"}}), None, Err("NoModule")),
            (json!({}), Some("a.wasm"), Err("NoModule")),
            (json!({"binaryData": {"a.wasm": "%"}}), None, Err("Invalid")),
        ];
        for (body, key, wanted) in cases {
            let got = bytes(&config_map(body.clone()), key).map_err(|refused| refused.reason);
            assert_eq!(got, wanted.map_err(String::from), "{body}");
        }
        let refused = bytes(&config_map(json!({"data": {"a.wasm": "text"}})), None).unwrap_err();
        assert!(
            refused.message.contains("put it into binaryData"),
            "{}",
            refused.message
        );
    }
}
