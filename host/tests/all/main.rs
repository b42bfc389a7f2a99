//! Shows the whole host at work: on the cluster in memory, and on a real control plane.

mod world;
mod pipeline;
