//! Says why a module was not taken up, at which step, and what to do about it.

use std::fmt;

/// The steps that a module has to pass, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Gzip or zstd is taken off.
    Unpack,
    /// What the bytes are, and which imports and exports they have.
    Inspect,
    /// Machine code is made of them.
    Compile,
    /// The guest is asked about itself.
    Describe,
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

/// Why a module was not taken up. The one that runs stays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The step that it did not pass.
    pub step: Step,
    /// One CamelCase word for the kind of fault, from a fixed list: fit for a label of a metric.
    pub cause: &'static str,
    /// Whole sentences for people: what is wrong, and what to do.
    pub message: String,
}

impl Refusal {
    /// The cause that is no fault of the module: the host could not look at it.
    pub(super) const HOST: &str = "HostFault";

    /// Whether another try may end in another way, with the same bytes.
    pub fn is_passing(&self) -> bool {
        self.cause == Self::HOST
    }

    /// Makes a refusal.
    pub(super) fn new(step: Step, cause: &'static str, message: impl Into<String>) -> Self {
        Self {
            step,
            cause,
            message: message.into(),
        }
    }
}
