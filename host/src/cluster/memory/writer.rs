//! Says who writes to which part of an object, and so what that write can come to own.

use super::compare::{Comparison, compare};
use super::fields::FieldSet;
use serde_json::Value;
use windlass_core::shape::Shape;

/// The part of an object that a write may own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Everything.
    Whole,
    /// Everything but `status`, which has its own subresource.
    Main,
    /// `status` alone.
    Status,
    /// The scale subresource: `spec.replicas`.
    Scale,
}

impl Part {
    /// Name of the subresource in `managedFields`.
    pub(super) fn subresource(self) -> &'static str {
        match self {
            Self::Whole | Self::Main => "",
            Self::Status => "status",
            Self::Scale => "scale",
        }
    }
}

/// Who writes, to what, when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writer<'a> {
    /// Field manager.
    pub(super) manager: &'a str,
    /// `apiVersion` of the request.
    pub(super) api_version: &'a str,
    /// Part of the object.
    pub(super) part: Part,
    /// Time of the write as in `metadata`.
    pub(super) time: &'a str,
}

impl Writer<'_> {
    /// Takes out of a set what this write can never own.
    pub(super) fn owned(&self, mut set: FieldSet) -> FieldSet {
        for field in ["apiVersion", "kind"] {
            set.take_out(&[field]);
        }
        for field in SERVERS_OWN {
            set.take_out(&["metadata", field]);
        }
        if let Some(metadata) = set.children.get_mut("f:metadata") {
            metadata.member = false;
            if metadata.is_empty() {
                set.children.remove("f:metadata");
            }
        }
        match self.part {
            Part::Whole | Part::Scale => {}
            Part::Main => set.take_out(&["status"]),
            Part::Status => set.keep_only("status"),
        }
        set.member = false;
        set
    }

    pub(super) fn compare(&self, before: &Value, after: &Value, shape: Shape<'_>) -> Comparison {
        let all = compare(Some(before), Some(after), shape);
        Comparison {
            added: self.owned(all.added),
            modified: self.owned(all.modified),
            removed: self.owned(all.removed),
        }
    }
}

/// Metadata that nobody owns.
const SERVERS_OWN: &[&str] = &[
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "generation",
    "managedFields",
    "resourceVersion",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];
