//! Says in words what is in a child's way, and what to do about it.

use crate::inventory::{controller, is_retained};
use crate::managed_fields::managers;
use crate::object::Object;
use crate::write::Target;

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
        "{} exists already and is not ours (owner {owner}{written}): it is left as it is; delete or rename it, or have the \
         guest choose another name",
        target.reference()
    )
}
