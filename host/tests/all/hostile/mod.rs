//! Holds one table of what hostile guests do and how it must end, and plays it in memory and on a real control plane.
//!
//! `table.rs` is the table, `ended.rs` compares it with what is there. `memory.rs` and `real.rs` play all of it; the others
//! look closer at what a whole host cannot show: depths, equal bytes, waits, leaks.

mod table;
mod ended;
mod modules;
mod memory;
mod real;
mod outside;
mod recursion;
mod determinism;
mod leaks;
mod capacity;
