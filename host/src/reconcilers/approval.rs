//! Holds modules that need more rights than were approved.

use super::halt::Halt;
use super::status;
use crate::api::{Approved, ReconcilerSpec, ReconcilerStatus, Refused, reconciler_kind};
use crate::control;
use crate::host::Host;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::manifest::Manifest;
use windlass_core::names::HOST_FIELD_MANAGER;
use windlass_core::object::Object;
use windlass_core::reason::Reason;
use windlass_core::rights::{self, Rules};
use windlass_core::write::{Identity, Request, Subresource, Target, Write, WriteError};

/// Whether a module may have what it needs: what the spec names, or less, or anything if nothing was approved yet.
pub(super) fn given(
    reconciler: &Object,
    spec: &ReconcilerSpec,
    status: &ReconcilerStatus,
    manifest: &Manifest,
    digest: &str,
) -> Result<(), Halt> {
    let wanted = rights::rights_hash(manifest);
    let Some(approved) = spec.approved_rights.as_ref().filter(|approved| **approved != wanted) else {
        return Ok(());
    };
    let known = rules(status, approved);
    let new = rights::grown(&known.clone().unwrap_or_default(), &rights::rules(manifest));
    if known.is_some() && new.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the module needs rights that were not approved: {}; approve them with `windlass approve rights {} -n {}`, or set \
         spec.approvedRights to {wanted}",
        new.join(", "),
        reconciler.name(),
        reconciler.namespace().unwrap_or_default(),
    );
    Err(Halt::Held(Refused {
        digest: digest.into(),
        step: "Rights".into(),
        reason: Reason::RightsGrow.to_string(),
        message,
        rights_hash: Some(wanted),
    }))
}

/// The rules behind a hash, if the status has them and they are what the hash says.
fn rules(status: &ReconcilerStatus, hash: &str) -> Option<Rules> {
    let approved = status.approved.as_ref().filter(|approved| approved.hash == hash)?;
    let rules = Rules::deserialize(Value::Object(approved.rules.clone())).ok()?;
    (rights::hash(&rules) == hash).then_some(rules)
}

/// What the status says of the approved rights from now on: the rules where they are known.
pub(super) fn noted(spec: &ReconcilerSpec, before: &ReconcilerStatus, running: Option<&Manifest>) -> Option<Approved> {
    let hash = spec.approved_rights.as_ref()?;
    let known = running.filter(|manifest| rights::rights_hash(manifest) == *hash);
    match known.map(|manifest| serde_json::to_value(rights::rules(manifest))) {
        Some(Ok(Value::Object(rules))) => Some(Approved {
            hash: hash.clone(),
            rules,
        }),
        _ => before.approved.clone().filter(|approved| approved.hash == *hash),
    }
}

/// Approves the rights of the first module that runs, where nothing was approved yet.
///
/// # Errors
/// If it cannot be written down; the module runs, and it is tried again.
pub(super) async fn fill(
    host: &Host,
    reconciler: &Object,
    spec: &mut ReconcilerSpec,
    manifest: &Manifest,
) -> Result<(), WriteError> {
    if spec.approved_rights.is_some() {
        return Ok(());
    }
    let hash = rights::rights_hash(manifest);
    let write = Write {
        identity: Identity::Host,
        target: Target::of(&reconciler_kind(), reconciler),
        subresource: Subresource::None,
        manager: HOST_FIELD_MANAGER.into(),
        request: Request::MergePatch(json!({
            "metadata": {"uid": reconciler.uid(), "resourceVersion": reconciler.resource_version()},
            "spec": {"approvedRights": hash},
        })),
    };
    if let Some(written) = host.cluster.apply(&write).await? {
        status::overlay(host, &write, written);
    }
    spec.approved_rights = Some(hash);
    Ok(())
}

/// The Reconciler as it is after the host's own writes.
pub(super) fn fresh(host: &Host, reconciler: &Object) -> Object {
    host.store
        .get(&control::reconcilers(), reconciler.namespace(), reconciler.name())
        .filter(|fresh| fresh.uid() == reconciler.uid())
        .unwrap_or_else(|| reconciler.clone())
}
