//! Asks for everything that the cluster serves, with all its names.

use super::request;
use super::transport::Transport;
use crate::cluster::ReadError;
use serde::Deserialize;
use windlass_core::kind::{KindInfo, KindRef};

/// All groups with all versions and resources in one answer, since Kubernetes 1.30.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// A kind with everything that people call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The kind with its path, in the version that its group prefers.
    pub kind: KindInfo,
    /// The singular, such as `pod`.
    pub singular: String,
    /// Short names, such as `po`.
    pub short_names: Vec<String>,
}

#[derive(Deserialize)]
struct GroupList {
    #[serde(default)]
    items: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    metadata: GroupMeta,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Default, Deserialize)]
struct GroupMeta {
    /// Missing for the core group.
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Version {
    version: String,
    #[serde(default)]
    resources: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    resource: String,
    #[serde(default)]
    response_kind: Option<ResponseKind>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    singular_resource: String,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    verbs: Vec<String>,
}

#[derive(Deserialize)]
struct ResponseKind {
    kind: String,
}

/// Everything that can be listed and watched: the core group first, then the server's order.
pub(super) async fn resources(transport: &Transport) -> Result<Vec<Resource>, ReadError> {
    let mut resources = Vec::new();
    for path in ["/api", "/apis"] {
        let request = request::read(path, AGGREGATED).map_err(|error| ReadError::Unavailable(error.to_string()))?;
        let body = transport.send(request).await?;
        let groups: GroupList = serde_json::from_slice(&body)
            .map_err(|error| ReadError::Unavailable(format!("the answer to {path} cannot be read: {error}")))?;
        resources.extend(groups.items.iter().flat_map(of_group));
    }
    if resources.is_empty() {
        let words = "the server does not say what it serves; is it older than Kubernetes 1.30?";
        return Err(ReadError::Unavailable(words.into()));
    }
    Ok(resources)
}

/// The resources of a group, each once, in the first version that has it: versions come in order of preference.
fn of_group(group: &Group) -> Vec<Resource> {
    let mut resources: Vec<Resource> = Vec::new();
    for version in &group.versions {
        for entry in &version.resources {
            let usable = ["list", "watch"]
                .iter()
                .all(|verb| entry.verbs.iter().any(|other| other == verb));
            let known = resources.iter().any(|resource| resource.kind.plural == entry.resource);
            if let (true, false, Some(kind)) = (usable, known, &entry.response_kind) {
                resources.push(entry.resource(KindRef::new(&group.metadata.name, &version.version, &kind.kind)));
            }
        }
    }
    resources
}

impl Entry {
    fn resource(&self, of: KindRef) -> Resource {
        let kind = KindInfo {
            of,
            plural: self.resource.clone(),
            namespaced: self.scope == "Namespaced",
        };
        Resource {
            kind,
            singular: self.singular_resource.clone(),
            short_names: self.short_names.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_resource_should_come_once_in_the_preferred_version_and_only_if_it_can_be_watched() {
        let entry = |name: &str, kind: &str, verbs: &[&str]| {
            json!({"resource": name, "responseKind": {"group": "", "version": "", "kind": kind}, "scope": "Namespaced",
                "singularResource": kind.to_lowercase(), "shortNames": ["s"], "verbs": verbs})
        };
        let both = ["get", "list", "watch"];
        let group = serde_json::from_value(json!({"metadata": {"name": "g.io"}, "versions": [
            {"version": "v2", "resources": [entry("things", "Thing", &both), entry("reviews", "Review", &["create"])]},
            {"version": "v1", "resources": [entry("things", "Thing", &both), entry("olds", "Old", &both)]},
        ]}))
        .unwrap();
        let kinds: Vec<_> = of_group(&group).into_iter().map(|resource| resource.kind).collect();
        let things = KindInfo::namespaced("g.io", "v2", "Thing", "things");
        assert_eq!(kinds, [things, KindInfo::namespaced("g.io", "v1", "Old", "olds")]);
    }
}
