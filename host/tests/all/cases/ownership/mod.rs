//! Group B: whose objects and fields are whose, and that nobody's are taken or lost.
//!
//! Most are scenarios of the table that is played on both clusters ([`crate::scenarios`]).

mod client_side;
pub(crate) mod conditions;
mod decorators;
mod decorators_on_real;
pub(crate) mod lists;
pub(crate) mod marks;
pub(crate) mod neighbours;
pub(crate) mod strangers;
