//! Asks the host about other objects, and tells the possible answers apart.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::json::decode;
use crate::manifest::{Kind, KindRef};
use crate::stop::Stop;

/// A question about objects of one kind: by name, by labels, by a field, or by several of these at once.
///
/// ```
/// use windlass_sdk::{Kind, Query};
/// const PODS: Kind = Kind::namespaced("", "v1", "Pod", "pods");
/// let query = Query::name(&PODS, "funny-joe").limit(1);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Query {
    pub(crate) of: KindRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) labels: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) fields: Vec<FieldMatch>,
    pub(crate) limit: u32,
}

/// Equality of one scalar field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldMatch {
    pub(crate) path: String,
    pub(crate) value: String,
}

impl Query {
    /// More objects than most guests should look at; [`Answer::Truncated`] says when there are more.
    const DEFAULT_LIMIT: u32 = 500;

    /// Objects of this name, in any namespace unless [`namespace`](Query::namespace) says which.
    pub fn name(kind: &Kind, name: impl Into<String>) -> Self {
        Query {
            name: Some(name.into()),
            ..Query::any(kind)
        }
    }

    /// Objects that this label selector (kubectl's syntax) selects. It needs one positive term.
    pub fn labels(kind: &Kind, selector: impl Into<String>) -> Self {
        Query {
            labels: selector.into(),
            ..Query::any(kind)
        }
    }

    /// Objects whose field at `path` (`.spec.nodeName`) is `value`. `[*]` in the path holds if any element does.
    pub fn field(kind: &Kind, path: impl Into<String>, value: impl Into<String>) -> Self {
        Query::any(kind).and_field(path, value)
    }

    /// And whose field at `path` is `value`.
    pub fn and_field(mut self, path: impl Into<String>, value: impl Into<String>) -> Self {
        self.fields.push(FieldMatch {
            path: path.into(),
            value: value.into(),
        });
        self
    }

    /// And that this label selector selects.
    pub fn and_labels(mut self, selector: impl Into<String>) -> Self {
        self.labels = selector.into();
        self
    }

    /// Only in this namespace. Where the manifest's read is not for all namespaces it must be the primary's.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// At most this many objects; 500 if not said.
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = limit;
        self
    }

    fn any(kind: &Kind) -> Self {
        Query {
            of: kind.of.clone(),
            namespace: None,
            name: None,
            labels: String::new(),
            fields: Vec::new(),
            limit: Query::DEFAULT_LIMIT,
        }
    }

    /// The identifier under which the answer comes back. Equal questions have equal ones, so nobody
    /// has to make them up.
    pub(crate) fn id(&self) -> String {
        let mut id = format!("{}/{}", self.of.api_version(), self.of.kind);
        let parts = [
            ("namespace", self.namespace.as_deref()),
            ("name", self.name.as_deref()),
            ("labels", Some(self.labels.as_str()).filter(|labels| !labels.is_empty())),
        ];
        for (key, value) in parts.into_iter().filter_map(|(key, value)| Some((key, value?))) {
            id.push_str(&format!(" {key}={value:?}"));
        }
        for field in &self.fields {
            id.push_str(&format!(" {:?}={:?}", field.path, field.value));
        }
        id.push_str(&format!(" limit={}", self.limit));
        id
    }
}

/// What the host knows. Not knowing is never the same as there being nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// All there is, possibly nothing, ordered by namespace and name; one JSON text per object.
    Found(Vec<String>),
    /// The first [`limit`](Query::limit) of more.
    Truncated(Vec<String>),
    /// The cluster does not serve this kind now.
    NotServed,
    /// The guest's identity may not read it; the text says which rule is missing.
    Forbidden(String),
}

impl Answer {
    /// Whether there is any such object.
    ///
    /// # Errors
    /// Waits where that cannot be known: the kind is not served, or may not be read.
    pub fn exists(&self) -> Result<bool, Stop> {
        match self {
            Answer::Found(objects) | Answer::Truncated(objects) => Ok(!objects.is_empty()),
            unknown => Err(unknown.waiting()),
        }
    }

    /// All such objects, decoded.
    ///
    /// # Errors
    /// Waits where they are not all known: the kind is not served or may not be read, there are more than
    /// the limit, or one of them does not have the shape of `T`.
    pub fn all<T: DeserializeOwned>(&self) -> Result<Vec<T>, Stop> {
        match self {
            Answer::Found(objects) => objects
                .iter()
                .map(|text| {
                    decode(text)
                        .map_err(|reason| Stop::waiting(format!("an object it read is not as expected: {reason}")))
                })
                .collect(),
            unknown => Err(unknown.waiting()),
        }
    }

    fn waiting(&self) -> Stop {
        match self {
            Answer::Found(objects) => Stop::waiting(format!("found {} objects", objects.len())),
            Answer::Truncated(objects) => Stop::waiting(format!("there are more than {} objects", objects.len())),
            Answer::NotServed => Stop::waiting("the cluster does not serve a kind that it reads"),
            Answer::Forbidden(rule) => Stop::waiting(rule.as_str()),
        }
    }
}
