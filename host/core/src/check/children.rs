//! Checks the set of children that a guest wants.

use super::{Context, Findings, Rule, metadata, shown};
use crate::decision::{ChildrenPlan, DesiredChild};
use crate::kind::{KindInfo, ObjectRef};
use crate::names;
use crate::object::Object;
use crate::syntax;
use std::collections::BTreeMap;

/// One entry of the set, wanted or held.
struct Child<'a> {
    /// How messages name it.
    who: String,
    reference: ObjectRef,
    /// None where it is held.
    object: Option<&'a Object>,
    /// None where it is not declared.
    kind: Option<&'a KindInfo>,
}

/// Every rule for one child.
const RULES: [fn(&Context<'_>, &Child<'_>, &mut Findings); 10] = [
    shape,
    kind,
    name,
    namespace,
    not_the_primary,
    host_group,
    own_metadata,
    no_status,
    no_hidden_value,
    no_entry_twice,
];

/// Checks the set as a whole, and every child by every rule.
pub(super) fn check(context: &Context<'_>, plan: &ChildrenPlan, findings: &mut Findings) {
    let ChildrenPlan::Exactly(entries) = plan else { return };
    if entries.is_empty() {
        findings.add(Rule::ChildrenEmpty, || {
            "The set of children is empty; a guest that wants no child at all says none-wanted.".into()
        });
    }
    let limit = context.limits.children;
    if entries.len() > limit {
        findings.add(Rule::ChildrenCount, || {
            format!(
                "There are {} children; at most {limit} are allowed for one primary.",
                entries.len()
            )
        });
    }
    let mut seen = BTreeMap::new();
    for (position, entry) in (1..).zip(entries.iter().take(limit)) {
        let child = Child::new(context, position, entry);
        for rule in RULES {
            rule(context, &child, findings);
        }
        only_once(context, &child, &mut seen, findings);
    }
}

impl<'a> Child<'a> {
    fn new(context: &Context<'a>, position: usize, entry: &'a DesiredChild) -> Self {
        let (reference, object) = match entry {
            DesiredChild::Want(wanted) => (wanted.object.reference(), Some(&wanted.object)),
            DesiredChild::Hold(reference) => (reference.clone(), None),
        };
        let who = match (reference.of.kind.as_str(), reference.name.as_str()) {
            ("", _) => format!("Child {position} (an object without a kind)"),
            (kind, "") => format!("Child {position} (a {} without a name)", shown(kind)),
            _ => format!("Child {position} ({})", shown(&reference.to_string())),
        };
        let kind = context.manifest.child(&reference.of).map(|child| &child.kind);
        Self {
            who,
            reference,
            object,
            kind,
        }
    }
}

fn shape(_: &Context<'_>, child: &Child<'_>, findings: &mut Findings) {
    let Child { who, reference, .. } = child;
    if reference.of.kind.is_empty() || reference.of.version.is_empty() {
        findings.add(Rule::ObjectShape, || {
            format!("{who} has no kind or apiVersion; both must be texts.")
        });
    }
    if let Some(object) = child.object {
        metadata::shape(who, object, findings);
    }
}

fn kind(_: &Context<'_>, child: &Child<'_>, findings: &mut Findings) {
    let Child {
        who,
        reference: ObjectRef { of, .. },
        ..
    } = child;
    match child.kind {
        None if of.kind.is_empty() => {}
        None => findings.add(Rule::ChildKind, || {
            format!(
                "{who} is a {}, which the guest's manifest does not declare as a child kind.",
                shown(&of.to_string())
            )
        }),
        Some(declared) if declared.of.version != of.version => findings.add(Rule::ChildKind, || {
            format!(
                "{who} is of version {}, but the guest's manifest declares {}.",
                shown(&of.version),
                declared.of
            )
        }),
        Some(_) => {}
    }
}

fn name(_: &Context<'_>, child: &Child<'_>, findings: &mut Findings) {
    let Child { who, reference, .. } = child;
    let generate = child.object.and_then(|object| object.at(&["metadata", "generateName"]));
    if generate.is_some_and(|value| !metadata::is_zero(value)) {
        return findings.add(Rule::ChildName, || {
            format!(
                "{who} has metadata.generateName; names must be deterministic, or every decision would make another \
                 object: give metadata.name, for example from the primary's name."
            )
        });
    }
    if reference.name.is_empty() {
        return findings.add(Rule::ChildName, || {
            format!("{who} has no metadata.name; every child must be named.")
        });
    }
    if let Err(rule) = name_syntax(reference) {
        findings.add(Rule::ChildName, || {
            format!("{who} has the name '{}', which {rule}.", shown(&reference.name))
        });
    }
}

/// What the API server wants of a name depends on the kind; these are the rules of those that differ.
fn name_syntax(reference: &ObjectRef) -> Result<(), &'static str> {
    match (reference.of.group.as_str(), reference.of.kind.as_str()) {
        ("rbac.authorization.k8s.io", _) => syntax::path_segment(&reference.name),
        ("", "Namespace" | "Service") => syntax::dns_label(&reference.name),
        _ => syntax::subdomain(&reference.name),
    }
}

fn namespace(context: &Context<'_>, child: &Child<'_>, findings: &mut Findings) {
    let Some(kind) = child.kind else { return };
    let Child { who, reference, .. } = child;
    let given = reference.namespace.as_deref().filter(|namespace| !namespace.is_empty());
    let primary = &context.manifest.primary.kind;
    let home = context.primary.namespace().unwrap_or_default();
    match (kind.namespaced, primary.namespaced, given) {
        (true, true, Some(namespace)) if namespace != home => findings.add(Rule::ChildNamespace, || {
            let namespace = shown(namespace);
            format!("{who} is in namespace '{namespace}'; a primary in '{home}' has children in that namespace only.")
        }),
        (true, false, None) => findings.add(Rule::ChildNamespace, || {
            format!("{who} has no namespace, and its primary, being cluster-scoped, has none to take it from.")
        }),
        (true, false, Some(namespace)) => {
            if let Err(rule) = syntax::dns_label(namespace) {
                let namespace = shown(namespace);
                findings.add(Rule::ChildNamespace, || {
                    format!("{who} is in namespace '{namespace}', which {rule}.")
                });
            }
        }
        (false, true, _) => findings.add(Rule::ChildNamespace, || {
            format!("{who} is cluster-scoped; a primary in a namespace has children in that namespace only.")
        }),
        (false, false, Some(_)) => {
            findings.add(Rule::ChildNamespace, || {
                format!("{who} is cluster-scoped and cannot have a namespace.")
            });
        }
        _ => {}
    }
}

fn not_the_primary(context: &Context<'_>, child: &Child<'_>, findings: &mut Findings) {
    let is_primary = child.reference.of.same_group_kind(&context.manifest.primary.kind.of)
        && child.reference.name == context.primary.name()
        && place(context, child) == context.primary.namespace().unwrap_or_default();
    if is_primary {
        findings.add(Rule::ChildIsPrimary, || {
            format!(
                "{} is the primary itself; what a guest wants of it goes into the outcome's primary.",
                child.who
            )
        });
    }
}

fn host_group(_: &Context<'_>, child: &Child<'_>, findings: &mut Findings) {
    if child.reference.of.group == names::GROUP {
        findings.add(Rule::HostMark, || {
            format!("{} is of the group windlass.dev, which is the host's own.", child.who)
        });
    }
}

fn own_metadata(_: &Context<'_>, child: &Child<'_>, findings: &mut Findings) {
    let Some(object) = child.object else { return };
    metadata::marks(&child.who, object, findings);
    metadata::no_owners(&child.who, object, findings);
    metadata::labels(&child.who, object, findings);
}

fn no_status(_: &Context<'_>, child: &Child<'_>, findings: &mut Findings) {
    let status = child.object.and_then(|object| object.0.get("status"));
    if status.is_some_and(|status| !metadata::is_zero(status)) {
        findings.add(Rule::HostField, || {
            format!(
                "{} has a status, which whoever runs that kind writes; leave it out.",
                child.who
            )
        });
    }
}

fn no_hidden_value(_: &Context<'_>, child: &Child<'_>, findings: &mut Findings) {
    if let (Some(kind), Some(object)) = (child.kind, child.object) {
        metadata::hidden_values(&child.who, kind, object, findings);
    }
}

fn no_entry_twice(_: &Context<'_>, child: &Child<'_>, findings: &mut Findings) {
    if let Some(object) = child.object {
        metadata::duplicates(&child.who, &child.reference.of, object, findings);
    }
}

fn only_once(
    context: &Context<'_>,
    child: &Child<'_>,
    seen: &mut BTreeMap<(String, String, String, String), String>,
    findings: &mut Findings,
) {
    let of = &child.reference.of;
    let key = (
        of.group.clone(),
        of.kind.clone(),
        place(context, child).into(),
        child.reference.name.clone(),
    );
    if child.reference.name.is_empty() {
        return;
    }
    match seen.get(&key) {
        Some(first) => {
            findings.add(Rule::ChildTwice, || {
                format!("{} is the same object as {}.", child.who, lower_first(first))
            });
        }
        None => drop(seen.insert(key, child.who.clone())),
    }
}

/// The namespace in which the child will be; one without takes its primary's.
fn place<'a>(context: &'a Context<'_>, child: &'a Child<'_>) -> &'a str {
    let given = child
        .reference
        .namespace
        .as_deref()
        .filter(|namespace| !namespace.is_empty());
    given.or(context.primary.namespace()).unwrap_or_default()
}

fn lower_first(sentence: &str) -> String {
    sentence.replacen("Child", "child", 1)
}
