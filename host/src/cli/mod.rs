//! What people run on a terminal.

pub mod objects;
pub mod list;
pub mod watch;
