//! Loads modules and runs guests; the only place that names wasmtime.
//!
//! ```text
//! bytes -> unpack -> what they are -> imports and exports -> compile -> Module -> describe -> Manifest
//!                                                                        |
//!                                                                        +-> guest -> Decide -> one fresh instance a decision
//! ```
//!
//! Guarantees, each shown by a test beside the module that gives it:
//!
//! - No bytes bring the host down: whatever they are, they end as a [`Module`] or as a [`Refusal`] that says what to do.
//! - A host runs no compiler: a [`Compiler::Child`] does, within its budget, and what it made is run again only if the
//!   host's key vouches for it.
//! - A guest runs within [`Limits`]; whatever it does ends as an answer or as a
//!   [`Fault`](windlass_core::decision::Fault) of this one decision.
//! - An instance is never entered again after an error, nor after a call that was given up half way.
//! - Equal requests give equal bytes, in any instance and any process.
//!
//! Modules, in the order in which they are best read: what a caller sees, then loading, then running.

mod limits;
mod refusal;
mod load;
mod module;

mod bytes;
mod imports;
mod encode;
mod compile;
mod describe;

mod runtime;
mod ticker;
mod bindings;
mod convert;
mod text;
mod state;
mod sandbox;
mod session;

#[cfg(test)]
mod tests;

pub use bytes::{MAX_MODULE, MAX_UNPACKED, digest};
pub use compile::{Cache, CacheKey, CompileBudget, Compiler, compile_alone};
pub use convert::read_answer;
pub use limits::{DESCRIBE_TIME, Limits};
pub use load::{Loader, inspect};
pub use module::Module;
pub use refusal::{Refusal, Step};
pub use runtime::{Allocation, Capacity, Interruption, Runtime, RuntimeError};
