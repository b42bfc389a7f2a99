//! Looks whether a ServiceAccount exists, lets a Reconciler act as it, and has the rights that a module needs.

use super::halt::{Gate, Halt};
use super::settle;
use super::slot::Loaded;
use crate::cluster::ReadError;
use crate::control;
use crate::host::Host;
use crate::store::Sync;
use tokio::time::Instant;
use windlass_core::manifest::Manifest;
use windlass_core::names::{ANNOTATION_CONSENT, LABEL_DROP_IN};
use windlass_core::object::Object;
use windlass_core::reason::Reason;
use windlass_core::rights;
use windlass_core::write::Actor;

/// Whether the account of the Reconciler's namespace exists, is not the host's own, and consents.
///
/// The host looks itself, since impersonating an account that was deleted still works while its bindings stay.
pub(super) fn given(
    host: &Host,
    reconciler: &Object,
    actor: &Actor,
    account: &str,
    namespaces: &[Option<String>],
) -> Result<(), Halt> {
    let id = &actor.reconciler;
    let halt = |message: String| Halt::watched(Gate::Permitted, Reason::ApplyForbidden, message);
    let name = format!("{}/{account}", id.namespace);
    if reconciler.label(LABEL_DROP_IN) == Some("true") && account != id.name {
        return Err(halt(format!(
            "a drop-in runs as the ServiceAccount of its own name, and not as {name}: set spec.serviceAccountName to {}, or \
             take the label {LABEL_DROP_IN} off",
            id.name
        )));
    }
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
                let command = rights::granting_command(actor, namespaces);
                format!("ServiceAccount {name} does not exist; create it with the roles of the module: `{command}`")
            }
        };
        return Err(halt(message));
    };
    let names = found.annotation(ANNOTATION_CONSENT).unwrap_or_default();
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    let mut names: Vec<&str> = names.collect();
    if names.contains(&id.name.as_str()) {
        return Ok(());
    }
    names.push(&id.name);
    let names = names.join(",");
    Err(halt(format!(
        "ServiceAccount {name} does not consent; annotate it with {ANNOTATION_CONSENT}: \"{names}\": `kubectl annotate \
         serviceaccount {account} -n {} --overwrite {ANNOTATION_CONSENT}={names}`",
        id.namespace
    )))
}

/// Whether the account has the rights that a module needs. Asked again after a while, and after a decision that met a no.
///
/// Where the running module may not read any more what it is shown, it stops, and what was seen is forgotten.
pub(super) async fn granted(
    host: &Host,
    actor: &Actor,
    manifest: &Manifest,
    namespaces: &[Option<String>],
    loaded: &mut Loaded,
) -> Result<(), Halt> {
    let Actor {
        reconciler: id,
        identity,
    } = actor;
    let needed = rights::needed(manifest, namespaces);
    let met_a_no = host.slots.met_a_no(id);
    if let Some((to, what, until)) = &loaded.granted
        && (to, what) == (identity, &needed)
        && *until > Instant::now()
        && !met_a_no
    {
        return Ok(());
    }
    loaded.granted = None;
    if met_a_no {
        host.permissions.forget(identity);
    }
    let command = rights::granting_command(actor, namespaces);
    let halt = |message: String| Err(Halt::waiting(Gate::Permitted, Reason::ApplyForbidden, message));
    let mut missing = Vec::new();
    for access in &needed {
        match host.permissions.allowed(&*host.cluster, identity, access).await {
            Ok(true) => {}
            Ok(false) => missing.push(access),
            Err(ReadError::Forbidden(words)) => {
                return halt(format!(
                    "the host may not act as the ServiceAccount: {words}; let it with `{command}`"
                ));
            }
            Err(error) => {
                return Err(Halt::unreadable(
                    Gate::Permitted,
                    "what the ServiceAccount may do",
                    &error,
                ));
            }
        }
    }
    if missing.is_empty() {
        loaded.granted = Some((identity.clone(), needed, Instant::now() + host.settings.rights_believed));
        return Ok(());
    }
    if let Some(active) = host.running.active(id).filter(|active| active.actor == *actor) {
        let shown = rights::needed(&active.manifest, &active.namespaces);
        if missing.iter().any(|access| access.is_read() && shown.contains(access)) {
            tracing::warn!(reconciler = %id, "what the ServiceAccount may not read any more is forgotten");
            settle::leave(host, id);
        }
    }
    // The command comes first, since a long list is cut.
    halt(format!(
        "the ServiceAccount lacks rights that the module needs; grant them with `{command}`: {}",
        rights::in_words(missing).join(", ")
    ))
}
