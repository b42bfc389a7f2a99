//! Fetches a module's bytes when they changed, and does not keep them.

use super::halt::{Gate, Halt};
use super::parts::{self, Content, Lack};
use super::slot::{Fetched, Held, Slot};
use crate::api::{ConfigMapSource, Index, Part, Refused};
use crate::control;
use crate::guest;
use crate::host::Host;
use crate::store::Sync;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use windlass_core::key::ReconcilerId;
use windlass_core::names::{LABEL_MODULE, LABEL_PRIMARY_UID};
use windlass_core::object::Object;
use windlass_core::reason::Reason;
use windlass_core::write::Target;

/// Key of the settings that lie beside a drop-in module.
const SETTINGS_KEY: &str = "settings.yaml";

/// What the source holds; read only if one of its ConfigMaps is not what was read last, and with its bytes only then.
pub(super) async fn fetch(
    host: &Host,
    id: &ReconcilerId,
    source: &ConfigMapSource,
    slot: &mut Slot,
) -> Result<(Held, Option<Vec<u8>>), Halt> {
    if let Some(fetched) = &slot.fetched
        && fetched.source == *source
        && fetched
            .versions
            .iter()
            .all(|(name, seen)| *seen == version(host, id, name))
    {
        return fetched.outcome.clone().map(|held| (held, None));
    }
    slot.fetched = None;
    let mut reading = Reading {
        host,
        id,
        versions: BTreeMap::new(),
    };
    let read = reading.source(source).await;
    let versions = reading.versions;
    host.slots.note_source(id, versions.keys().cloned().collect());
    let (outcome, bytes) = match read {
        Ok((held, bytes)) => (Ok(held), Some(bytes)),
        Err(halt) if halt.is_passing() => return Err(halt),
        Err(halt) => (Err(halt), None),
    };
    slot.fetched = Some(Fetched {
        source: source.clone(),
        versions,
        outcome: outcome.clone(),
    });
    outcome.map(|held| (held, bytes))
}

/// The bytes with this digest, although they were fetched already, because they are needed again.
pub(super) async fn fetch_again(
    host: &Host,
    id: &ReconcilerId,
    source: &ConfigMapSource,
    slot: &mut Slot,
    digest: &str,
) -> Result<Vec<u8>, Halt> {
    slot.fetched = None;
    match fetch(host, id, source, slot).await? {
        (held, Some(bytes)) if held.digest == digest => Ok(bytes),
        _ => Err(Halt::waiting(
            Gate::Loaded,
            Reason::SourceMissing,
            "the source changed while it was read",
        )),
    }
}

/// Uid and resourceVersion of a ConfigMap as the watch has it; none if it is not there.
fn version(host: &Host, id: &ReconcilerId, name: &str) -> Option<(String, String)> {
    let seen = host
        .store
        .get(&control::config_maps(&id.namespace), Some(&id.namespace), name)?;
    Some((seen.uid().to_owned(), seen.resource_version().to_owned()))
}

/// Reads the ConfigMaps of a source, and takes down which.
struct Reading<'a> {
    host: &'a Host,
    id: &'a ReconcilerId,
    versions: BTreeMap<String, Option<(String, String)>>,
}

impl Reading<'_> {
    async fn source(&mut self, source: &ConfigMapSource) -> Result<(Held, Vec<u8>), Halt> {
        let Some(name) = &source.name else {
            let index = Index {
                digest: source.digest.clone().unwrap_or_default(),
                parts: source.parts.clone(),
            };
            let bytes = self.parts(&index).await?;
            return whole(bytes, Some(&index.digest), Ok(None)).await;
        };
        let Some(config_map) = self.get(name).await? else {
            return Err(missing(self.host, self.id, name));
        };
        let beside = beside(&config_map);
        match parts::content(&config_map, source.key.as_deref()).map_err(lack)? {
            Content::Module(bytes) => whole(bytes, None, beside).await,
            Content::Parts(bytes, digest) => whole(bytes, digest.as_deref(), beside).await,
            Content::Index(index) => {
                let bytes = self.parts(&index).await?;
                whole(bytes, Some(&index.digest), beside).await
            }
        }
    }

    async fn parts(&mut self, index: &Index) -> Result<Vec<u8>, Halt> {
        let mut all = Vec::new();
        for (number, Part { name, key }) in index.parts.iter().enumerate() {
            let Some(config_map) = self.get(name).await? else {
                let place = format!("ConfigMap {}/{name}", self.id.namespace);
                let of = index.parts.len();
                return Err(incomplete(&format!("part {number} of {of}, {place}, is not there")));
            };
            all.extend(parts::part(&config_map, key.as_deref()).map_err(lack)?);
            if all.len() > guest::MAX_MODULE {
                let limit = guest::MAX_MODULE >> 20;
                let message =
                    format!("the parts together have more than {limit} MiB, the largest that a module may have");
                return Err(Halt::Refused(refused("TooLarge", message)));
            }
        }
        Ok(all)
    }

    /// One ConfigMap, whole; none if it is not there.
    async fn get(&mut self, name: &str) -> Result<Option<Object>, Halt> {
        let watch = control::config_maps(&self.id.namespace);
        self.versions.insert(name.into(), version(self.host, self.id, name));
        let Some(seen) = self.host.store.get(&watch, Some(&self.id.namespace), name) else {
            return match self.host.store.sync(&watch) {
                Sync::Waiting(None) => Err(Halt::NotYet),
                _ => Ok(None),
            };
        };
        let target = Target::of(&watch.kind, &seen);
        if seen.label(LABEL_PRIMARY_UID).is_some() {
            // Else a module could bring another one, which runs as another account.
            let message = format!(
                "{} was made by a module, and is no source of one: name another ConfigMap",
                target.reference()
            );
            return Err(Halt::watched(Gate::Loaded, Reason::SourceMismatch, message));
        }
        self.host.cluster.get(&target).await.map_err(|error| {
            let message = format!("{} could not be read: {error}", target.reference());
            Halt::waiting(Gate::Loaded, Reason::ClusterUnavailable, message)
        })
    }
}

/// The module, if it is the one that was announced.
async fn whole(
    bytes: Vec<u8>,
    announced: Option<&str>,
    beside: Result<Option<Map<String, Value>>, Refused>,
) -> Result<(Held, Vec<u8>), Halt> {
    // Unpacking may take a moment, which must not be the executor's.
    let digesting = tokio::task::spawn_blocking(move || (guest::digest(&bytes), bytes)).await;
    let Ok((digest, bytes)) = digesting else {
        let message = "a fault of the host's own kept the module from being read";
        return Err(Halt::waiting(Gate::Loaded, Reason::InternalError, message));
    };
    if let Some(announced) = announced
        && digest.as_deref() != Ok(announced)
    {
        let are = match digest {
            Ok(digest) => format!("have the digest {digest}"),
            Err(why) => format!("cannot be unpacked ({why})"),
        };
        let message =
            format!("the parts together {are} and not {announced}, as is announced: some are of another version");
        return Err(incomplete(&message));
    }
    // Of bytes that cannot even be unpacked, their own digest names what is refused.
    let digest = digest.unwrap_or_else(|_| {
        Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    });
    Ok((Held { digest, beside }, bytes))
}

fn lack(lack: Lack) -> Halt {
    match lack {
        Lack::Refused(refused) => Halt::Refused(refused),
        Lack::Incomplete(message) => incomplete(&message),
    }
}

fn incomplete(what: &str) -> Halt {
    let message = format!("{what}; a module that ran goes on, and this one is taken up when it is complete");
    Halt::watched(Gate::Loaded, Reason::Incomplete, message)
}

fn missing(host: &Host, id: &ReconcilerId, name: &str) -> Halt {
    if let Sync::Waiting(Some(trouble)) = host.store.sync(&control::config_maps(&id.namespace)) {
        let message = format!("the ConfigMaps of namespace {} cannot be read: {trouble}", id.namespace);
        return Halt::watched(Gate::Loaded, Reason::ClusterUnavailable, message);
    }
    let message = if host.settings.source_namespaces.contains(&id.namespace) {
        format!(
            "there is no ConfigMap {}/{name}; a module that ran goes on. To remove it, delete its Reconciler too",
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

/// The settings that lie beside a drop-in module.
fn beside(config_map: &Object) -> Result<Option<Map<String, Value>>, Refused> {
    let text = config_map.text_at(&["data", SETTINGS_KEY]);
    let Some(text) = text.filter(|_| config_map.label(LABEL_MODULE) == Some("true")) else {
        return Ok(None);
    };
    let name = config_map.reference();
    match serde_saphyr::from_str::<Option<Map<String, Value>>>(text) {
        Ok(settings) => Ok(settings),
        Err(error) => {
            // What follows the first line shows the place in the text, which a condition has no room for.
            let error = error.to_string();
            let error = error.lines().next().unwrap_or_default();
            let message = format!("{SETTINGS_KEY} of {name} is not a YAML map: {error}");
            Err(refused("Settings", message))
        }
    }
}

/// That there is no such source yet.
pub(super) fn not_supported() -> Halt {
    let message = "spec.source.oci is reserved: this host takes modules from ConfigMaps only; use `windlass push`, which \
                   splits what is too large for one";
    Halt::Refused(refused("SourceNotSupported", message.into()))
}

pub(super) fn refused(reason: &str, message: String) -> Refused {
    Refused {
        step: "Fetch".into(),
        reason: reason.into(),
        message,
        ..Refused::default()
    }
}
