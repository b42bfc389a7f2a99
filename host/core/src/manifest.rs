//! Holds what a guest says about itself: the kinds it watches, writes and reads.

use crate::kind::{KindInfo, KindRef};
use serde::{Deserialize, Serialize};

/// How much of each object of a kind crosses into the guest and stays in the host's cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Projection {
    /// `apiVersion`, `kind` and `metadata`.
    Metadata,
    /// Metadata and these paths, written as in a CRD printer column (`.spec.nodeName`).
    Fields(Vec<String>),
    /// The whole object.
    Full,
}

/// The kind whose objects wake the guest, one decision per object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Primary {
    /// The kind.
    pub kind: KindInfo,
    /// How much of each object the guest gets.
    pub projection: Projection,
    /// Label selector in kubectl's syntax; empty selects all.
    pub selector: String,
}

/// A kind the guest may create, change and delete, and only as children of its primaries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildKind {
    /// The kind.
    pub kind: KindInfo,
    /// How much of each object the guest gets.
    pub projection: Projection,
    /// The guest works without it where the cluster does not serve it.
    pub optional: bool,
}

/// A kind the guest may ask about. It can never write it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadKind {
    /// The kind.
    pub kind: KindInfo,
    /// How much of each object the guest gets.
    pub projection: Projection,
    /// Label selector pushed down to the watch: only these objects can be asked for.
    pub selector: String,
    /// False: only objects in the primary's own namespace can be asked for.
    pub all_namespaces: bool,
    /// The guest works without it where the cluster does not serve it.
    pub optional: bool,
}

/// What a guest declares, once per activation; watches, rights and checks are derived from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Name of the guest.
    pub name: String,
    /// Version of the guest.
    pub version: String,
    /// The kind that wakes it.
    pub primary: Primary,
    /// Kinds it may write.
    pub children: Vec<ChildKind>,
    /// Kinds it may ask about.
    pub reads: Vec<ReadKind>,
    /// Whether status fields and conditions of primaries are written at all.
    pub writes_status: bool,
    /// Paths of the primary outside status that the guest may own.
    pub writes_primary: Vec<String>,
    /// Whether `finalize` must run before a primary may go.
    pub finalizes: bool,
    /// Whether decisions depend on the clock.
    pub needs_clock: bool,
    /// Whether decisions need the secret seed.
    pub needs_seed: bool,
}

impl Manifest {
    /// The declared child kind of the same group and kind.
    pub fn child(&self, of: &KindRef) -> Option<&ChildKind> {
        self.children.iter().find(|child| child.kind.of.same_group_kind(of))
    }

    /// The declared read kind of the same group and kind.
    pub fn read(&self, of: &KindRef) -> Option<&ReadKind> {
        self.reads.iter().find(|read| read.kind.of.same_group_kind(of))
    }
}
