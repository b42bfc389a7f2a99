//! Decides about the primary itself: our finalizer, and the fields that the guest owns.

use super::{Situation, write};
use crate::canonical;
use crate::kind::KindInfo;
use crate::managed_fields::has_applied;
use crate::names::{field_manager, finalizer as finalizer_name};
use crate::object::Object;
use crate::write::{Actor, Request, Subresource, Target, Write};
use serde_json::{Value, json};

/// Whether the primary carries our finalizer.
pub(super) fn holds_finalizer(situation: &Situation<'_>) -> bool {
    finalizer_index(situation.actor, situation.primary).is_some()
}

/// Puts our finalizer on a living primary that lacks it.
pub(super) fn finalizer(situation: &Situation<'_>) -> Option<Write> {
    let primary = situation.primary;
    if primary.is_being_deleted() || holds_finalizer(situation) {
        return None;
    }
    let name = finalizer_name(&situation.actor.reconciler);
    let mut patch = tests(primary);
    patch.push(match primary.at(&["metadata", "finalizers"]) {
        Some(Value::Array(_)) => json!({"op": "add", "path": "/metadata/finalizers/-", "value": name}),
        _ => json!({"op": "add", "path": "/metadata/finalizers", "value": [name]}),
    });
    let target = Target::of(&situation.manifest.primary.kind, primary);
    Some(write(situation.actor, target, Request::JsonPatch(patch)))
}

/// Takes exactly our finalizer off the primary, if it is there.
///
/// Also what releases a primary whose Reconciler goes, or that has left its claim.
pub fn release(actor: &Actor, kind: &KindInfo, primary: &Object) -> Option<Write> {
    let index = finalizer_index(actor, primary)?;
    let path = format!("/metadata/finalizers/{index}");
    let mut patch = tests(primary);
    patch.push(json!({"op": "test", "path": path, "value": finalizer_name(&actor.reconciler)}));
    patch.push(json!({"op": "remove", "path": path}));
    Some(write(actor, Target::of(kind, primary), Request::JsonPatch(patch)))
}

/// Applies the guest's fields, never against another manager; none if they are as wanted.
///
/// A guest that wants none gives back those it had: they go, unless somebody else owns them too. Our finalizer is not among
/// them, as it was never applied.
pub(super) fn fields(situation: &Situation<'_>, wanted: Option<&Object>) -> Option<Write> {
    let primary = situation.primary;
    let kind = &situation.manifest.primary.kind;
    let manager = field_manager(&situation.actor.reconciler);
    let mut body = wanted.map(canonical::intent).unwrap_or_default();
    identify(&mut body, kind, primary);
    if has_applied(&body, primary, &manager, Subresource::None) {
        return None;
    }
    let request = Request::Apply {
        object: body,
        force: false,
    };
    Some(write(situation.actor, Target::of(kind, primary), request))
}

/// Makes the body hit exactly the primary.
pub(crate) fn identify(body: &mut Object, kind: &KindInfo, primary: &Object) {
    body.0.insert("apiVersion".into(), Value::from(kind.of.api_version()));
    body.0.insert("kind".into(), Value::from(kind.of.kind.as_str()));
    let metadata = body.metadata_mut();
    metadata.insert("name".into(), Value::from(primary.name()));
    metadata.insert("uid".into(), Value::from(primary.uid()));
    match primary.namespace() {
        Some(namespace) => metadata.insert("namespace".into(), Value::from(namespace)),
        None => metadata.remove("namespace"),
    };
}

/// The index in the list as the server has it.
fn finalizer_index(actor: &Actor, primary: &Object) -> Option<usize> {
    let name = finalizer_name(&actor.reconciler);
    let list = primary.at(&["metadata", "finalizers"]).and_then(Value::as_array)?;
    list.iter()
        .position(|finalizer| finalizer.as_str() == Some(name.as_str()))
}

/// What must hold for a change of the finalizers to be about this very state.
fn tests(primary: &Object) -> Vec<Value> {
    vec![
        json!({"op": "test", "path": "/metadata/uid", "value": primary.uid()}),
        json!({"op": "test", "path": "/metadata/resourceVersion", "value": primary.resource_version()}),
    ]
}
