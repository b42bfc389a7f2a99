//! Gives every drop-in ConfigMap a Reconciler of the same name.

use crate::api::reconciler_kind;
use crate::control;
use crate::events;
use crate::host::Host;
use serde_json::json;
use windlass_core::decision::Severity;
use windlass_core::key::ReconcilerId;
use windlass_core::names::{HOST_FIELD_MANAGER, LABEL_DROP_IN, LABEL_MODULE, MAX_RECONCILER_NAME};
use windlass_core::object::Object;
use windlass_core::report::EventNote;
use windlass_core::write::{Identity, Request, Subresource, Target, Write, WriteError};

/// Makes the Reconciler of a drop-in that has none. Does nothing for anything else.
///
/// # Errors
/// If the API server refuses it or cannot be reached.
pub(super) async fn ensure(host: &Host, id: &ReconcilerId) -> Result<(), WriteError> {
    let (namespace, name) = (id.namespace.as_str(), id.name.as_str());
    if !host.settings.source_namespaces.contains(namespace)
        || host.store.get(&control::reconcilers(), Some(namespace), name).is_some()
        || !matches!(host.store.sync(&control::reconcilers()), crate::store::Sync::Synced(_))
    {
        return Ok(());
    }
    let Some(config_map) = host.store.get(&control::config_maps(namespace), Some(namespace), name) else {
        return Ok(());
    };
    if config_map.label(LABEL_MODULE) != Some("true") || config_map.is_being_deleted() {
        return Ok(());
    }
    if name.len() > MAX_RECONCILER_NAME || name.contains('.') {
        name_refused(host, &config_map).await;
        return Ok(());
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

async fn name_refused(host: &Host, config_map: &Object) {
    let note = format!(
        "a drop-in module's name must be a DNS label of at most {MAX_RECONCILER_NAME} characters; {} is not: rename the ConfigMap",
        config_map.name()
    );
    let event = EventNote {
        severity: Severity::Warning,
        reason: "NameRefused".into(),
        note,
        from_guest: false,
    };
    events::write(host, &Identity::Host, config_map, &event).await;
}
