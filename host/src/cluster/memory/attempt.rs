//! Names one write as it is asked for: by whom, on what, and what.

use super::history::{Author, Recorded, Verb};
use super::kinds::Kind;
use super::store::Place;
use super::writer::{Part, Writer};
use serde_json::Value;
use windlass_core::decision::Propagation;
use windlass_core::object::Object;
use windlass_core::write::{Subresource, Target, WriteError};

/// What a write asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation<'a> {
    /// POST.
    Create(&'a Object),
    /// PUT.
    Replace(&'a Object),
    /// Server-side apply.
    Apply(&'a Object, Force),
    /// JSON patch.
    JsonPatch(&'a [Value]),
    /// Merge patch.
    MergePatch(&'a Value),
    /// PUT of the scale subresource.
    Scale(i64),
    /// DELETE, with preconditions that are empty for any.
    Delete {
        uid: &'a str,
        resource_version: &'a str,
        propagation: Propagation,
    },
}

/// Whether an apply takes over what others own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Force {
    /// It conflicts.
    No,
    /// It does.
    Yes,
}

/// One write.
#[derive(Clone, Debug)]
pub(super) struct Attempt<'a> {
    pub(super) author: Author,
    pub(super) target: &'a Target,
    pub(super) subresource: Subresource,
    pub(super) manager: &'a str,
    pub(super) operation: Operation<'a>,
}

impl Attempt<'_> {
    pub(super) fn verb(&self) -> Verb {
        match self.operation {
            Operation::Create(_) => Verb::Create,
            Operation::Replace(_) | Operation::Scale(_) => Verb::Update,
            Operation::Apply(..) => Verb::Apply,
            Operation::JsonPatch(_) | Operation::MergePatch(_) => Verb::Patch,
            Operation::Delete { .. } => Verb::Delete,
        }
    }

    pub(super) fn record(&self, before: Option<Object>, after: Option<Object>, error: Option<WriteError>) -> Recorded {
        Recorded {
            author: self.author.clone(),
            verb: self.verb(),
            target: self.target.clone(),
            subresource: self.subresource,
            manager: self.manager.into(),
            before,
            after,
            error,
        }
    }

    pub(super) fn part(&self, kind: &Kind) -> Part {
        match (self.operation, self.subresource) {
            (Operation::Scale(_), _) => Part::Scale,
            (_, Subresource::Status) => Part::Status,
            _ if kind.served.status_subresource => Part::Main,
            _ => Part::Whole,
        }
    }
}

/// What one write needs to know at every step.
pub(super) struct Step<'a> {
    /// The kind of the target.
    pub(super) kind: &'a Kind,
    /// Where the target is.
    pub(super) place: &'a Place,
    /// Who writes.
    pub(super) writer: Writer<'a>,
}
