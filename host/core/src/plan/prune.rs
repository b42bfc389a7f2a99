//! Decides which children go: those that are ours and no longer wanted.

use super::{Blocked, Place, Places, Situation, conflict, declared_kind, place_of, write};
use crate::inventory::{is_ours, is_retained, propagation, rank};
use crate::object::Object;
use crate::reason::Reason;
use crate::write::{Request, Target, Write};
use std::cmp::Reverse;

/// Finalizers by which garbage collection itself holds an object until its dependents are gone, or let go.
const COLLECTORS: [&str; 2] = ["foregroundDeletion", "orphan"];

/// Deletes of what is ours and not among the kept.
///
/// A retained child is pruned like any other while its primary lives: it outlives the primary, not the guest's wish.
pub(super) fn unwanted(situation: &Situation<'_>, kept: &Places) -> Vec<Write> {
    let outlives = |child: &Object| situation.primary.is_being_deleted() && is_retained(child);
    let unwanted = ours(situation)
        .into_iter()
        .filter(|(place, _, child)| !kept.contains(place) && !outlives(child));
    unwanted
        .filter(|(_, _, child)| !child.is_being_deleted())
        .map(|(_, target, child)| delete(situation, target, child))
        .collect()
}

/// Deletes of all that does not outlive the primary, and what is on its way out already.
pub(super) fn everything(situation: &Situation<'_>) -> (Vec<Write>, Vec<Blocked>) {
    let mut prune = Vec::new();
    let mut going = Vec::new();
    for (_, target, child) in ours(situation).into_iter().filter(|(_, _, child)| !is_retained(child)) {
        if child.is_being_deleted() {
            going.push(still_going(target, child));
        } else {
            prune.push(delete(situation, target, child));
        }
    }
    (prune, going)
}

/// Children that are on their way out and wait for finalizers of somebody's, the garbage collector's own aside (D-11).
pub(super) fn waited_for(situation: &Situation<'_>) -> Vec<Blocked> {
    let is_held = |child: &Object| child.finalizers().any(|finalizer| !COLLECTORS.contains(&finalizer));
    ours(situation)
        .into_iter()
        .filter(|(_, _, child)| child.is_being_deleted() && is_held(child))
        .map(|(_, target, child)| still_going(target, child))
        .collect()
}

fn still_going(target: Target, child: &Object) -> Blocked {
    let message = conflict::still_going(&target, child);
    Blocked {
        target,
        reason: Reason::Deleting,
        message,
        unwatched: false,
    }
}

/// Our children in the order in which they go.
fn ours<'a>(situation: &Situation<'a>) -> Vec<(Place, Target, &'a Object)> {
    let ours = situation
        .children
        .iter()
        .filter(|child| is_ours(child, situation.actor, situation.primary));
    let mut ours: Vec<_> = ours
        .filter_map(|child| {
            Some((
                place_of(child),
                Target::of(declared_kind(situation.manifest, child)?, child),
                child,
            ))
        })
        .collect();
    ours.sort_by_key(|(place, target, _)| (Reverse(rank(&target.kind.of)), place.clone()));
    ours
}

fn delete(situation: &Situation<'_>, target: Target, child: &Object) -> Write {
    let request = Request::Delete {
        uid: child.uid().into(),
        resource_version: child.resource_version().into(),
        propagation: propagation(child),
    };
    write(situation.actor, target, request)
}
