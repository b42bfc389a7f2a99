//! Has machine code made of a module, in a child process that is held to its budget.
//!
//! ```text
//! component -> cache? -> child: limits itself, reads stdin, compiles, writes stdout -> TrustedCode -> Component
//!                                   |
//!                                   +-> refuses, crashes, or is killed at its budget: a Refusal
//! ```
//! What a compiler takes, and what it does to its process, ends with the child: neither its memory nor its crash is
//! the host's.

mod parent;
mod child;
mod cache;
mod code;

#[cfg(test)]
mod tests;

pub use cache::{Cache, CacheKey};
pub(super) use cache::{Entry, Lookup, identity};
pub use child::compile_alone;
pub(super) use code::TrustedCode;

use super::load::Turn;
use super::refusal::{Refusal, Step};
use super::runtime::Runtime;
use std::path::PathBuf;
use std::time::Duration;

/// Where machine code is made; chosen by whoever makes a [`Loader`](super::Loader), and never fallen back on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// In this process: for commands that take one module, and for tests. What exceeds its time goes on to its end.
    InProcess,
    /// In a child of this program, which has to be the very program that runs.
    Child(PathBuf),
}

/// What the child may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileBudget {
    /// Bytes of address space, the program itself included.
    ///
    /// Stops: a module that makes the compiler take all memory of the host's pod, which ends the host.
    pub memory: u64,
    /// Running time. The parent counts time on the wall besides.
    ///
    /// Stops: a child that lost its parent from running on.
    pub processor: Duration,
}

impl Compiler {
    /// Children of the running program, also after its file was replaced.
    ///
    /// # Errors
    /// If the system does not say which program runs.
    pub fn this_program() -> std::io::Result<Self> {
        let running = PathBuf::from("/proc/self/exe");
        let program = if running.exists() {
            running
        } else {
            std::env::current_exe()?
        };
        Ok(Self::Child(program))
    }

    /// How long compiling may take on the wall, where it may take so much running time. A child counts its running time
    /// itself, and gets twice as long for it, since a busy machine is not the module's fault.
    pub(super) fn patience(&self, running: Duration) -> Duration {
        match self {
            Self::InProcess => running,
            Self::Child(_) => running * 2,
        }
    }

    /// Makes machine code. Dropped half way, a child is killed.
    pub(super) async fn compile(
        &self,
        runtime: &Runtime,
        component: Vec<u8>,
        turn: &Turn,
    ) -> Result<TrustedCode, Refusal> {
        match self {
            Self::InProcess => {
                let engine = runtime.engine().clone();
                turn.work(move || {
                    let code = engine.precompile_component(&component);
                    code.map(TrustedCode::compiled)
                        .map_err(|why| invalid(&format!("{why:#}")))
                })
                .await
            }
            Self::Child(program) => parent::compile(program, budget(runtime), &component).await,
        }
    }
}

fn budget(runtime: &Runtime) -> CompileBudget {
    let capacity = runtime.capacity();
    CompileBudget {
        memory: capacity.compile_memory,
        processor: capacity.compile,
    }
}

/// The compiler's own word against a module.
fn invalid(why: &str) -> Refusal {
    let why =
        format!("The module cannot be compiled: {why}. Build it again, without experimental features of WebAssembly.");
    Refusal::new(Step::Compile, "Invalid", why)
}

/// A budget that a module exceeds, with what to do about it.
pub(super) fn exceeded(what: &str) -> Refusal {
    let why = format!(
        "Compiling the module {what}. Look for functions of many thousand nested blocks, often generated code, or build \
         it with `opt-level = \"z\"`."
    );
    Refusal::new(Step::Compile, "CompileBudgetExceeded", why)
}
