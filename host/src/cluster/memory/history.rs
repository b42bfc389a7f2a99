//! Remembers every write with what it did, for the diffs of `simulate` and for assertions in tests.

use windlass_core::object::Object;
use windlass_core::write::{Identity, Subresource, Target, WriteError};

/// Who made a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// The host, or an account it acts as.
    Through(Identity),
    /// A person or a test, through the convenience methods.
    Person,
    /// The cluster itself: garbage collection, and what follows the deletion of a Namespace or a CRD.
    Cluster,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// POST.
    Create,
    /// PUT.
    Update,
    /// Server-side apply.
    Apply,
    /// JSON patch or merge patch.
    Patch,
    /// DELETE.
    Delete,
}

/// One write, carried out or refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Who.
    pub author: Author,
    /// What.
    pub verb: Verb,
    /// To which object.
    pub target: Target,
    /// To which part of it.
    pub subresource: Subresource,
    /// Under which field manager, empty for the cluster itself.
    pub manager: String,
    /// The object before, none if there was none.
    pub before: Option<Object>,
    /// The object after, none if it is gone or never came.
    pub after: Option<Object>,
    /// Why it was refused.
    pub error: Option<WriteError>,
}

impl Recorded {
    /// Whether anything is different from before.
    pub fn changed(&self) -> bool {
        self.before != self.after
    }
}
