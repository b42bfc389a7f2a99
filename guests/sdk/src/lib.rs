//! Writes a Windlass guest in Rust.
//!
//! A guest decides what should be there for one object, its *primary*; the host watches, calls and writes.
//! Implement [`Reconciler`], name the type in [`export!`], build with `--target wasm32-unknown-unknown`.
//! Everything a guest returns is data; it reads no clock, file or network, and the same input must
//! always give the same answer.
//!
//! ```
//! use serde::Deserialize;
//! use serde_json::json;
//! use windlass_sdk::{Child, Context, Kind, Manifest, NoSettings, Object, Outcome, Projection, Reconciler, Stop};
//!
//! const GREETINGS: Kind = Kind::namespaced("example.com", "v1", "Greeting", "greetings");
//! const CONFIG_MAPS: Kind = Kind::namespaced("", "v1", "ConfigMap", "configmaps");
//!
//! #[derive(Deserialize)]
//! struct Spec {
//!     text: String,
//! }
//!
//! struct Greeter;
//!
//! impl Reconciler for Greeter {
//!     type Primary = Object<Spec>;
//!     type Settings = NoSettings;
//!
//!     fn describe(_: &NoSettings) -> Result<Manifest, String> {
//!         Ok(Manifest::new("greeter", env!("CARGO_PKG_VERSION"), GREETINGS)
//!             .child(CONFIG_MAPS, Projection::Metadata))
//!     }
//!
//!     fn reconcile(_: &Context<NoSettings>, greeting: &Object<Spec>) -> Result<Outcome, Stop> {
//!         Ok(Outcome::exactly([Child::new(&json!({
//!             "apiVersion": "v1",
//!             "kind": "ConfigMap",
//!             "metadata": {"name": greeting.metadata.name, "namespace": greeting.metadata.namespace},
//!             "data": {"text": greeting.spec.text},
//!         }))]))
//!     }
//! }
//!
//! windlass_sdk::export!(Greeter);
//! # fn main() {}
//! ```
//!
//! Passwords and keys come from [`Seed`]. To read other objects, declare them with [`Manifest::read`] and ask with [`Context::ask`]. To try a
//! guest's logic natively, see `testing` (feature `testing`).

mod context;
mod json;
pub mod log;
mod manifest;
pub mod names;
mod object;
mod outcome;
mod query;
mod reconciler;
mod seed;
mod stop;
#[cfg(feature = "testing")]
pub mod testing;

#[doc(hidden)]
pub mod bindings;
mod convert;
mod export;
mod run;

extern crate self as windlass_sdk;

pub use context::Context;
pub use export::{Exports, fix_hash_keys};
pub use json::Json;
pub use manifest::{ChildKind, Kind, KindRef, Manifest, Need, Projection, Read, Scope};
pub use object::{Metadata, Object, PartialObject};
pub use outcome::{Child, Condition, ConditionStatus, Event, ObjectRef, Outcome, Propagation, WantedChild};
pub use query::{Answer, FieldMatch, Query};
pub use reconciler::{Finalized, NoSettings, Reconciler};
pub use seed::Seed;
pub use stop::{Failure, FailureKind, Stop};

/// What the generated exports need from the bindings generator.
#[doc(hidden)]
pub use wit_bindgen::rt as runtime;

/// The guest in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
