//! Brings each Reconciler to what its spec and its source say.

mod settle;
mod steps;
mod source;
mod drop_in;
mod consent;
mod secrets;
mod status;
mod release;

pub use settle::settle;
