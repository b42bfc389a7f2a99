//! Decides everything that needs no cluster: values and rules, without IO, clock, locks or async.
//!
//! The pipeline runs one way, and each arrow of it is one value type of this crate:
//! [`change::Change`] -> [`key::Key`] -> [`decision::Request`] -> [`decision::Decided`] -> [`plan::Plan`]
//! -> [`write::Applied`] -> [`report::Report`].
//! Time, random numbers and the state of the cluster are arguments. All values are serialisable, so that each can be
//! saved, compared and replayed.
//!
//! Modules, in the order in which they are best read: the vocabulary first, then the pipeline's stages in their order.

pub mod object;
pub mod kind;
pub mod path;
pub mod syntax;
pub mod text;
pub mod key;
pub mod names;
pub mod keyed;
pub mod shape;
pub mod canonical;
pub mod manifest;
pub mod decision;
pub mod policy;
pub mod answer;
pub mod write;
pub mod reason;

pub mod selector;
pub mod change;
pub mod project;
pub mod secrets;
pub mod schema;
pub mod rights;
pub mod check;
pub mod managed_fields;
pub mod inventory;
pub mod contest;
pub mod plan;
pub mod guard;
pub mod dropped;
pub mod conditions;
pub mod report;
pub mod backoff;
pub mod breaker;
pub mod budget;
pub mod events;
