//! Checks what a guest asks before it is answered.

use super::{Finding, Findings, Rule, shown};
use crate::decision::Query;
use crate::manifest::{Manifest, ReadKind};
use crate::object::Object;
use crate::path;
use crate::project;
use crate::selector::Selector;
use std::collections::BTreeSet;

/// Queries of one decision. Stops a guest that makes the host search its store, and wait for changes, without end.
pub const MAX_QUERIES: usize = 64;
/// Bytes of all queries of one decision, ids included. Stops names and values of megabytes that the host keeps, for each
/// primary, as long as it waits for their changes.
pub const MAX_QUERY_BYTES: usize = 256 * 1024;
/// Objects that one query may ask for. Stops answers that fill the guest's and the host's memory.
pub const MAX_QUERY_LIMIT: u32 = 10_000;
/// Field equalities of one query. Stops a query that is expensive to hold against every object of its kind.
pub const MAX_QUERY_FIELDS: usize = 16;
/// Bytes of one query's label selector. Stops a list of values that fills the index of who waits for what.
pub const MAX_QUERY_SELECTOR: usize = 4096;

/// Checks all queries that a guest asks at once, after those that it `asked` before in the same decision; none may be
/// answered unless the list is empty.
pub fn check_queries(manifest: &Manifest, primary: &Object, asked: &[Query], queries: &[Query]) -> Vec<Finding> {
    let mut findings = Findings::default();
    // Who asks the same again in a later round wants nothing more.
    let new = || queries.iter().filter(|query| !asked.contains(query));
    let count = asked.len() + new().take(MAX_QUERIES + 1).count();
    if queries.len() > MAX_QUERIES || count > MAX_QUERIES {
        let count = count.max(queries.len());
        findings.add(Rule::QueriesCount, || {
            format!("There are {count} queries; at most {MAX_QUERIES} are allowed in one decision.")
        });
    }
    let length: usize = asked.iter().chain(new().take(MAX_QUERIES)).map(bytes).sum();
    if length > MAX_QUERY_BYTES {
        findings.add(Rule::QueriesSize, || {
            format!("The queries have {length} bytes; at most {MAX_QUERY_BYTES} are allowed in one decision.")
        });
    }
    let mut ids = BTreeSet::new();
    for query in queries.iter().take(MAX_QUERIES) {
        let who = format!("The query '{}'", shown(&query.id));
        if !ids.insert(query.id.as_str()) {
            findings.add(Rule::QueryId, || {
                format!("{who} is there twice; every query needs an id of its own.")
            });
        }
        if query.limit == 0 || query.limit > MAX_QUERY_LIMIT {
            let limit = query.limit;
            findings.add(Rule::QueryLimit, || {
                format!("{who} has the limit {limit}; it must be 1 to {MAX_QUERY_LIMIT}.")
            });
        }
        terms(&who, query, &mut findings);
        match manifest
            .read(&query.of)
            .filter(|read| read.kind.of.version == query.of.version)
        {
            Some(read) => {
                namespace(&who, manifest, primary, read, query, &mut findings);
                fields(&who, read, query, &mut findings);
            }
            None => findings.add(Rule::QueryKind, || {
                let of = query.of.to_string();
                format!(
                    "{who} asks about {}, which the guest's manifest does not declare under reads.",
                    shown(&of)
                )
            }),
        }
    }
    findings.list
}

/// Bytes of all texts of a query.
fn bytes(query: &Query) -> usize {
    let selection = &query.selection;
    let kind = [&query.of.group, &query.of.version, &query.of.kind];
    let given = [&query.namespace, &selection.name].into_iter().flatten();
    let fields = selection.fields.iter().flat_map(|field| [&field.path, &field.value]);
    let texts = kind
        .into_iter()
        .chain(given)
        .chain(fields)
        .chain([&query.id, &selection.labels]);
    texts.map(String::len).sum()
}

/// What is asked for can be looked up.
fn terms(who: &str, query: &Query, findings: &mut Findings) {
    let selection = &query.selection;
    if selection.labels.len() > MAX_QUERY_SELECTOR {
        let length = selection.labels.len();
        return findings.add(Rule::QueryTerm, || {
            format!("{who} has a label selector of {length} bytes; at most {MAX_QUERY_SELECTOR} are allowed.")
        });
    }
    let selector = match Selector::parse(&selection.labels) {
        Ok(selector) => selector,
        Err(error) => {
            let error = error.to_string();
            return findings.add(Rule::QueryTerm, || format!("{who} cannot be read: {error}."));
        }
    };
    if selection.name.as_deref() == Some("") {
        findings.add(Rule::QueryTerm, || {
            format!("{who} asks for an empty name; leave the name out instead.")
        });
    }
    let is_bounded =
        selection.name.is_some() || !selection.fields.is_empty() || selector.positive_sets().next().is_some();
    if !is_bounded {
        findings.add(Rule::QueryTerm, || {
            format!("{who} has neither a name, nor a label that must have a value (app=web), nor a field.")
        });
    }
}

/// Nothing is asked about other namespaces than declared, and nothing that is never there.
fn namespace(
    who: &str,
    manifest: &Manifest,
    primary: &Object,
    read: &ReadKind,
    query: &Query,
    findings: &mut Findings,
) {
    let kind = &read.kind.of.kind;
    let given = query.namespace.as_deref();
    if !read.kind.namespaced {
        if given.is_some() {
            findings.add(Rule::QueryNamespace, || {
                format!("{who} names a namespace, but a {kind} is in none.")
            });
        }
        return;
    }
    if given == Some("") {
        return findings.add(Rule::QueryNamespace, || {
            format!("{who} names the empty namespace; leave the namespace out to ask about all.")
        });
    }
    if read.all_namespaces {
        return;
    }
    let home = primary.namespace().filter(|_| manifest.primary.kind.namespaced);
    if given.is_none() || given != home {
        findings.add(Rule::QueryNamespace, || match home {
            Some(home) => format!(
                "{who} asks about a {kind} outside the primary's namespace '{home}'; that needs all-namespaces \
                 in the guest's manifest."
            ),
            None => format!(
                "{who} asks about a {kind} for a primary without namespace; that needs all-namespaces in the guest's \
                 manifest."
            ),
        });
    }
}

/// Fields are such that the store still has them.
fn fields(who: &str, read: &ReadKind, query: &Query, findings: &mut Findings) {
    let fields = &query.selection.fields;
    if fields.len() > MAX_QUERY_FIELDS {
        return findings.add(Rule::QueryTerm, || {
            format!(
                "{who} has {} fields; at most {MAX_QUERY_FIELDS} are allowed.",
                fields.len()
            )
        });
    }
    for field in fields {
        if path::validate(&field.path).is_err() {
            findings.add(Rule::QueryTerm, || {
                let path = shown(&field.path);
                format!("{who} has the field path '{path}'; write it like .spec.nodeName or .spec.tls[*].secretName.")
            });
        } else if !project::covers(&read.projection, &field.path) {
            findings.add(Rule::QueryTerm, || {
                let (path, kind) = (shown(&field.path), &read.kind.of.kind);
                format!("{who} has the field {path}, which is not within the declared projection of {kind}.")
            });
        }
    }
}
