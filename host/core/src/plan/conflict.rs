//! Says in words what is in a child's way, and what to do about it.

use crate::inventory::{controller, is_retained};
use crate::managed_fields::managers;
use crate::object::Object;
use crate::write::Target;
use std::collections::BTreeMap;

/// At most this many names are listed in one sentence.
const LISTED: usize = 3;

/// Whether the object belonged to a former primary of the same name, so that garbage collection will take it (D-10).
pub(super) fn is_left_behind(object: &Object, primary: &Object) -> bool {
    let kind = primary.kind();
    !is_retained(object)
        && controller(object).is_some_and(|owner| {
            owner.kind == kind.kind
                && owner.api_version.split('/').next() == kind.api_version().split('/').next()
                && owner.name == primary.name()
                && owner.uid != primary.uid()
        })
}

/// Something with the child's name is on its way out.
pub(super) fn still_going(target: &Target, object: &Object) -> String {
    let finalizers: Vec<&str> = object.finalizers().take(LISTED).collect();
    if !object.is_being_deleted() {
        format!(
            "{} is left from an earlier object of the same name and waits for garbage collection",
            target.reference()
        )
    } else if finalizers.is_empty() {
        format!("{} is still being deleted", target.reference())
    } else {
        format!(
            "{} is still being deleted and waits for its finalizers {}",
            target.reference(),
            finalizers.join(", ")
        )
    }
}

/// Something that is not ours has the child's name.
pub(super) fn stranger(target: &Target, object: &Object) -> String {
    let owner = match controller(object) {
        Some(owner) => format!("{}/{}", owner.kind, owner.name),
        None => "none".into(),
    };
    let managers: Vec<&str> = managers(object).into_iter().take(LISTED).collect();
    let written = if managers.is_empty() {
        String::new()
    } else {
        format!(", written by {}", managers.join(", "))
    };
    format!(
        "{} exists already and is not ours (owner {owner}{written}): it is left as it is; delete or rename it, have the \
         guest choose another name, or let it be taken over by spec.adoption",
        target.reference()
    )
}

/// Something could be taken over, but for what it says here.
pub(super) fn not_taken_over(target: &Target, why: &str) -> String {
    format!("{} exists already and is not taken over: {why}", target.reference())
}

/// Something could be taken over, if others did not own what the guest wants.
pub(super) fn owned_by_others(target: &Target, others: &BTreeMap<String, Vec<String>>) -> String {
    let owned = others.iter().take(LISTED).map(|(manager, paths)| {
        let shown: Vec<&str> = paths.iter().take(LISTED).map(String::as_str).collect();
        let more = if paths.len() > LISTED { " and more" } else { "" };
        format!("{manager} owns {}{more}", shown.join(", "))
    });
    let owned: Vec<String> = owned.collect();
    not_taken_over(
        target,
        &format!(
            "{}; have it give that up, name it in spec.adoption, or have the guest leave that out",
            owned.join("; ")
        ),
    )
}
