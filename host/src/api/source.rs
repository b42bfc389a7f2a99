//! Says where a module's bytes come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a module's bytes come from; exactly one of its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.configMap) != has(self.oci)",
    "message": "give exactly one source: configMap or oci"
}]))]
pub struct ModuleSource {
    /// One or several ConfigMaps of the Reconciler's namespace. `windlass push` writes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapSource>,
    /// Reserved: this version of the host refuses it, with the reason SourceNotSupported in `status.refused`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oci: Option<OciSource>,
}

/// A module in ConfigMaps: in one that is named, or in the parts that are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "has(self.name) != has(self.parts)", "message": "give either name or parts"},
    {"rule": "!has(self.key) || has(self.name)", "message": "key goes with name; each of parts has a key of its own"},
    {"rule": "has(self.parts) == has(self.digest)",
     "message": "parts need the digest of the whole module, which tells whether they fit; a single ConfigMap is pinned by spec.digest"}
]))]
pub struct ConfigMapSource {
    /// Name of the ConfigMap. It holds the module under one key of `binaryData`, or under several that end in `.wasm.0`,
    /// `.wasm.1` and so on, or names its parts in other ConfigMaps under the key `index.yaml` of `data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,
    /// Key in `binaryData`. Unset: the only one that ends in `.wasm`, `.wasm.gz` or `.wasm.zst`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub key: Option<String>,
    /// The parts of a module that is larger than one ConfigMap, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 32))]
    pub parts: Vec<Part>,
    /// sha256 of the unpacked module in hex. While the parts together are something else, such as a mixture of an old and
    /// a new version, the reason is Incomplete and what runs goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub digest: Option<String>,
}

/// One part of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// Name of the ConfigMap, in the Reconciler's namespace.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Key in `binaryData`. Unset: the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub key: Option<String>,
}

/// A module in an OCI registry. Reserved: no host takes modules from there yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OciSource {
    /// Registry, repository and tag or digest.
    #[schemars(length(min = 1, max = 1024))]
    pub image: String,
}

/// Key in `data` of a ConfigMap that names the parts of a module instead of holding it.
pub const INDEX_KEY: &str = "index.yaml";

/// Most parts that a module may have: 16 MiB in ConfigMaps of 1 MiB, and some room.
///
/// Stops: keeping the host busy with fetching.
pub const MAX_PARTS: usize = 32;

/// What is under [`INDEX_KEY`], as YAML.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Index {
    /// sha256 of the unpacked module in hex.
    pub digest: String,
    /// Its parts in their order, in ConfigMaps of the same namespace.
    pub parts: Vec<Part>,
}

impl ConfigMapSource {
    /// Names of the ConfigMaps that the spec itself names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.name
            .iter()
            .map(String::as_str)
            .chain(self.parts.iter().map(|part| part.name.as_str()))
    }
}
