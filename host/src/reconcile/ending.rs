//! Sends nothing new into a namespace that is ending: each create would be refused, for each child and each time one goes (D-09).

use crate::host::Host;
use crate::running::Activation;
use std::time::Duration;
use windlass_core::write::{Request, Write, WriteError};

/// For how long what the API server said of a namespace is believed; one of the same name may be there by then.
const BELIEVED: Duration = Duration::from_secs(10);
/// What it says. A missing right has the same code and reason.
const SAYS: &str = "because it is being terminated";

/// The error of a create that need not be sent; none if it has to be.
pub(super) fn refusal(host: &Host, activation: &Activation, write: &Write) -> Option<WriteError> {
    let Request::Create(_) = &write.request else {
        return None;
    };
    let namespace = write.target.namespace.as_deref()?;
    let since = *activation.ending().get(namespace)?;
    let is_believed = host.started.elapsed().saturating_sub(since) < BELIEVED;
    is_believed.then(|| WriteError::Forbidden(format!("not sent, as namespace {namespace} takes nothing new {SAYS}")))
}

/// Takes down what an answer says of a namespace.
pub(super) fn note(host: &Host, activation: &Activation, write: &Write, error: &WriteError) {
    let (WriteError::Forbidden(words), Some(namespace)) = (error, &write.target.namespace) else {
        return;
    };
    if words.contains(SAYS) {
        let now = host.started.elapsed();
        let mut ending = activation.ending();
        ending.retain(|_, since| now.saturating_sub(*since) < BELIEVED);
        ending.entry(namespace.clone()).or_insert(now);
    }
}
