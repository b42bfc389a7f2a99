//! Gives every drop-in ConfigMap a Reconciler of the same name.

use crate::api::reconciler_kind;
use crate::control;
use crate::events;
use crate::host::Host;
use crate::store::Sync;
use serde_json::json;
use windlass_core::decision::Severity;
use windlass_core::key::ReconcilerId;
use windlass_core::names::{HOST_FIELD_MANAGER, LABEL_DROP_IN, LABEL_MODULE, MAX_RECONCILER_NAME};
use windlass_core::object::Object;
use windlass_core::report::EventNote;
use windlass_core::write::{Identity, Request, Subresource, Target, Write, WriteError};

/// Makes the Reconciler of a drop-in that has none. One that somebody wrote by hand is never overtaken: the ConfigMap then
/// gets an Event. Does nothing for anything else.
///
/// # Errors
/// If the API server refuses it or cannot be reached.
pub(super) async fn ensure(host: &Host, id: &ReconcilerId) -> Result<(), WriteError> {
    let (namespace, name) = (id.namespace.as_str(), id.name.as_str());
    let known = matches!(host.store.sync(&control::reconcilers()), Sync::Synced(_));
    let Some(config_map) = host.store.get(&control::config_maps(namespace), Some(namespace), name) else {
        host.slots.untold(id);
        return Ok(());
    };
    if !known || config_map.label(LABEL_MODULE) != Some("true") || config_map.is_being_deleted() {
        return Ok(());
    }
    if let Some(reconciler) = host.store.get(&control::reconcilers(), Some(namespace), name) {
        if reconciler.label(LABEL_DROP_IN).is_none() {
            by_hand(host, id, &config_map, &reconciler).await;
        }
        return Ok(());
    }
    if !host.settings.drop_in_namespaces.contains(namespace) {
        let note = format!(
            "no Reconciler is made for a module that is dropped in here: namespace {namespace} is none from which the \
             host takes drop-ins; write a Reconciler, or start the host with --drop-in-namespace {namespace}"
        );
        tell_once(host, id, &config_map, "DropInNotAllowed", note).await;
        return Ok(());
    }
    if name.len() > MAX_RECONCILER_NAME || name.contains('.') {
        name_refused(host, id, &config_map).await;
        return Ok(());
    }
    // Whoever deletes the ConfigMap and then its Reconciler must not find that one made again, in whatever order the watches
    // say so.
    let target = Target::of(&control::config_maps(namespace).kind, &config_map);
    match host.cluster.get(&target).await {
        Ok(Some(live)) if !live.is_being_deleted() && live.label(LABEL_MODULE) == Some("true") => {}
        Ok(_) => return Ok(()),
        Err(error) => return Err(WriteError::Unavailable(error.to_string())),
    }
    match host.cluster.apply(&creation(host, id)).await {
        Ok(made) => {
            tracing::info!(reconciler = %id, "made for a drop-in ConfigMap");
            if let Some(made) = made {
                host.store.overlay(&control::reconcilers(), made);
            }
            Ok(())
        }
        Err(WriteError::AlreadyExists) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The Reconciler of a drop-in: everything is named alike, and no ownerReference, since it outlives the ConfigMap.
fn creation(host: &Host, id: &ReconcilerId) -> Write {
    let everywhere = if id.namespace == host.settings.namespace {
        vec!["*"]
    } else {
        Vec::new()
    };
    let object = Object::from_value(json!({
        "apiVersion": reconciler_kind().of.api_version(),
        "kind": "Reconciler",
        "metadata": {"namespace": id.namespace, "name": id.name, "labels": {LABEL_DROP_IN: "true"}},
        "spec": {
            "source": {"configMap": {"name": id.name}},
            "serviceAccountName": id.name,
            "namespaces": everywhere,
        },
    }))
    .unwrap_or_default();
    Write {
        identity: Identity::Host,
        target: Target::of(&reconciler_kind(), &object),
        subresource: Subresource::None,
        manager: HOST_FIELD_MANAGER.into(),
        request: Request::Create(object),
    }
}

/// Says on the ConfigMap that its label has no effect, since a Reconciler of its name was there first.
async fn by_hand(host: &Host, id: &ReconcilerId, config_map: &Object, reconciler: &Object) {
    let uses_it = reconciler.text_at(&["spec", "source", "configMap", "name"]) == Some(config_map.name());
    let source = if uses_it {
        "which takes its module from here by its own spec"
    } else {
        "which takes its module from elsewhere; name this ConfigMap in its spec.source, or rename it"
    };
    let note = format!(
        "Reconciler {id} was written by hand and is left as it is, {source}; the label {LABEL_MODULE} has no effect"
    );
    tell_once(host, id, config_map, "ReconcilerExists", note).await;
}

async fn name_refused(host: &Host, id: &ReconcilerId, config_map: &Object) {
    let note = format!(
        "a drop-in module's name must be a DNS label of at most {MAX_RECONCILER_NAME} characters; {} is not: rename the ConfigMap",
        config_map.name()
    );
    tell_once(host, id, config_map, "NameRefused", note).await;
}

/// An Event about a ConfigMap, unless it was told the same before.
async fn tell_once(host: &Host, id: &ReconcilerId, config_map: &Object, reason: &str, note: String) {
    if !host.slots.is_news(id, config_map.uid(), &note) {
        return;
    }
    let event = EventNote {
        severity: Severity::Warning,
        reason: reason.into(),
        note,
        from_guest: false,
        is_news: true,
    };
    events::tell(host, id, config_map, &event).await;
}
