//! Checks what a guest says about itself, before any watch is opened for it.

use super::bindings::manifest as wit;
use super::convert;
use super::refusal::{Refusal, Step};
use super::text::one_line;
use std::collections::BTreeSet;
use windlass_core::kind::KindInfo;
use windlass_core::manifest::{Manifest, Projection};
use windlass_core::names::GROUP;
use windlass_core::project::{self, validate_path};
use windlass_core::selector::Selector;

/// Kinds that a guest may declare in each list.
///
/// Stops: opening watches and computing rights without end.
const MAX_KINDS: usize = 64;
/// Paths of one projection.
///
/// Stops: making every stored object expensive.
const MAX_PATHS: usize = 128;
/// Characters of a name, selector or path.
const MAX_TEXT: usize = 512;

/// The manifest in values of the core, or why it cannot be used.
pub(super) fn checked(described: Result<wit::Manifest, String>) -> Result<Manifest, Refusal> {
    let manifest = described.map_err(|sentence| {
        let sentence = one_line(&sentence, MAX_TEXT);
        Refusal::new(
            Step::Describe,
            "SettingsRefused",
            format!("The guest refuses its settings: {sentence}"),
        )
    })?;
    let manifest = convert::manifest(manifest);
    match finding(&manifest) {
        None => Ok(manifest),
        Some(finding) => Err(Refusal::new(
            Step::Describe,
            "ManifestInvalid",
            format!(
                "What the guest says about itself cannot be used: {finding}. This is a fault in the guest's `describe`."
            ),
        )),
    }
}

/// The first thing that is wrong.
fn finding(manifest: &Manifest) -> Option<String> {
    let children: Vec<_> = manifest.children.iter().map(|child| &child.kind).collect();
    let reads: Vec<_> = manifest.reads.iter().map(|read| &read.kind).collect();
    name("name", &manifest.name)
        .or_else(|| name("version", &manifest.version))
        .or_else(|| kind("primary", &manifest.primary.kind))
        .or_else(|| own_group(&manifest.primary.kind))
        .or_else(|| kinds("children", &children))
        .or_else(|| kinds("reads", &reads))
        .or_else(|| selector("primary", &manifest.primary.selector))
        .or_else(|| {
            manifest
                .reads
                .iter()
                .find_map(|read| selector(&read.kind.to_string(), &read.selector))
        })
        .or_else(|| projections(manifest).find_map(|(of, projection)| paths(of, projection)))
        .or_else(|| path_list("writes-primary", &manifest.writes_primary))
        .or_else(|| unseen(manifest))
}

/// Whether a field of the primary is as wanted can be told only where it is seen.
fn unseen(manifest: &Manifest) -> Option<String> {
    let projection = &manifest.primary.projection;
    let mut paths = manifest.writes_primary.iter();
    let path = paths.find(|path| !project::covers(projection, path))?;
    Some(format!(
        "`writes-primary` names {path}, which the projection of the primary does not show"
    ))
}

fn projections(manifest: &Manifest) -> impl Iterator<Item = (&KindInfo, &Projection)> {
    let primary = std::iter::once((&manifest.primary.kind, &manifest.primary.projection));
    let children = manifest.children.iter().map(|child| (&child.kind, &child.projection));
    let reads = manifest.reads.iter().map(|read| (&read.kind, &read.projection));
    primary.chain(children).chain(reads)
}

/// Name and version end up in messages, Events and metrics.
fn name(field: &str, value: &str) -> Option<String> {
    let fits = !value.is_empty()
        && value.len() <= 63
        && value
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "-_.+".contains(character));
    (!fits).then(|| format!("`{field}` has to be 1 to 63 letters, digits, `-`, `_`, `.` or `+`"))
}

fn kinds(field: &str, kinds: &[&KindInfo]) -> Option<String> {
    if kinds.len() > MAX_KINDS {
        return Some(format!(
            "`{field}` names {} kinds; {MAX_KINDS} is the most",
            kinds.len()
        ));
    }
    let mut seen = BTreeSet::new();
    kinds.iter().find_map(|info| {
        kind(field, info).or_else(|| {
            let first = seen.insert((&info.of.group, &info.of.kind));
            (!first).then(|| format!("`{field}` names {} twice", info.of))
        })
    })
}

/// What becomes part of request paths has to be what the API server can serve, and nothing else.
fn kind(field: &str, info: &KindInfo) -> Option<String> {
    let part = if !info.of.group.is_empty() && !is_dns(&info.of.group, true) {
        "group"
    } else if !is_dns(&info.of.version, false) {
        "version"
    } else if !is_camel(&info.of.kind) {
        "kind"
    } else if !is_dns(&info.plural, false) {
        "plural"
    } else {
        return None;
    };
    let of = one_line(&info.of.to_string(), MAX_TEXT);
    Some(format!(
        "the {part} of `{of}` in `{field}` is not one that an API server can serve"
    ))
}

fn own_group(info: &KindInfo) -> Option<String> {
    let own = info.of.group == GROUP || info.of.group.ends_with(&format!(".{GROUP}"));
    own.then(|| format!("the group {GROUP} is the host's own, and no guest's primary"))
}

fn selector(field: &str, text: &str) -> Option<String> {
    if text.len() > MAX_TEXT {
        return Some(format!(
            "the selector of `{field}` is longer than {MAX_TEXT} characters"
        ));
    }
    Selector::parse(text)
        .err()
        .map(|why| format!("in `{field}`, {}", one_line(&why.to_string(), MAX_TEXT)))
}

fn paths(of: &KindInfo, projection: &Projection) -> Option<String> {
    match projection {
        Projection::Fields(list) => path_list(&of.to_string(), list),
        Projection::Metadata | Projection::Full => None,
    }
}

fn path_list(field: &str, list: &[String]) -> Option<String> {
    if list.len() > MAX_PATHS {
        return Some(format!("`{field}` has {} paths; {MAX_PATHS} is the most", list.len()));
    }
    list.iter().find_map(|path| {
        if path.len() > MAX_TEXT {
            return Some(format!("a path of `{field}` is longer than {MAX_TEXT} characters"));
        }
        validate_path(path)
            .err()
            .map(|why| format!("in `{field}`, {}", one_line(&why.to_string(), MAX_TEXT)))
    })
}

/// A DNS label, or with dots in it a DNS subdomain.
fn is_dns(text: &str, dots: bool) -> bool {
    let length = if dots { 253 } else { 63 };
    let label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    text.len() <= length && if dots { text.split('.').all(label) } else { label(text) }
}

fn is_camel(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_core::manifest::Primary;

    fn manifest(projection: Projection) -> Manifest {
        Manifest {
            name: "deco".into(),
            version: "1.0.0".into(),
            primary: Primary {
                kind: KindInfo::namespaced("apps", "v1", "Deployment", "deployments"),
                projection,
                selector: String::new(),
            },
            children: Vec::new(),
            reads: Vec::new(),
            writes_status: false,
            writes_primary: vec![".metadata.labels".into(), ".spec.replicas".into()],
            finalizes: false,
            needs_clock: false,
            needs_seed: false,
        }
    }

    #[test]
    fn what_a_guest_does_not_see_of_its_primary_it_cannot_own() {
        let unseen = "`writes-primary` names .spec.replicas, which the projection of the primary does not show";
        for blind in [Projection::Metadata, Projection::Fields(vec![".spec.selector".into()])] {
            assert_eq!(finding(&manifest(blind)).as_deref(), Some(unseen));
        }
        for seen in [Projection::Full, Projection::Fields(vec![".spec.replicas".into()])] {
            assert_eq!(finding(&manifest(seen)), None);
        }
    }
}
