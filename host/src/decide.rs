//! The port through which a decision is taken: a wasm guest, or a closure in a test.

use async_trait::async_trait;
use windlass_core::decision::{Entry, Fault, Reply, Request};

/// Takes decisions. Each one has a session of its own, in which nothing is left from any other.
#[async_trait]
pub trait Decide: Send + Sync + 'static {
    /// Begins a decision about one primary.
    ///
    /// `seed` makes the random numbers a guest may see: the primary's uid, or the secret seed where one was declared.
    ///
    /// # Errors
    /// A [`Fault`] if not even an instance can be had.
    async fn begin(&self, seed: &[u8]) -> Result<Box<dyn Decision>, Fault>;
}

/// One decision: asked, answered and asked again, in the same instance.
#[async_trait]
pub trait Decision: Send {
    /// Calls the guest once. After an error the session is over.
    ///
    /// # Errors
    /// The [`Fault`] that ended it: a trap, a limit, or an answer that cannot be read.
    async fn call(&mut self, entry: Entry, request: &Request) -> Result<Reply, Fault>;
}
