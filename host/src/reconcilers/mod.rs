//! Brings each Reconciler to what its spec and its source say: the table of contents is `settle`.

mod settle;
mod drop_in;
mod choose;
mod source;
mod parts;
mod kept;
mod limits;
mod steps;
mod halt;
mod slot;
mod approval;
mod consent;
mod secrets;
mod claim;
mod release;
mod status;
mod conditions;
pub(crate) mod borrowed;

pub use settle::settle;
pub use slot::Slots;
