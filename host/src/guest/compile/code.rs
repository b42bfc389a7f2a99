//! Turns machine code that this program made into a component; holds the only unsafe lines of the host.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
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

    /// Makes it executable: mapped from a file without a name in this directory, so that what is never run takes no memory,
    /// or copied into memory where there is none.
    ///
    /// # Errors
    /// If the engine is of another version, or set up in another way, or for another processor, than the compiler was.
    #[expect(
        unsafe_code,
        reason = "wasmtime cannot tell code of its own compiler from any other; the type of `self` does"
    )]
    pub(in crate::guest) fn component(&self, engine: &Engine, directory: Option<&Path>) -> wasmtime::Result<Component> {
        if let Some(Ok(file)) = directory.map(|directory| self.nameless(directory)) {
            let path = format!("/proc/self/fd/{}", file.as_raw_fd());
            // SAFETY: as below. The file holds the same bytes, was made by this call without a name, and is open in this
            // process alone: nobody can open, change or cut it.
            let mapped = unsafe { Component::deserialize_file(engine, path) };
            if mapped.is_ok() {
                return mapped;
            }
        }
        // SAFETY: `Component::deserialize` wants the unchanged output of `Engine::precompile_component`. A value of this
        // type holds nothing else (see its constructors), in memory of this process alone: what was verified is what
        // is run, no file can change in between. Version, settings and processor features are checked by wasmtime.
        unsafe { Component::deserialize(engine, &self.0) }
    }

    /// The code in a file that has no name, and never had one where the system can do that.
    fn nameless(&self, directory: &Path) -> io::Result<File> {
        let mut file = tempfile::tempfile_in(directory)?;
        file.write_all(&self.0)?;
        Ok(file)
    }
}
