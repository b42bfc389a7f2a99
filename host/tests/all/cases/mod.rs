//! One test per failure case that other operators ran into, by group.

mod a_writes;
mod a_calls;
mod c_views;
mod d_deletion;
mod d_going;
mod d_whole;
mod on_whole;
mod e_containment;
mod f_modules;
mod g_blast;
mod h_identity;
mod h_tokens;
mod i_status;
mod i_written;
mod i_events;
mod i_described;
mod j_names;
pub(crate) mod ownership;
pub(crate) mod settle;
