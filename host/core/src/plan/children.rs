//! Decides about each wanted child: create, change, recreate, leave alone, or say what blocks it.

use super::{
    Blocked, Place, Places, Plan, Situation, adoption, conflict, declared_kind, place, place_of, prune, write,
};
use crate::decision::{ChildrenPlan, DesiredChild, WantedChild, WriteMode};
use crate::inventory::{Terms, is_controlled_by, is_ours, mark, rank};
use crate::managed_fields::{first_lost, is_split, take_over};
use crate::names::{ANNOTATION_APPLIED, field_manager};
use crate::object::Object;
use crate::reason::Reason;
use crate::write::{Request, Target};
use serde_json::Value;

/// The writes that make the children what the guest wants, and the deletes of the others.
pub(super) fn plan(situation: &Situation<'_>, wanted: &ChildrenPlan) -> Plan {
    let listed: &[DesiredChild] = match wanted {
        ChildrenPlan::Unchanged => return Plan::default(),
        ChildrenPlan::NoneWanted => &[],
        ChildrenPlan::Exactly(listed) => listed,
    };
    let mut kept = Places::new();
    let mut children = Vec::new();
    for desired in listed {
        match desired {
            DesiredChild::Hold(held) => {
                let namespaced = situation
                    .manifest
                    .child(&held.of)
                    .is_none_or(|child| child.kind.namespaced);
                let namespace = held
                    .namespace
                    .as_deref()
                    .or(situation.primary.namespace())
                    .filter(|_| namespaced);
                kept.insert(place(&held.of, namespace, &held.name));
            }
            DesiredChild::Want(wanted) => children.extend(Child::new(situation, wanted)),
        }
    }
    kept.extend(children.iter().map(|child| child.place.clone()));
    children.sort_by(|left, right| (left.rank(), &left.place).cmp(&(right.rank(), &right.place)));
    let mut plan = Plan {
        prune: prune::unwanted(situation, &kept),
        ..Plan::default()
    };
    for child in &children {
        let step = child.step(situation);
        plan.confirm_primary |= step.restores_owner;
        plan.corrected.extend(step.corrects.then(|| child.target.clone()));
        plan.blocked.extend(step.blocked);
        let writes = step
            .requests
            .into_iter()
            .map(|request| write(situation.actor, child.target.clone(), request));
        plan.children.extend(writes);
    }
    plan
}

/// A wanted child with its full name.
struct Child<'a> {
    wanted: &'a WantedChild,
    /// The guest's fields under that name.
    object: Object,
    target: Target,
    place: Place,
}

/// What is to be done about one child.
#[derive(Default)]
struct Step {
    requests: Vec<Request>,
    blocked: Option<Blocked>,
    restores_owner: bool,
    /// Nothing else is wanted than what was written last.
    corrects: bool,
}

impl<'a> Child<'a> {
    /// Fills in the primary's namespace. None for what the check refuses: undeclared kinds, or no namespace to be had.
    fn new(situation: &Situation<'_>, wanted: &'a WantedChild) -> Option<Self> {
        let kind = declared_kind(situation.manifest, &wanted.object)?;
        let mut object = wanted.object.clone();
        if kind.namespaced {
            let namespace = object.namespace().or(situation.primary.namespace())?.to_owned();
            object.metadata_mut().insert("namespace".into(), Value::from(namespace));
        } else {
            object.metadata_mut().remove("namespace");
        }
        let target = Target::of(kind, &object);
        let place = place_of(&object);
        Some(Self {
            wanted,
            object,
            target,
            place,
        })
    }

    fn rank(&self) -> u8 {
        rank(&self.target.kind.of)
    }

    fn step(&self, situation: &Situation<'_>) -> Step {
        // The store first: what was in the way of an earlier try may have changed since.
        let mut there = situation.children.iter().chain(situation.in_the_way);
        match there.find(|object| place_of(object) == self.place) {
            Some(object) => self.meet(situation, object),
            None => Step {
                requests: vec![Request::Create(self.marked(situation, None))],
                ..Step::default()
            },
        }
    }

    /// What to do about an object that has the child's name already.
    fn meet(&self, situation: &Situation<'_>, object: &Object) -> Step {
        let ours = is_ours(object, situation.actor, situation.primary);
        if object.is_being_deleted() || !ours && conflict::is_left_behind(object, situation.primary) {
            return self.blocked(
                Reason::WaitingForOldChild,
                conflict::still_going(&self.target, object),
                !ours,
            );
        }
        if !ours {
            return self.adopt(situation, object);
        }
        if self.wanted.mode == WriteMode::CreateOnce {
            return Step::default();
        }
        let intent = self.marked(situation, Some(object));
        let manager = field_manager(&situation.actor.reconciler);
        if is_as_wanted(&intent, object, &manager) {
            return Step::default();
        }
        if self.wanted.mode == WriteMode::ApplyOrRecreate && self.is_immutable(situation) {
            return self.recreate(object);
        }
        let corrects = is_what_was_written_last(&intent, object);
        if let Some(contested) = situation.contested.get(object.uid()).filter(|_| corrects) {
            let message = format!("{} {}", self.target.reference(), contested.why);
            // A fight is over when nobody says so; a schema does not change by waiting.
            let unwatched = contested.reason == Reason::OwnershipConflict;
            return self.blocked(contested.reason, message, unwatched);
        }
        let restores_owner =
            is_controlled_by(&intent, situation.primary) && !is_controlled_by(object, situation.primary);
        let mut requests: Vec<Request> = take_over(object, &manager)
            .into_iter()
            .map(Request::JsonPatch)
            .collect();
        let mut body = intent;
        body.metadata_mut().insert("uid".into(), Value::from(object.uid()));
        requests.push(Request::Apply {
            object: body,
            force: true,
        });
        Step {
            requests,
            restores_owner,
            corrects,
            ..Step::default()
        }
    }

    /// Takes over an object that is not ours, if that is allowed; else it is in the way.
    fn adopt(&self, situation: &Situation<'_>, object: &Object) -> Step {
        let intent = if self.wanted.mode == WriteMode::CreateOnce {
            self.marks_alone(situation)
        } else {
            self.marked(situation, None)
        };
        let adopted = if self.is_immutable(situation) {
            let why = "a field of it that differs cannot be changed in place";
            Err(Some(conflict::not_taken_over(&self.target, why)))
        } else {
            adoption::adopt(situation, &self.target, self.wanted.mode, &intent, object)
        };
        match adopted {
            Ok(requests) => Step {
                requests,
                restores_owner: is_controlled_by(&intent, situation.primary)
                    && !is_controlled_by(object, situation.primary),
                ..Step::default()
            },
            Err(why) => {
                let message = why.unwrap_or_else(|| conflict::stranger(&self.target, object));
                self.blocked(Reason::OwnershipConflict, message, true)
            }
        }
    }

    /// What says that an object is ours, and nothing of what the guest wants.
    fn marks_alone(&self, situation: &Situation<'_>) -> Object {
        let mut bare = Object::default();
        for key in ["apiVersion", "kind"] {
            bare.0
                .extend(self.object.0.get(key).map(|value| (key.into(), value.clone())));
        }
        for key in ["name", "namespace"] {
            let value = self.object.at(&["metadata", key]).cloned();
            bare.metadata_mut().extend(value.map(|value| (key.into(), value)));
        }
        self.marked_as(situation, None, bare)
    }

    /// Deletes the object, so that a later decision finds its name free.
    fn recreate(&self, object: &Object) -> Step {
        let delete = Request::Delete {
            uid: object.uid().into(),
            resource_version: String::new(),
            propagation: self.wanted.propagation,
        };
        let finalizers: Vec<&str> = object.finalizers().collect();
        let waits = match finalizers.is_empty() {
            true => String::new(),
            false => format!("; it waits for its finalizers {}", finalizers.join(", ")),
        };
        let message = format!(
            "{} is deleted and made again, since a field of it that changed cannot be changed in place{waits}",
            self.target.reference()
        );
        Step {
            requests: vec![delete],
            ..self.blocked(Reason::WaitingForOldChild, message, false)
        }
    }

    fn blocked(&self, reason: Reason, message: String, unwatched: bool) -> Step {
        let blocked = Blocked {
            target: self.target.clone(),
            reason,
            message,
            unwatched,
        };
        Step {
            blocked: Some(blocked),
            ..Step::default()
        }
    }

    fn is_immutable(&self, situation: &Situation<'_>) -> bool {
        let mut immutable = situation.immutable.iter();
        immutable.any(|object| place(&object.of, object.namespace.as_deref(), &object.name) == self.place)
    }

    /// What is sent. While the primary is being deleted no child gets an owner reference: it would be collected with the
    /// primary, or at once. What has one keeps it.
    fn marked(&self, situation: &Situation<'_>, there: Option<&Object>) -> Object {
        self.marked_as(situation, there, self.object.clone())
    }

    fn marked_as(&self, situation: &Situation<'_>, there: Option<&Object>, mut object: Object) -> Object {
        let primary = situation.primary;
        let owned = !primary.is_being_deleted() || there.is_some_and(|object| is_controlled_by(object, primary));
        let terms = Terms {
            owned,
            retained: self.wanted.retain,
            propagation: self.wanted.propagation,
        };
        mark(&mut object, situation.actor, primary, terms, situation.intent_key);
        object
    }
}

/// The same intent was written last, and nobody has taken any of it since.
fn is_as_wanted(intent: &Object, object: &Object, manager: &str) -> bool {
    is_what_was_written_last(intent, object)
        && !is_split(object, manager)
        && first_lost(intent, object, manager).is_none()
}

fn is_what_was_written_last(intent: &Object, object: &Object) -> bool {
    object.annotation(ANNOTATION_APPLIED) == intent.annotation(ANNOTATION_APPLIED)
}
