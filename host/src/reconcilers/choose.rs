//! Says which module should run: the source's, the one that the spec pins, or the last good one.

use super::halt::{Gate, Halt};
use super::slot::Slot;
use super::{kept, source};
use crate::api::{ReconcilerSpec, ReconcilerStatus};
use crate::host::Host;
use serde_json::{Map, Value};
use windlass_core::key::ReconcilerId;
use windlass_core::reason::Reason;

/// A module that should run, with what it is told.
pub(super) struct Candidate {
    /// sha256 of the module.
    pub(super) digest: String,
    /// What it is told.
    pub(super) settings: Value,
    /// Where its bytes are.
    pub(super) bytes: Bytes,
    /// What of the source is not taken up because another module is pinned.
    pub(super) mismatch: Option<String>,
}

/// Where the bytes of a module are.
pub(super) enum Bytes {
    /// Here, as they were fetched just now.
    Fetched(Vec<u8>),
    /// In the source.
    Source,
    /// With the host.
    Kept,
}

impl Candidate {
    /// Lets the bytes be here for whoever needs them next.
    pub(super) fn keep_bytes(&mut self, bytes: Vec<u8>) {
        self.bytes = Bytes::Fetched(bytes);
    }

    /// The bytes, packed or not; read again only if they are not here.
    pub(super) async fn bytes(
        &mut self,
        host: &Host,
        id: &ReconcilerId,
        spec: &ReconcilerSpec,
        slot: &mut Slot,
    ) -> Result<Vec<u8>, Halt> {
        match (
            std::mem::replace(&mut self.bytes, Bytes::Source),
            &spec.source.config_map,
        ) {
            (Bytes::Fetched(bytes), _) => Ok(bytes),
            (Bytes::Kept, _) => {
                self.bytes = Bytes::Kept;
                kept::load(host, &self.digest).await
            }
            (Bytes::Source, Some(source)) => source::fetch_again(host, id, source, slot, &self.digest).await,
            (Bytes::Source, None) => Err(source::not_supported()),
        }
    }
}

/// The module that the spec asks for.
///
/// A pinned one that is not in the source runs if it is known from before. That the source holds another one is then said,
/// and not taken up.
pub(super) async fn wanted(
    host: &Host,
    id: &ReconcilerId,
    spec: &ReconcilerSpec,
    status: &ReconcilerStatus,
    slot: &mut Slot,
) -> Result<Candidate, Halt> {
    let fetched = match &spec.source.config_map {
        Some(source) => source::fetch(host, id, source, slot).await,
        None => Err(source::not_supported()),
    };
    let holds = match (&spec.digest, fetched) {
        (Some(pin), Ok((held, _))) if held.digest != *pin => format!("the source holds {}", held.digest),
        (Some(_), Err(Halt::NotYet)) => return Err(Halt::NotYet),
        (Some(_), Err(halt)) => format!("the source gives none: {}", halt.message()),
        (_, fetched) => {
            let (held, bytes) = fetched?;
            let beside = match &spec.settings {
                Some(_) => None,
                None => held.beside.map_err(Halt::Refused)?,
            };
            return Ok(Candidate {
                digest: held.digest,
                settings: settings(spec, beside),
                bytes: bytes.map_or(Bytes::Source, Bytes::Fetched),
                mismatch: None,
            });
        }
    };
    let pin = spec.digest.as_deref().unwrap_or_default();
    let told = spec.settings.clone().or_else(|| settings_of(status, pin));
    if let Some(mut candidate) = from_before(host, pin, told) {
        candidate.mismatch = Some(format!(
            "spec.digest pins this module, and {holds}: that is not taken up before spec.digest is changed or removed"
        ));
        return Ok(candidate);
    }
    let message = format!(
        "spec.digest asks for the module {pin}, which is not kept, and {holds}; give the source that module, or remove \
         spec.digest"
    );
    Err(Halt::watched(Gate::Loaded, Reason::SourceMismatch, message))
}

/// What ran last, with the settings that it had, if it is known from before.
pub(super) fn last_good(host: &Host, id: &ReconcilerId, status: &ReconcilerStatus) -> Option<Candidate> {
    if let Some(running) = host.running.active(id) {
        return from_before(host, &running.digest, running.settings.as_object().cloned());
    }
    let digest = match &status.active {
        Some(active) => &active.digest,
        // What was suspended, or lost its account, is the first of those that ran before.
        None => &status.earlier.first()?.digest,
    };
    from_before(host, digest, settings_of(status, digest))
}

/// A module that is in use or kept.
fn from_before(host: &Host, digest: &str, told: Option<Map<String, Value>>) -> Option<Candidate> {
    if host.modules.get(digest).is_none() && !kept::is_kept(host, digest) {
        return None;
    }
    Some(Candidate {
        digest: digest.into(),
        settings: Value::Object(told.unwrap_or_default()),
        bytes: Bytes::Kept,
        mismatch: None,
    })
}

/// The settings that a module had when it ran.
fn settings_of(status: &ReconcilerStatus, digest: &str) -> Option<Map<String, Value>> {
    let active = status.active.iter().map(|active| (&active.digest, &active.settings));
    let earlier = status
        .earlier
        .iter()
        .map(|earlier| (&earlier.digest, &earlier.settings));
    let found = active.chain(earlier).find(|(other, _)| *other == digest);
    found.and_then(|(_, settings)| settings.clone())
}

/// The spec's settings, else those beside the module, else none.
fn settings(spec: &ReconcilerSpec, beside: Option<Map<String, Value>>) -> Value {
    Value::Object(spec.settings.clone().or(beside).unwrap_or_default())
}
