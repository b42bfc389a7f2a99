//! Runs reconcile logic as sandboxed WebAssembly guests: the host owns every watch and every API write.

pub mod cli;
pub mod cluster;
pub mod decide;
pub mod guest;
