//! Shows the whole host at work: on the cluster in memory, and on a real control plane.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]
#![expect(
    clippy::needless_pass_by_value,
    reason = "objects are written down where they are used, and not again"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "what happens in the middle of a write is waited for on its thread, which is handed over first"
)]

mod world;
mod things;
mod meddler;
mod pipeline;
mod disturbed;
mod pauses;
mod prune_guard;
mod guests;
mod bad_input;
mod finalize;
mod secret_values;
mod secrets;
mod shapes;
mod fuzz;
mod adoption;
mod compile;
mod cases;
mod golden;
mod threat_model;
mod case_index;
mod cli;
mod scenarios;
mod rbac;
mod spec_on_real;
mod explain;
mod stop;
mod admin;
mod modules;
mod hostile;
mod soak;
mod walk;
