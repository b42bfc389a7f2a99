//! Finds the primaries that a change in the cluster concerns, by look-up and not by search.

use crate::kind::KindRef;
use crate::names;
use crate::object::Object;
use crate::project;
use serde::{Deserialize, Serialize};

mod dependencies;
mod echo;
mod index;
mod matching;

pub use dependencies::Dependencies;
pub use echo::is_echo;
pub use matching::{Matcher, matches};

/// One object of a watched kind came, changed or went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The kind as it is watched.
    pub of: KindRef,
    /// As the store had it, none if it is new.
    pub old: Option<Object>,
    /// As it is now, none if it is gone.
    pub new: Option<Object>,
}

impl Change {
    /// Whether anything is different in what the watch shows. A metadata-only watch brings a change of the rest as a new
    /// resourceVersion alone.
    pub fn is_visible(&self) -> bool {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => !project::unchanged(old, new),
            _ => true,
        }
    }
}

/// The uid of the primary that a child was made for, from its label; none for what is not ours.
pub fn primary_uid_of(child: &Object) -> Option<&str> {
    child.label(names::LABEL_PRIMARY_UID).filter(|uid| !uid.is_empty())
}

#[cfg(test)]
mod tests;
