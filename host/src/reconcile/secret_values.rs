//! Fetches the values of the Secrets that a guest is shown, for one decision; the store has only what stands in for them.

use super::assemble::{Unreadable, permitted};
use crate::host::Host;
use crate::running::Activation;
use windlass_core::decision::Query;
use windlass_core::kind::KindInfo;
use windlass_core::manifest::Projection;
use windlass_core::object::Object;
use windlass_core::project;
use windlass_core::secrets::{is_secret, is_value_path, shows_values, without_last_applied};
use windlass_core::write::Target;

/// An object as its guest is shown it: cut to its projection and, where the spec allows it, with the values of a Secret as
/// they are now. What was fetched goes into the request alone: it is neither stored nor logged.
///
/// # Errors
/// If the account may not read the Secret, it could not be read, or it is another one by now. What is shown as a value is
/// always one: the decision waits instead.
pub(super) async fn shown(
    host: &Host,
    activation: &Activation,
    kind: &KindInfo,
    projection: &Projection,
    stored: &Object,
) -> Result<Object, Unreadable> {
    if !activation.policy.secret_values || !is_secret(kind) || !shows_values(projection) {
        return Ok(project::for_guest(stored, projection));
    }
    // The host reads it by the right that it has for its watch; the account must have that right itself.
    permitted(host, activation, kind, "get", stored.namespace()).await?;
    let unread = |why: String| Unreadable::Secret(stored.reference(), why);
    let live = host.cluster.get(&Target::of(kind, stored)).await;
    let mut live = live
        .map_err(|error| unread(error.to_string()))?
        .filter(|live| live.uid() == stored.uid())
        .ok_or_else(|| unread("it is gone".into()))?;
    without_last_applied(&mut live);
    Ok(project::for_guest(&live, projection))
}

/// A guest's query as the store can answer it: where a guest knows values and asks for one, what stands in for it.
pub(super) fn as_stored(host: &Host, activation: &Activation, mut query: Query) -> Query {
    let read = activation.manifest.read(&query.of);
    if !activation.policy.secret_values || !read.is_some_and(|read| is_secret(&read.kind)) {
        return query;
    }
    let fields = query.selection.fields.iter_mut();
    for field in fields.filter(|field| is_value_path(&field.path)) {
        if let Some(hidden) = host.store.hidden(&field.value) {
            field.value = hidden;
        }
    }
    query
}
