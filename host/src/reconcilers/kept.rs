//! Keeps the modules that run, and those that ran before them, in the host's own namespace, by their digests.

use super::halt::{Gate, Halt};
use super::status;
use crate::cluster::WatchKey;
use crate::control;
use crate::guest;
use crate::host::Host;
use crate::running::Activation;
use crate::store::Sync;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write as _;
use windlass_core::decision::Propagation;
use windlass_core::names::{
    ANNOTATION_DIGEST, ANNOTATION_MODULE_NAME, ANNOTATION_MODULE_VERSION, ANNOTATION_PARTS, HOST_FIELD_MANAGER,
    LABEL_KEPT_MODULE, kept_module,
};
use windlass_core::object::Object;
use windlass_core::reason::Reason;
use windlass_core::write::{Identity, Request, Subresource, Target, Write, WriteError};

/// Bytes of one part; a ConfigMap takes 1 MiB in all.
const PART: usize = 1_000_000;
/// The only key of a part.
const KEY: &str = "module.wasm.gz";
/// How many modules of a Reconciler are kept besides the one that runs.
///
/// Stops: whoever may change a module filling the host's namespace with its versions.
pub(super) const EARLIER: usize = 3;

/// Whether a module is kept whole, as far as its ConfigMaps say.
pub(super) fn is_kept(host: &Host, digest: &str) -> bool {
    parts(host, digest).is_some()
}

/// The ConfigMaps of a kept module in their order; none if one is missing.
fn parts(host: &Host, digest: &str) -> Option<Vec<Object>> {
    let of = |number| {
        let found = host.store.get(
            &watch(host),
            Some(&host.settings.namespace),
            &kept_module(digest, number),
        )?;
        (found.label(LABEL_KEPT_MODULE) == Some("true") && found.annotation(ANNOTATION_DIGEST) == Some(digest))
            .then_some(found)
    };
    let first = of(0)?;
    let count: usize = first.annotation(ANNOTATION_PARTS)?.parse().ok()?;
    let mut parts = vec![first];
    for number in 1..count {
        parts.push(of(number)?);
    }
    Some(parts)
}

/// The bytes of a kept module, still packed. They are what their name says, or nothing: what was forged or torn is
/// deleted, and kept again when it is there again.
pub(super) async fn load(host: &Host, digest: &str) -> Result<Vec<u8>, Halt> {
    let Some(parts) = parts(host, digest) else {
        return Err(lost(digest, "is not kept any more"));
    };
    let mut bytes = Vec::new();
    for part in &parts {
        let target = Target::of(&watch(host).kind, part);
        let found = host.cluster.get(&target).await.map_err(|error| {
            let message = format!("{} could not be read: {error}", target.reference());
            Halt::waiting(Gate::Loaded, Reason::ClusterUnavailable, message)
        })?;
        let text = found.as_ref().and_then(|found| found.text_at(&["binaryData", KEY]));
        bytes.extend(text.and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default());
    }
    let checking = tokio::task::spawn_blocking(move || (guest::digest(&bytes), bytes)).await;
    match checking {
        Ok((Ok(found), bytes)) if found == digest => Ok(bytes),
        _ => {
            tracing::warn!(digest, "a kept module is not what its name says, and is deleted");
            for part in &parts {
                delete(host, part).await;
            }
            Err(lost(digest, "was kept, but is not what its name says"))
        }
    }
}

fn lost(digest: &str, what: &str) -> Halt {
    let short = digest.get(..12).unwrap_or(digest);
    let message = format!("the module {short} {what}; it is taken up from the source when that holds it");
    Halt::watched(Gate::Loaded, Reason::SourceMissing, message)
}

/// Keeps the module of an activation, given as it was fetched.
///
/// # Errors
/// If a part cannot be written; those that were are found the next time.
pub(super) async fn keep(host: &Host, activation: &Activation, bytes: Vec<u8>) -> Result<(), WriteError> {
    let digest = &activation.digest;
    let packed = tokio::task::spawn_blocking(move || pack(bytes))
        .await
        .map_err(|_| WriteError::Unavailable("packing the module ended early".into()))?;
    let count = packed.len().div_ceil(PART).max(1);
    for (number, part) in packed.chunks(PART).enumerate() {
        let object = Object::from_value(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "namespace": host.settings.namespace,
                "name": kept_module(digest, number),
                "labels": {LABEL_KEPT_MODULE: "true"},
                "annotations": {
                    ANNOTATION_DIGEST: digest,
                    ANNOTATION_PARTS: count.to_string(),
                    ANNOTATION_MODULE_NAME: activation.manifest.name,
                    ANNOTATION_MODULE_VERSION: activation.manifest.version,
                },
            },
            "immutable": true,
            "binaryData": {KEY: STANDARD.encode(part)},
        }))
        .unwrap_or_default();
        match send(host, &object, Request::Create(object.clone())).await {
            Ok(Some(made)) => {
                host.store.overlay(&watch(host), made);
            }
            Ok(None) | Err(WriteError::AlreadyExists) => {}
            Err(error) => return Err(error),
        }
    }
    tracing::info!(digest, parts = count, "module kept");
    Ok(())
}

/// As it is if it is packed already, else with gzip.
fn pack(bytes: Vec<u8>) -> Vec<u8> {
    if !bytes.starts_with(b"\0asm") {
        return bytes;
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    match encoder.write_all(&bytes).and_then(|()| encoder.finish()) {
        Ok(packed) => packed,
        Err(_) => bytes,
    }
}

/// Deletes what no Reconciler runs or may go back to. Does nothing before all Reconcilers are known.
pub(super) async fn collect(host: &Host) {
    if !matches!(host.store.sync(&control::reconcilers()), Sync::Synced(_)) {
        return;
    }
    let mut wanted: BTreeSet<String> = host.running.digests();
    for reconciler in host.store.all(&control::reconcilers()) {
        let status = status::of(&reconciler);
        wanted.extend(status.active.into_iter().map(|active| active.digest));
        wanted.extend(status.earlier.into_iter().map(|earlier| earlier.digest));
        wanted.extend(reconciler.text_at(&["spec", "digest"]).map(Into::into));
    }
    for found in host.store.all(&watch(host)) {
        let digest = found.annotation(ANNOTATION_DIGEST).unwrap_or_default();
        if found.label(LABEL_KEPT_MODULE) == Some("true") && !wanted.contains(digest) {
            tracing::info!(digest, "a module is not kept any more");
            delete(host, &found).await;
        }
    }
}

async fn delete(host: &Host, kept: &Object) {
    let request = Request::Delete {
        uid: kept.uid().into(),
        resource_version: kept.resource_version().into(),
        propagation: Propagation::Background,
    };
    if let Err(error) = send(host, kept, request).await
        && !matches!(error, WriteError::NotFound(_))
    {
        tracing::warn!(config_map = %kept.reference(), "could not be deleted, and is tried again later: {error}");
    }
}

async fn send(host: &Host, object: &Object, request: Request) -> Result<Option<Object>, WriteError> {
    let write = Write {
        identity: Identity::Host,
        target: Target::of(&watch(host).kind, object),
        subresource: Subresource::None,
        manager: HOST_FIELD_MANAGER.into(),
        request,
    };
    host.cluster.apply(&write).await
}

/// The host's namespace is a source namespace, so that its ConfigMaps are watched.
fn watch(host: &Host) -> WatchKey {
    control::config_maps(&host.settings.namespace)
}
