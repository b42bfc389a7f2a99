//! Writes Events about objects.

use crate::host::Host;
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};
use windlass_core::decision::Severity;
use windlass_core::kind::KindInfo;
use windlass_core::names::{HOST_FIELD_MANAGER, REPORTING_CONTROLLER};
use windlass_core::object::Object;
use windlass_core::report::EventNote;
use windlass_core::text::cut;
use windlass_core::write::{Identity, Request, Subresource, Target, Write};

/// Characters of the object's name that an Event's own name begins with.
const MAX_STEM: usize = 200;
/// Namespace of Events about objects that have none.
const DEFAULT_NAMESPACE: &str = "default";

/// Makes names of Events differ that are written in the same millisecond.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// Writes one Event about an object. An Event that cannot be written is logged and lost: it must not stop anything.
pub async fn write(host: &Host, identity: &Identity, about: &Object, event: &EventNote) {
    let now = host.now();
    let namespace = about.namespace().unwrap_or(DEFAULT_NAMESPACE);
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let stem = stem(about.name());
    let object = Object::from_value(json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "namespace": namespace,
            "name": format!("{stem}.{:x}{serial:04x}", now.as_millisecond()),
        },
        "eventTime": format!("{now:.6}"),
        "reportingController": REPORTING_CONTROLLER,
        "reportingInstance": host.settings.instance,
        "action": "Reconcile",
        "reason": event.reason,
        "note": cut(&event.note),
        "type": match event.severity { Severity::Normal => "Normal", Severity::Warning => "Warning" },
        "regarding": {
            "apiVersion": about.kind().api_version(),
            "kind": about.kind().kind,
            "namespace": about.namespace(),
            "name": about.name(),
            "uid": about.uid(),
        },
    }))
    .unwrap_or_default();
    let kind = KindInfo::namespaced("events.k8s.io", "v1", "Event", "events");
    let write = Write {
        identity: identity.clone(),
        target: Target::of(&kind, &object),
        subresource: Subresource::None,
        manager: HOST_FIELD_MANAGER.into(),
        request: Request::Create(object),
    };
    if let Err(error) = host.cluster.apply(&write).await {
        tracing::warn!(about = %about.reference(), reason = event.reason, "an Event could not be written: {error}");
    }
}

/// So much of a name as leaves room for what tells Events apart. What a dot follows has to end in a letter or a digit.
fn stem(name: &str) -> &str {
    let end = name.char_indices().nth(MAX_STEM).map_or(name.len(), |(end, _)| end);
    name[..end].trim_end_matches(['.', '-'])
}
