//! Derives the exact list of writes from a decision, leaving no choice to whoever carries them out.
//!
//! `children` decides about each wanted child, `adoption` about what has its name already, `conflict` says in words what is
//! in its way, `prune` decides about what is no longer wanted, `primary` about the primary itself.

mod adoption;
mod children;
mod conflict;
mod primary;
mod prune;

pub(crate) use primary::identify;
pub use primary::release;

use crate::canonical::IntentKey;
use crate::contest::Contested;
use crate::decision::{Decided, Outcome};
use crate::key::ReconcilerId;
use crate::kind::{KindInfo, KindRef, ObjectRef};
use crate::manifest::Manifest;
use crate::names::field_manager;
use crate::object::Object;
use crate::reason::Reason;
use crate::write::{Actor, Request, Subresource, Target, Write};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Everything a plan depends on besides the decision itself.
#[derive(Clone, Debug)]
pub struct Situation<'a> {
    /// For whom.
    pub actor: &'a Actor,
    /// What the guest declared.
    pub manifest: &'a Manifest,
    /// The primary as stored, with our own managedFields entries.
    pub primary: &'a Object,
    /// Everything that carries our marks for this primary, as stored, with our own managedFields entries.
    pub children: &'a [Object],
    /// Live objects that refused a create by being there.
    pub in_the_way: &'a [Object],
    /// Children whose apply was refused because a field of theirs cannot be changed.
    pub immutable: &'a [ObjectRef],
    /// Children that others keep changing and that are not put right now, by uid.
    pub contested: &'a BTreeMap<String, Contested>,
    /// What may be taken over of what is in the way.
    pub adoption: Adoption<'a>,
    /// Hashes what was applied.
    pub intent_key: &'a IntentKey,
}

/// From whom objects that exist already may be taken over as children.
#[derive(Clone, Copy, Debug, Default)]
pub struct Adoption<'a> {
    /// Field managers that the spec of the Reconciler names.
    pub from_field_managers: &'a [String],
    /// Reconcilers that are gone, or certainly take care of this primary no more. What they made for this very primary may
    /// be taken over without being named (F-13).
    pub predecessors: &'a [ReconcilerId],
}

/// A wanted child that cannot be written now, or one that is still to go, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Blocked {
    /// Which child.
    pub target: Target,
    /// Why, in a word.
    pub reason: Reason,
    /// Why, in a sentence that names the child.
    pub message: String,
    /// No watch of ours tells when this ends, as the object is not ours: look again after a while.
    pub unwatched: bool,
}

/// The writes of one decision, in the order in which they are to be carried out: `finalizer`, `children`, `prune`,
/// `primary`, `release`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Look at the primary live before anything else: unless it has the uid it was planned for and no deletion mark,
    /// nothing of this plan may be carried out. Set where a child gets back an owner reference that it had lost, because
    /// garbage collection takes that off on purpose when the primary is deleted with its children kept.
    pub confirm_primary: bool,
    /// Puts our finalizer on the primary; nothing else may follow if it fails.
    pub finalizer: Option<Write>,
    /// Creates and changes, in order of kind. One that fails does not stop the others.
    pub children: Vec<Write>,
    /// Of those, the children whose intent is what was written last: somebody has taken some of it since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corrected: Vec<Target>,
    /// Deletes, in reverse order of kind. Left out if any child write failed.
    pub prune: Vec<Write>,
    /// Fields of the primary that the guest owns, or gives back.
    pub primary: Option<Write>,
    /// Takes our finalizer off; only when nothing before it failed.
    pub release: Option<Write>,
    /// Children that cannot be written now.
    pub blocked: Vec<Blocked>,
}

impl Plan {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.writes().next().is_none()
    }

    /// All writes in the order in which they are to be carried out.
    pub fn writes(&self) -> impl Iterator<Item = &Write> {
        let children = self.children.iter().chain(&self.prune);
        self.finalizer
            .iter()
            .chain(children)
            .chain(&self.primary)
            .chain(&self.release)
    }
}

/// Derives the writes of a decision that was checked before.
///
/// # Guarantees
/// - What is not proven ours is never deleted, and changed only where `adoption` lets it be taken over, without force; each change and delete carries the uid it was planned for.
/// - Equal arguments give equal plans, in whatever order children are given; what is as wanted is not written.
/// - While the primary is being deleted nothing is written but what `finalize` returned, and without our finalizer
///   nothing at all.
///
/// # Assumptions
/// - Wanted children of kinds that were not declared, or wanted twice, were refused by the check; they are left out here.
pub fn plan(situation: &Situation<'_>, decided: &Decided) -> Plan {
    let primary = situation.primary;
    let held = primary::holds_finalizer(situation);
    match (primary.is_being_deleted(), decided) {
        (false, Decided::Outcome(outcome)) => living(situation, outcome),
        (true, Decided::Proceed(outcome)) if held => Plan {
            primary: (outcome.primary.as_ref()).and_then(|wanted| primary::fields(situation, Some(wanted))),
            ..children::plan(situation, &outcome.children)
        },
        (true, Decided::Done | Decided::Skipped(_)) if held => finished(situation),
        (true, Decided::Leaving) => leaving(situation),
        _ => Plan::default(),
    }
}

fn living(situation: &Situation<'_>, outcome: &Outcome) -> Plan {
    let mut plan = children::plan(situation, &outcome.children);
    plan.primary = primary::fields(situation, outcome.primary.as_ref());
    if situation.manifest.finalizes {
        plan.finalizer = primary::finalizer(situation);
    } else {
        // A version of the guest before this one may have had something to finalize.
        plan.release = primary::release(situation.actor, &situation.manifest.primary.kind, situation.primary);
    }
    plan
}

fn finished(situation: &Situation<'_>) -> Plan {
    let (prune, blocked) = prune::everything(situation);
    let release = if prune.is_empty() && blocked.is_empty() {
        primary::release(situation.actor, &situation.manifest.primary.kind, situation.primary)
    } else {
        None
    };
    Plan {
        prune,
        blocked,
        release,
        ..Plan::default()
    }
}

/// Garbage collection takes the children; what it waits for is said.
fn leaving(situation: &Situation<'_>) -> Plan {
    Plan {
        blocked: prune::waited_for(situation),
        ..Plan::default()
    }
}

/// The declared kind of an object, by which its request path is known.
pub(crate) fn declared_kind<'a>(manifest: &'a Manifest, object: &Object) -> Option<&'a KindInfo> {
    manifest.child(&object.kind()).map(|child| &child.kind)
}

/// What makes two descriptions the same object: versions of a kind are views of one.
type Place = (String, String, Option<String>, String);

fn place(of: &KindRef, namespace: Option<&str>, name: &str) -> Place {
    (
        of.group.clone(),
        of.kind.clone(),
        namespace.map(Into::into),
        name.into(),
    )
}

fn place_of(object: &Object) -> Place {
    place(&object.kind(), object.namespace(), object.name())
}

type Places = BTreeSet<Place>;

/// A write under our name to the object itself.
fn write(actor: &Actor, target: Target, request: Request) -> Write {
    Write {
        identity: actor.identity.clone(),
        target,
        subresource: Subresource::None,
        manager: field_manager(&actor.reconciler),
        request,
    }
}
