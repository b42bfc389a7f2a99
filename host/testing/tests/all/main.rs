//! Runs what only a real control plane can show.

mod control_plane;
mod fault_proxy;
