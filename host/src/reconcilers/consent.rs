//! Looks whether a ServiceAccount exists and lets a Reconciler act as it.

use super::halt::{Gate, Halt};
use crate::control;
use crate::host::Host;
use crate::store::Sync;
use windlass_core::key::ReconcilerId;
use windlass_core::names::ANNOTATION_CONSENT;
use windlass_core::reason::Reason;
use windlass_core::rights::Access;

/// Whether the account of the Reconciler's namespace exists, is not the host's own, and consents.
///
/// The host looks itself, since impersonating an account that was deleted still works while its bindings stay.
pub(super) fn given(host: &Host, id: &ReconcilerId, account: &str) -> Result<(), Halt> {
    let halt = |message: String| Halt::watched(Gate::Permitted, Reason::ApplyForbidden, message);
    let name = format!("{}/{account}", id.namespace);
    if id.namespace == host.settings.namespace && account == host.settings.service_account {
        return Err(halt(format!(
            "ServiceAccount {name} is the host's own and cannot be used by a module"
        )));
    }
    let watch = control::service_accounts(&id.namespace);
    let Some(found) = host.store.get(&watch, Some(&id.namespace), account) else {
        let message = match host.store.sync(&watch) {
            Sync::Waiting(None) => return Err(Halt::NotYet),
            Sync::Waiting(Some(trouble)) => format!("ServiceAccount {name} cannot be looked up: {trouble}"),
            Sync::Synced(_) | Sync::Closed => {
                format!("ServiceAccount {name} does not exist; create it with the roles of the module")
            }
        };
        return Err(halt(message));
    };
    let consents = found
        .annotation(ANNOTATION_CONSENT)
        .is_some_and(|names| names.split(',').any(|consented| consented.trim() == id.name));
    if consents {
        return Ok(());
    }
    Err(halt(format!(
        "ServiceAccount {name} does not consent; annotate it with {ANNOTATION_CONSENT}: \"{}\"",
        id.name
    )))
}

/// A missing right as people write it.
pub(super) fn rule(access: &Access) -> String {
    let resource = if access.group.is_empty() {
        access.resource.clone()
    } else {
        match access.resource.split_once('/') {
            Some((resource, subresource)) => format!("{resource}.{}/{subresource}", access.group),
            None => format!("{}.{}", access.resource, access.group),
        }
    };
    match &access.namespace {
        Some(namespace) => format!("{} {resource} in namespace {namespace}", access.verb),
        None => format!("{} {resource} in all namespaces", access.verb),
    }
}
