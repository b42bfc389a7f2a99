//! Changes an object that is there: patch, apply and PUT, with what the server keeps for itself put back.

use super::attempt::{Force, Operation, Step};
use super::check::{MODIFIED, check, conflict, fit, invalid};
use super::kinds::{Kind, is_crd, is_namespace};
use super::managed::Managed;
use super::store::State;
use super::write::{applied_body, normalise, value};
use super::writer::Part;
use serde_json::{Value, json};
use windlass_core::object::Object;
use windlass_core::write::WriteError;

impl State {
    /// Changes what is there; gives nothing if that was the last thing its deletion waited for.
    pub(super) fn change(
        &mut self,
        step: &Step<'_>,
        operation: &Operation<'_>,
        live: &Object,
    ) -> Result<Option<Object>, WriteError> {
        let kind = step.kind;
        let mut managed = Managed::decode(live).unwrap_or_default();
        let owners = managed.clone();
        let wanted = match operation {
            Operation::Apply(body, force) => {
                let config = value(&applied_body(step, body)?);
                managed.apply(&value(live), &config, kind.shape(), &step.writer, *force == Force::Yes)?
            }
            operation => changed(step, operation, live)?,
        };
        let wanted = Object::from_value(wanted).unwrap_or_default();
        if !["", live.resource_version()].contains(&wanted.resource_version()) {
            return Err(conflict(kind, live.name(), MODIFIED));
        }
        let mut object = confined(step.writer.part, &wanted, live);
        keep_servers_own(&mut object, live);
        normalise(kind, &mut object);
        check(kind, &object, Some(live))?;
        if !matches!(operation, Operation::Apply(..)) {
            if step.writer.part.subresource().is_empty() {
                managed = given_owners(&wanted).unwrap_or(managed);
            }
            managed.update(&unmanaged(live), &unmanaged(&object), kind.shape(), &step.writer);
        }
        if managed.same_owners(&owners) && unmanaged(&object) == unmanaged(live) {
            return Ok(Some(live.clone()));
        }
        if let Some(generation) = live.generation().filter(|_| is_new_generation(kind, live, &object)) {
            object
                .metadata_mut()
                .insert("generation".into(), (generation + 1).into());
        }
        managed.encode(&mut object);
        if object.is_being_deleted() && object.finalizers().next().is_none() {
            if is_namespace(&object.kind()) || is_crd(&object.kind()) {
                self.put(step.place, object);
                self.collect();
            } else {
                self.remove(step.place);
            }
            return Ok(self
                .read(step.place, &kind.served.kind.of)
                .filter(|left| left.uid() == live.uid()));
        }
        Ok(Some(self.put(step.place, object)))
    }
}

/// The owners that a request itself gives, which lets clients edit `managedFields`; none where it gives none.
fn given_owners(wanted: &Object) -> Option<Managed> {
    let reset = wanted
        .at(&["metadata", "managedFields"])
        .is_some_and(|given| *given == json!([{}]));
    if reset {
        Some(Managed::default())
    } else {
        Managed::decode(wanted).filter(|managed| !managed.is_empty())
    }
}

/// All that the server says of a JSON patch that does not fit or whose test fails.
const REJECTED: &str = "the server rejected our request due to an error in our request";

/// The whole object as the request wants it, whatever part the request may write.
fn changed(step: &Step<'_>, operation: &Operation<'_>, live: &Object) -> Result<Value, WriteError> {
    let mut object = value(live);
    match operation {
        Operation::Replace(body) => {
            let mut body = (*body).clone();
            fit(step.kind, &mut body, live.namespace(), live.name())?;
            if !["", live.uid()].contains(&body.uid()) {
                let why = "Precondition failed: UID in precondition:";
                let why = format!("{why} {}, UID in object meta: {}", body.uid(), live.uid());
                return Err(conflict(step.kind, live.name(), &why));
            }
            object = value(&body);
        }
        Operation::JsonPatch(operations) => {
            let patch: json_patch::Patch = serde_json::from_value(Value::Array(operations.to_vec()))
                .map_err(|error| WriteError::Invalid(format!("json: cannot unmarshal patch: {error}")))?;
            json_patch::patch(&mut object, &patch).map_err(|_| WriteError::Invalid(REJECTED.into()))?;
        }
        Operation::MergePatch(patch) => json_patch::merge(&mut object, patch),
        Operation::Scale(replicas) => json_patch::merge(&mut object, &json!({"spec": {"replicas": replicas}})),
        Operation::Create(_) | Operation::Apply(..) | Operation::Delete { .. } => {}
    }
    let same = |name: &str| object.pointer(&format!("/metadata/{name}")).and_then(Value::as_str);
    if same("name") != Some(live.name()) || same("namespace") != live.namespace() {
        return Err(invalid(
            step.kind,
            live.name(),
            "metadata.name: Invalid value: field is immutable",
        ));
    }
    Ok(object)
}

/// What the request wants, in the part that it may write; the rest as it is.
fn confined(part: Part, wanted: &Object, live: &Object) -> Object {
    let (mut object, status) = match part {
        Part::Whole => return wanted.clone(),
        Part::Main | Part::Scale => (wanted.clone(), live.0.get("status")),
        Part::Status => {
            let mut object = live.clone();
            if let (Some(wanted), true) = (wanted.0.get("metadata"), wanted.uid() != live.uid()) {
                object
                    .metadata_mut()
                    .insert("uid".into(), wanted.get("uid").cloned().unwrap_or_default());
            }
            (object, wanted.0.get("status"))
        }
    };
    match status {
        Some(status) => drop(object.0.insert("status".into(), status.clone())),
        None => drop(object.0.remove("status")),
    }
    object
}

fn keep_servers_own(object: &mut Object, live: &Object) {
    for field in [
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
    ] {
        match live.at(&["metadata", field]) {
            Some(value) => drop(object.metadata_mut().insert(field.into(), value.clone())),
            None => drop(object.metadata_mut().remove(field)),
        }
    }
    object
        .metadata_mut()
        .insert("resourceVersion".into(), live.resource_version().into());
    if object.uid().is_empty() {
        object.metadata_mut().insert("uid".into(), live.uid().into());
    }
}

/// Whether a change is one of what is wanted, not of what is.
fn is_new_generation(kind: &Kind, live: &Object, object: &Object) -> bool {
    let wanted = |object: &Object| {
        let mut fields = object.0.clone();
        fields.remove("metadata");
        if kind.served.status_subresource {
            fields.remove("status");
        }
        fields
    };
    let of = &kind.served.kind.of;
    let annotations = |object: &Object| object.at(&["metadata", "annotations"]).cloned();
    let counts_annotations = of.group == "apps" && of.kind == "Deployment";
    wanted(live) != wanted(object) || (counts_annotations && annotations(live) != annotations(object))
}

fn unmanaged(object: &Object) -> Value {
    let mut object = object.clone();
    object.metadata_mut().remove("managedFields");
    object.into_value()
}
