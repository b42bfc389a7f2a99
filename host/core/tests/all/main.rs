//! Tests plans and reports from outside: golden cases, and properties that hold for whatever is there.
#![expect(
    clippy::disallowed_methods,
    reason = "golden cases are files, and one variable rewrites them"
)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod adoption;
mod fields;
mod finalizer;
mod golden;
mod guard;
mod properties;
mod records;
mod reports;
mod world;
