//! Names kinds and objects the way the API server does.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A Kubernetes kind. `group` is empty for the core group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KindRef {
    /// API group, empty for the core group.
    pub group: String,
    /// API version without the group, such as `v1`.
    pub version: String,
    /// CamelCase kind, such as `Deployment`.
    pub kind: String,
}

impl KindRef {
    /// Makes a reference from its three parts.
    pub fn new(group: &str, version: &str, kind: &str) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        }
    }

    /// Reads an object's `apiVersion` (`v1`, `apps/v1`) and `kind`.
    pub fn from_api_version(api_version: &str, kind: &str) -> Self {
        match api_version.split_once('/') {
            Some((group, version)) => Self::new(group, version, kind),
            None => Self::new("", api_version, kind),
        }
    }

    /// The value of an object's `apiVersion` field.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Whether both name the same group and kind; objects are served under several versions.
    pub fn same_group_kind(&self, other: &Self) -> bool {
        self.group == other.group && self.kind == other.kind
    }
}

impl fmt::Display for KindRef {
    /// `Deployment.apps/v1`, or `Pod.v1` in the core group.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            write!(formatter, "{}.{}", self.kind, self.version)
        } else {
            write!(formatter, "{}.{}/{}", self.kind, self.group, self.version)
        }
    }
}

/// A kind with what request paths and RBAC rules need.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KindInfo {
    /// The kind itself.
    pub of: KindRef,
    /// Resource name in request paths, such as `deployments`.
    pub plural: String,
    /// Whether objects of it live in a namespace.
    pub namespaced: bool,
}

impl KindInfo {
    /// Makes the description of a namespaced kind.
    pub fn namespaced(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        Self {
            of: KindRef::new(group, version, kind),
            plural: plural.into(),
            namespaced: true,
        }
    }

    /// Makes the description of a cluster-scoped kind.
    pub fn cluster_scoped(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        Self {
            of: KindRef::new(group, version, kind),
            plural: plural.into(),
            namespaced: false,
        }
    }
}

impl fmt::Display for KindInfo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.of.fmt(formatter)
    }
}

/// Names one object. `namespace` is none for a cluster-scoped kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// The object's kind.
    pub of: KindRef,
    /// Its namespace, none for a cluster-scoped kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl fmt::Display for ObjectRef {
    /// `Deployment team-a/web`, as people write it in messages.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(formatter, "{} {namespace}/{}", self.of.kind, self.name),
            None => write!(formatter, "{} {}", self.of.kind, self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_version_is_read_and_written_the_same() {
        for (api_version, group, version) in [("v1", "", "v1"), ("apps/v1", "apps", "v1"), ("", "", "")] {
            let kind = KindRef::from_api_version(api_version, "Thing");
            assert_eq!((kind.group.as_str(), kind.version.as_str()), (group, version));
            assert_eq!(kind.api_version(), api_version);
        }
    }

    #[test]
    fn another_version_is_the_same_kind() {
        let kind = KindRef::new("apps", "v1", "Deployment");
        assert!(kind.same_group_kind(&KindRef::new("apps", "v2", "Deployment")));
        assert!(!kind.same_group_kind(&KindRef::new("", "v1", "Deployment")));
    }

    #[test]
    fn objects_are_named_as_people_write_them() {
        let of = KindRef::new("apps", "v1", "Deployment");
        assert_eq!(of.to_string(), "Deployment.apps/v1");
        let reference = ObjectRef {
            of,
            namespace: Some("team-a".into()),
            name: "web".into(),
        };
        assert_eq!(reference.to_string(), "Deployment team-a/web");
    }
}
