//! Shows the whole host at work: on the cluster in memory, and on a real control plane.

mod world;
mod things;
mod meddler;
mod pipeline;
mod disturbed;
mod guests;
mod bad_input;
mod finalize;
mod cases;
