//! Tells whether an object is one that a query asks about.

use crate::decision::{FieldMatch, Query};
use crate::object::Object;
use crate::path;
use crate::selector::Selector;

/// Whether a query asks about an object of its kind; the kind itself is not looked at.
///
/// For many objects make one [`Matcher`].
pub fn matches(query: &Query, object: &Object) -> bool {
    Matcher::new(query).matches(object)
}

/// A query, read once to be held against many objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matcher {
    /// None: all namespaces.
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    /// None where it cannot be parsed: then nothing matches, and the query is refused before it is ever answered.
    pub(super) labels: Option<Selector>,
    pub(super) fields: Vec<FieldMatch>,
}

impl Matcher {
    /// Reads a query. One with a bad selector matches nothing; `check_queries` refuses it.
    pub fn new(query: &Query) -> Self {
        Self {
            namespace: query.namespace.clone(),
            name: query.selection.name.clone(),
            labels: Selector::parse(&query.selection.labels).ok(),
            fields: query.selection.fields.clone(),
        }
    }

    /// Whether the query asks about this object of its kind.
    pub fn matches(&self, object: &Object) -> bool {
        let is =
            |wanted: &Option<String>, there: Option<&str>| wanted.as_deref().is_none_or(|wanted| there == Some(wanted));
        is(&self.name, Some(object.name()))
            && is(&self.namespace, object.namespace())
            && self.labels.as_ref().is_some_and(|labels| labels.matches(object))
            && self
                .fields
                .iter()
                .all(|field| path::holds(object, &field.path, &field.value))
    }
}
