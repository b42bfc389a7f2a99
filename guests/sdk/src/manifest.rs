//! Says what a guest is about: its kinds, how much of them it sees, and what it needs.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// Names a Kubernetes kind. `group` is empty for the core group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KindRef {
    /// `apps`, or empty for the core group.
    pub group: Cow<'static, str>,
    /// `v1`.
    pub version: Cow<'static, str>,
    /// `Deployment`.
    pub kind: Cow<'static, str>,
}

impl KindRef {
    /// The value of an object's `apiVersion` field: `apps/v1`, or `v1` in the core group.
    pub fn api_version(&self) -> String {
        match self.group.as_ref() {
            "" => self.version.to_string(),
            group => format!("{group}/{}", self.version),
        }
    }
}

/// A kind with what access rules and request paths need, so that they can be derived without a cluster.
///
/// ```
/// use windlass_sdk::Kind;
/// const DEPLOYMENTS: Kind = Kind::namespaced("apps", "v1", "Deployment", "deployments");
/// assert_eq!(DEPLOYMENTS.of.api_version(), "apps/v1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kind {
    /// Group, version and kind.
    pub of: KindRef,
    /// `deployments`: what request paths and access rules say.
    pub plural: Cow<'static, str>,
    /// Whether its objects live in namespaces.
    pub scope: Scope,
}

/// Where objects of a kind live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// In a namespace each.
    Namespaced,
    /// Beside all namespaces.
    Cluster,
}

impl Kind {
    /// A kind whose objects live in namespaces.
    pub const fn namespaced(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Kind::new(group, version, kind, plural, Scope::Namespaced)
    }

    /// A kind whose objects live beside all namespaces.
    pub const fn cluster_scoped(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Kind::new(group, version, kind, plural, Scope::Cluster)
    }

    const fn new(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
        scope: Scope,
    ) -> Self {
        Kind {
            of: KindRef {
                group: Cow::Borrowed(group),
                version: Cow::Borrowed(version),
                kind: Cow::Borrowed(kind),
            },
            plural: Cow::Borrowed(plural),
            scope,
        }
    }
}

/// How much of each object of a kind the guest sees, and the host keeps in memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Projection {
    /// `apiVersion`, `kind` and `metadata`: the cheapest, take it where it is enough.
    Metadata,
    /// Metadata and these paths, written as `.spec.nodeName` or `.spec.tls[*].secretName`.
    Fields(Vec<String>),
    /// All of it.
    Full,
}

/// Whether the guest can do without a kind where the cluster does not serve it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Need {
    /// The host calls the guest only once the kind is served.
    Required,
    /// The guest is called without it; see [`Context::not_served`](crate::Context::not_served).
    Optional,
}

/// A kind the guest may create, change and delete as children of its primaries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChildKind {
    /// The kind.
    pub kind: Kind,
    /// How much of its children the guest gets back.
    pub projection: Projection,
    /// Whether it is needed.
    pub need: Need,
}

/// A kind the guest may ask about, and can never write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Read {
    pub(crate) kind: Kind,
    pub(crate) projection: Projection,
    pub(crate) selector: String,
    pub(crate) reach: Reach,
    pub(crate) need: Need,
}

/// Whose objects can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Reach {
    OwnNamespace,
    AllNamespaces,
}

impl Read {
    /// Objects of `kind` in the primary's own namespace, seen as far as `projection` says.
    pub const fn new(kind: Kind, projection: Projection) -> Self {
        Read {
            kind,
            projection,
            selector: String::new(),
            reach: Reach::OwnNamespace,
            need: Need::Required,
        }
    }

    /// Objects in any namespace can be asked for. Needs rights in the whole cluster.
    pub fn all_namespaces(mut self) -> Self {
        self.reach = Reach::AllNamespaces;
        self
    }

    /// Only objects that this label selector (kubectl's syntax) selects are watched and can be asked for.
    pub fn selector(mut self, selector: impl Into<String>) -> Self {
        self.selector = selector.into();
        self
    }

    /// The guest works without this kind where it is not served.
    pub fn optional(mut self) -> Self {
        self.need = Need::Optional;
        self
    }
}

/// What a guest says about itself. Watches, access rules and the checks on its answers follow from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) primary: Kind,
    pub(crate) projection: Projection,
    pub(crate) selector: String,
    pub(crate) children: Vec<ChildKind>,
    pub(crate) reads: Vec<Read>,
    pub(crate) writes_status: bool,
    pub(crate) writes_primary: Vec<String>,
    pub(crate) finalizes: bool,
    pub(crate) needs_clock: bool,
    pub(crate) needs_seed: bool,
}

impl Manifest {
    /// A guest called `name` that is woken by objects of the kind `primary`, sees all of them, has no
    /// children, reads nothing and writes no status. The other functions add to that.
    pub fn new(name: impl Into<String>, version: impl Into<String>, primary: Kind) -> Self {
        Manifest {
            name: name.into(),
            version: version.into(),
            primary,
            projection: Projection::Full,
            selector: String::new(),
            children: Vec::new(),
            reads: Vec::new(),
            writes_status: false,
            writes_primary: Vec::new(),
            finalizes: false,
            needs_clock: false,
            needs_seed: false,
        }
    }

    /// Sees only this much of each primary.
    pub fn primary_projection(mut self, projection: Projection) -> Self {
        self.projection = projection;
        self
    }

    /// Only primaries that this label selector (kubectl's syntax) selects.
    pub fn primary_selector(mut self, selector: impl Into<String>) -> Self {
        self.selector = selector.into();
        self
    }

    /// May have children of this kind. `projection` says how much of them [`Context::children`] shows.
    ///
    /// [`Context::children`]: crate::Context::children
    pub fn child(mut self, kind: Kind, projection: Projection) -> Self {
        self.children.push(ChildKind {
            kind,
            projection,
            need: Need::Required,
        });
        self
    }

    /// As [`child`](Manifest::child), and works without it where the kind is not served.
    pub fn optional_child(mut self, kind: Kind, projection: Projection) -> Self {
        self.children.push(ChildKind {
            kind,
            projection,
            need: Need::Optional,
        });
        self
    }

    /// May ask about this kind.
    pub fn read(mut self, read: Read) -> Self {
        self.reads.push(read);
        self
    }

    /// The primary's status may be written: what the guest gives, and the host's own conditions where
    /// the schema has room for them. Without it the host writes nothing there.
    pub fn writes_status(mut self) -> Self {
        self.writes_status = true;
        self
    }

    /// May own these paths of the primary outside status, such as `.spec.suspend`. The projection has to show them.
    pub fn writes_primary<T: Into<String>>(mut self, paths: impl IntoIterator<Item = T>) -> Self {
        self.writes_primary = paths.into_iter().map(Into::into).collect();
        self
    }

    /// [`Reconciler::finalize`](crate::Reconciler::finalize) must run before a primary may go.
    pub fn finalizes(mut self) -> Self {
        self.finalizes = true;
        self
    }

    /// Decisions depend on the time; without it [`Context::now`](crate::Context::now) stands at 0.
    pub fn needs_clock(mut self) -> Self {
        self.needs_clock = true;
        self
    }

    /// Makes secrets from [`Context::seed`](crate::Context::seed).
    pub fn needs_seed(mut self) -> Self {
        self.needs_seed = true;
        self
    }
}
