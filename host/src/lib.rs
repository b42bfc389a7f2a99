//! Runs reconcile logic as sandboxed WebAssembly guests: the host owns every watch and every API write.
//!
//! # Bird's eye
//!
//! ```text
//!  cluster          queue           assemble          guest             check, plan          apply             report
//!  watch --change-> key --------->  Request --------> Decided --------> Plan --------------> Applied --------> status, Events
//!  store            dedupe,         snapshot of       fresh instance,   pure rules in        create, apply,    primary and
//!                   backoff,        the store         ask <-> answer    windlass-core        delete            Reconciler
//!                   fairness
//! ```
//! One direction: a later stage never calls an earlier one. Each arrow is a value type of [`windlass_core`], which holds
//! every rule; this crate moves values between it, the cluster and the guests.
//!
//! Two ports only, each with two real implementations: [`cluster::Cluster`] (the API server, or the cluster in memory
//! on which `windlass simulate` runs) and [`decide::Decide`] (a wasm guest, or a closure in a test).
//!
//! # Reading order
//!
//! - [`reconcile`]: one key through the whole pipeline; the table of contents.
//! - [`reconcilers`]: one Reconciler from its source to what runs; the same, for modules.
//! - [`running`]: what runs for each Reconciler, and how its primaries stand.
//! - [`host`]: what holds the parts together. [`workers`]: what moves. [`router`] and [`control`]: which change wakes what.
//! - [`store`], [`queue`]: what is known, and what is to be done.
//! - [`guest`]: the only place that names wasmtime. [`cluster`]: the only place that talks to an API server, and, with
//!   the derived CRD type in [`api`], the only one that names kube.
//! - [`cli`]: what people run.
//!
//! # Invariants
//!
//! - No guest is called before the watches of everything that it declared were listed once.
//! - Every write about primaries and children is impersonated; the host's own are Reconcilers, Events, its key and the
//!   modules that it keeps.
//! - No value of a Secret is stored or logged; a guest that may see it gets it for one decision.
//! - Nothing that lacks our mark is deleted, and of what has it no more than a person would notice, unless one approved it.
//! - Nothing is written before the whole answer was checked, and nothing counts as done before its write returned.
//! - A fault ends at its primary; a bad module at its Reconciler. Neither delays start, readiness or others.
//! - The running module is replaced only by one that passed every step.
//!
//! # Across all
//!
//! - Errors come in three families: the guest's fault ([`windlass_core::decision::Fault`]), the user's (`Invalid`, a
//!   [`guest::Refusal`]) and the world's ([`cluster::ReadError`], [`windlass_core::write::WriteError`]). Each maps to
//!   one [`windlass_core::reason::Reason`] and one way of trying again.
//! - Time is asked for in one place, [`host::Host::now`], and passed on as a value.
//! - A run may be dropped at any await: whatever it wrote is found again by its labels, and written once.

pub mod reconcile;
pub mod reconcilers;
pub mod running;
pub mod host;
pub mod workers;
pub mod router;
pub mod control;
pub mod store;
pub mod queue;
pub mod kinds;
pub mod permissions;
pub mod modules;
pub mod events;
pub mod seed;
pub mod metrics;
pub mod admin;
pub mod settings;
pub mod api;
pub mod decide;
pub mod guest;
pub mod cluster;
pub mod cli;
