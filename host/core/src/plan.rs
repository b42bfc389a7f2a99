//! Derives the exact list of writes from a decision, leaving no choice to whoever carries them out.

use crate::kind::{KindInfo, ObjectRef};
use crate::manifest::Manifest;
use crate::object::Object;
use crate::reason::Reason;
use crate::write::{Actor, Target, Write};
use serde::{Deserialize, Serialize};

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
}

/// A wanted child that cannot be written now, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Blocked {
    /// Which child.
    pub target: Target,
    /// Why, in a word.
    pub reason: Reason,
    /// Why, in a sentence.
    pub message: String,
}

/// The writes of one decision, in the order in which they are to be carried out: `finalizer`, `children`, `prune`,
/// `primary`, `release`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Puts our finalizer on the primary; nothing else may follow if it fails.
    pub finalizer: Option<Write>,
    /// Creates and changes, in order of kind. One that fails does not stop the others.
    pub children: Vec<Write>,
    /// Deletes, in reverse order of kind. Left out if any child write failed.
    pub prune: Vec<Write>,
    /// Fields of the primary that the guest owns.
    pub primary: Option<Write>,
    /// Takes our finalizer off; only when nothing before it failed.
    pub release: Option<Write>,
    /// Children that cannot be written now.
    pub blocked: Vec<Blocked>,
}

/// The declared kind of an object, by which its request path is known.
pub(crate) fn declared_kind<'a>(manifest: &'a Manifest, object: &Object) -> Option<&'a KindInfo> {
    manifest.child(&object.kind()).map(|child| &child.kind)
}
