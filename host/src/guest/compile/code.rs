//! Turns machine code that this program made into a component; holds the only unsafe line of the host.

use wasmtime::Engine;
use wasmtime::component::Component;

/// Machine code of which is known that this program made it.
///
/// Made in three places only: of what the compiler in this process returned, of what our own child wrote to its pipe,
/// and of a cached copy of either whose tag was verified under the host's key.
pub(in crate::guest) struct TrustedCode(Vec<u8>);

impl TrustedCode {
    /// Of what the compiler returned, here or through the pipe of our own child.
    pub(super) fn compiled(code: Vec<u8>) -> Self {
        Self(code)
    }

    /// Of what is kept beside a tag that was just verified over the very bytes in memory.
    pub(super) fn verified(code: Vec<u8>) -> Self {
        Self(code)
    }

    /// The code itself, to be kept.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Makes it executable.
    ///
    /// # Errors
    /// If the engine is of another version, or set up in another way, or for another processor, than the compiler was.
    #[expect(
        unsafe_code,
        reason = "wasmtime cannot tell code of its own compiler from any other; the type of `self` does"
    )]
    pub(in crate::guest) fn component(&self, engine: &Engine) -> wasmtime::Result<Component> {
        // SAFETY: `Component::deserialize` wants the unchanged output of `Engine::precompile_component`. A value of this
        // type holds nothing else (see its constructors), in memory of this process alone: what was verified is what
        // is run, no file can change in between. Version, settings and processor features are checked by wasmtime.
        unsafe { Component::deserialize(engine, &self.0) }
    }
}
