//! Describes Kubernetes objects as small types, for guests that need no more.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// An object of a kind of your own: metadata, a spec, and a status if you read one.
///
/// ```
/// #[derive(serde::Deserialize)]
/// struct CronSpec { schedule: String }
/// type Cron = windlass_sdk::Object<CronSpec>;
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Object<Spec, Status = serde::de::IgnoredAny> {
    /// Name, namespace, labels.
    pub metadata: Metadata,
    /// What its author wants.
    pub spec: Spec,
    /// What was last reported. With the default type it is skipped.
    #[serde(default = "none", skip_serializing)]
    pub status: Option<Status>,
}

fn none<T>() -> Option<T> {
    None
}

/// The part of an object's metadata that guests use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Unique within kind and namespace.
    pub name: String,
    /// Empty for a cluster-scoped kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Unique for ever.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Labels, ordered by key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations, ordered by key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Set once the object is being deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<String>,
}

/// An object of which only the metadata is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartialObject {
    /// `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// Name, namespace, labels.
    pub metadata: Metadata,
}
