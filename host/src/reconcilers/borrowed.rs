//! Gives what runs for a Reconciler to whoever looks at it from outside, and takes it up there.

use super::slot::Slot;
use super::{kept, limits, source};
use crate::api::{self, ReconcilerSpec};
use crate::guest::Limits;
use crate::host::Host;
use windlass_core::check::OutcomeLimits;
use windlass_core::key::ReconcilerId;

/// The bytes of a module, from where the host keeps them or from the source.
///
/// # Errors
/// A sentence, if neither holds it.
pub(crate) async fn bytes(
    host: &Host,
    id: &ReconcilerId,
    spec: &ReconcilerSpec,
    digest: &str,
) -> Result<Vec<u8>, String> {
    let kept = match kept::load(host, digest).await {
        Ok(bytes) => return Ok(bytes),
        Err(halt) => halt.message().to_owned(),
    };
    let Some(source) = &spec.source.config_map else {
        return Err(kept);
    };
    match source::fetch(host, id, source, &mut Slot::default()).await {
        Ok((held, Some(bytes))) if held.digest == digest => Ok(bytes),
        Ok((held, _)) => Err(format!("{kept}; the source holds another one, {}", held.digest)),
        Err(halt) => Err(format!("{kept}; nor is it in the source: {}", halt.message())),
    }
}

/// What one decision may use and come to, as the spec says.
///
/// # Errors
/// A sentence, if that is more than any host allows that was told nothing else.
pub(crate) fn within(asked: &api::Limits, maxima: &api::Limits) -> Result<(Limits, OutcomeLimits), String> {
    limits::within(asked, maxima).map_err(|halt| halt.message().to_owned())
}
