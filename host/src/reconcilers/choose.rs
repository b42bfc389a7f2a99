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
    /// The settings beside it, if they are what it is told.
    pub(super) beside: Option<Map<String, Value>>,
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
                settings: settings(spec, beside.as_ref()),
                beside,
                bytes: bytes.map_or(Bytes::Source, Bytes::Fetched),
                mismatch: None,
            });
        }
    };
    let pin = spec.digest.as_deref().unwrap_or_default();
    if let Some(mut candidate) = from_before(host, spec, status, pin) {
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

/// The module that ran last, if it is known from before.
pub(super) fn last_good(
    host: &Host,
    id: &ReconcilerId,
    spec: &ReconcilerSpec,
    status: &ReconcilerStatus,
) -> Option<Candidate> {
    let digest = match (host.running.active(id), &status.active) {
        (Some(running), _) => running.digest.clone(),
        (None, Some(active)) => active.digest.clone(),
        // What was suspended, or lost its account, is the first of those that ran before.
        (None, None) => status.earlier.first()?.digest.clone(),
    };
    from_before(host, spec, status, &digest)
}

/// A module that is in use or kept, with the settings that it had.
fn from_before(host: &Host, spec: &ReconcilerSpec, status: &ReconcilerStatus, digest: &str) -> Option<Candidate> {
    if host.modules.get(digest).is_none() && !kept::is_kept(host, digest) {
        return None;
    }
    let active = status.active.iter().map(|active| (&active.digest, &active.settings));
    let earlier = status
        .earlier
        .iter()
        .map(|earlier| (&earlier.digest, &earlier.settings));
    let beside = active
        .chain(earlier)
        .find(|(other, _)| *other == digest)
        .and_then(|(_, settings)| settings.clone())
        .filter(|_| spec.settings.is_none());
    Some(Candidate {
        digest: digest.into(),
        settings: settings(spec, beside.as_ref()),
        beside,
        bytes: Bytes::Kept,
        mismatch: None,
    })
}

/// The spec's settings, else those beside the module, else none.
fn settings(spec: &ReconcilerSpec, beside: Option<&Map<String, Value>>) -> Value {
    Value::Object(spec.settings.as_ref().or(beside).cloned().unwrap_or_default())
}
