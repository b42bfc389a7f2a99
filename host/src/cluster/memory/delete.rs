//! Deletes objects, and what follows from it: finalizers, garbage collection, emptying namespaces and CRDs.
//!
//! The real cluster's controllers do the latter some moments later; here it is done before the write returns.

use super::history::{Author, Recorded, Verb};
use super::kinds::{crd_names, is_crd, is_namespace};
use super::store::{Chore, Place, State};
use serde_json::Value;
use windlass_core::decision::Propagation;
use windlass_core::kind::KindRef;
use windlass_core::object::{Object, OwnerReference};
use windlass_core::write::{Subresource, Target};

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

impl State {
    /// Deletes what is there, or marks it as being deleted while finalizers hold it.
    pub(super) fn delete(&mut self, place: &Place, propagation: Propagation) {
        let Some(object) = self.object(place) else { return };
        let mut object = object.clone();
        let of = object.kind();
        let mut finalizers: Vec<String> = object
            .finalizers()
            .filter(|name| ![FOREGROUND, ORPHAN].contains(name))
            .map(Into::into)
            .collect();
        match propagation {
            Propagation::Background => {}
            Propagation::Foreground => finalizers.push(FOREGROUND.into()),
            Propagation::Orphan => finalizers.push(ORPHAN.into()),
        }
        if finalizers.is_empty() && !is_namespace(&of) && !is_crd(&of) {
            self.remove(place);
            return;
        }
        let marked = object.is_being_deleted();
        set_finalizers(&mut object, finalizers);
        if !marked {
            let time = self.time();
            let generation = object.generation();
            let metadata = object.metadata_mut();
            metadata.insert("deletionTimestamp".into(), time.into());
            metadata.insert("deletionGracePeriodSeconds".into(), 0.into());
            if let Some(generation) = generation {
                metadata.insert("generation".into(), (generation + 1).into());
            }
            if is_namespace(&of) {
                object
                    .0
                    .insert("status".into(), serde_json::json!({"phase": "Terminating"}));
            }
        }
        if self.object(place) != Some(&object) {
            self.put(place, object);
        }
    }

    /// Does what the cluster's controllers would do now, until nothing is left to do.
    pub(super) fn collect(&mut self) {
        while let Some(chore) = self.chores.pop_front() {
            match chore {
                Chore::Owners(place) => self.look_at_owners(&place),
                Chore::Settle(place) => self.settle(&place),
            }
        }
    }

    /// Deletes an object that has no owner left; takes off the names of those that are gone.
    fn look_at_owners(&mut self, place: &Place) {
        let Some(object) = self.object(place) else { return };
        let owners = object.owner_references();
        let (gone, there): (Vec<_>, Vec<_>) = owners.into_iter().partition(|owner| self.is_gone(owner, place));
        if gone.is_empty() {
            return;
        }
        let waiting = there.iter().all(|owner| self.is_waiting_for_dependents(&owner.uid));
        if there.is_empty() || waiting {
            self.delete_as_cluster(place, Propagation::Background);
        } else {
            self.strip_owners(place, |owner| gone.iter().any(|gone| gone.uid == owner.uid));
        }
    }

    /// Whether an owner is known not to be there. What is of an unknown kind is not looked up, as in the real cluster.
    fn is_gone(&self, owner: &OwnerReference, dependent: &Place) -> bool {
        if self.gone.contains(&owner.uid) {
            return true;
        }
        match self.uids.get(&owner.uid) {
            None if self.assumed.contains(&owner.uid) => false,
            Some(place) => place.namespace.is_some() && place.namespace != dependent.namespace,
            None => self
                .kinds
                .find(&KindRef::from_api_version(&owner.api_version, &owner.kind))
                .is_some(),
        }
    }

    fn is_waiting_for_dependents(&self, uid: &str) -> bool {
        let owner = self.uids.get(uid).and_then(|place| self.object(place));
        owner.is_some_and(|owner| owner.is_being_deleted() && owner.finalizers().any(|name| name == FOREGROUND))
    }

    /// Lets an object that is being deleted go, if nothing holds it any more.
    fn settle(&mut self, place: &Place) {
        let Some(object) = self.object(place).filter(|object| object.is_being_deleted()).cloned() else {
            return;
        };
        let has = |finalizer: &str| object.finalizers().any(|name| name == finalizer);
        if has(ORPHAN) {
            for dependent in self.dependents_of(&object) {
                self.strip_owners(&dependent, |owner| owner.uid == object.uid());
            }
            self.take_finalizer(place, ORPHAN);
        } else if has(FOREGROUND) {
            if self.delete_dependents(&object) {
                self.take_finalizer(place, FOREGROUND);
            }
        } else if object.finalizers().next().is_none() && self.is_emptied(place, &object) {
            self.remove(place);
        }
    }

    fn dependents_of(&self, owner: &Object) -> Vec<Place> {
        self.dependents
            .get(owner.uid())
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    /// Deletes what only this owner holds; true when none is left that its deletion waits for.
    fn delete_dependents(&mut self, owner: &Object) -> bool {
        for place in self.dependents_of(owner) {
            let Some(object) = self.object(&place).filter(|object| !object.is_being_deleted()) else {
                continue;
            };
            let others = object
                .owner_references()
                .into_iter()
                .filter(|other| other.uid != owner.uid());
            let held = others
                .into_iter()
                .any(|other| !self.is_gone(&other, &place) && !self.is_waiting_for_dependents(&other.uid));
            if held {
                self.strip_owners(&place, |other| other.uid == owner.uid());
            } else if self.dependents.contains_key(object.uid()) {
                self.delete_as_cluster(&place, Propagation::Foreground);
            } else {
                self.delete_as_cluster(&place, Propagation::Background);
            }
        }
        let blocks = |place: &Place| {
            let references = self.object(place).map(Object::owner_references).unwrap_or_default();
            references
                .iter()
                .any(|other| other.uid == owner.uid() && other.block_owner_deletion == Some(true))
        };
        !self.dependents_of(owner).iter().any(blocks)
    }

    /// Deletes what is in a Namespace or of a CRD; true when nothing is left of it.
    fn is_emptied(&mut self, place: &Place, object: &Object) -> bool {
        let inside: Vec<Place> = if is_namespace(&object.kind()) {
            let is_in = |other: &Place| other.namespace.as_deref() == Some(&place.name);
            self.all()
                .map(|(other, _)| other)
                .filter(|other| is_in(other))
                .cloned()
                .collect()
        } else if is_crd(&object.kind()) {
            let (group, kind) = crd_names(object);
            self.of_kind(&KindRef {
                group,
                version: String::new(),
                kind,
            })
            .map(|(other, _)| other.clone())
            .collect()
        } else {
            return true;
        };
        for other in &inside {
            if self.object(other).is_some_and(|object| !object.is_being_deleted()) {
                self.delete_as_cluster(other, Propagation::Background);
            }
        }
        !inside.iter().any(|other| self.object(other).is_some())
    }

    fn delete_as_cluster(&mut self, place: &Place, propagation: Propagation) {
        let before = self.object(place).cloned();
        self.delete(place, propagation);
        self.record_as_cluster(place, Verb::Delete, before);
    }

    fn strip_owners(&mut self, place: &Place, strip: impl Fn(&OwnerReference) -> bool) {
        let Some(before) = self.object(place).cloned() else {
            return;
        };
        let mut object = before.clone();
        let kept = object.owner_references().into_iter().filter(|owner| !strip(owner));
        let kept: Vec<Value> = kept.filter_map(|owner| serde_json::to_value(owner).ok()).collect();
        set_list(&mut object, "ownerReferences", kept);
        self.put(place, object);
        self.record_as_cluster(place, Verb::Patch, Some(before));
    }

    fn take_finalizer(&mut self, place: &Place, finalizer: &str) {
        let Some(mut object) = self.object(place).cloned() else {
            return;
        };
        let kept = object
            .finalizers()
            .filter(|name| *name != finalizer)
            .map(Into::into)
            .collect();
        set_finalizers(&mut object, kept);
        if object.finalizers().next().is_none() && !is_namespace(&object.kind()) && !is_crd(&object.kind()) {
            self.remove(place);
        } else {
            self.put(place, object);
        }
    }

    fn record_as_cluster(&mut self, place: &Place, verb: Verb, before: Option<Object>) {
        let Some(known) = before.as_ref() else { return };
        let Some(kind) = self.kinds.find(&known.kind()) else {
            return;
        };
        self.history.push(Recorded {
            author: Author::Cluster,
            verb,
            target: Target::of(&kind.served.kind, known),
            subresource: Subresource::None,
            manager: String::new(),
            after: self.object(place).cloned(),
            before,
            error: None,
        });
    }
}

fn set_finalizers(object: &mut Object, finalizers: Vec<String>) {
    set_list(
        object,
        "finalizers",
        finalizers.into_iter().map(Value::String).collect(),
    );
}

fn set_list(object: &mut Object, name: &str, values: Vec<Value>) {
    if values.is_empty() {
        object.metadata_mut().remove(name);
    } else {
        object.metadata_mut().insert(name.into(), Value::Array(values));
    }
}
