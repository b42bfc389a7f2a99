//! Derives from a manifest, and from nothing else, the rights that a guest's ServiceAccount needs.

use serde::{Deserialize, Serialize};

/// One thing that an account may or may not do, as an access review asks it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Access {
    /// API verb, such as `list`.
    pub verb: String,
    /// API group, empty for the core group.
    pub group: String,
    /// Resource in the plural, with `/status` for the subresource.
    pub resource: String,
    /// Namespace; none for all namespaces or a cluster-scoped kind.
    pub namespace: Option<String>,
}
