//! Behaves badly on demand: the host's tests choose what it does by settings or by the primary.
//!
//! `spec.behaviour` of the primary wins over `settings.behaviour`; with neither it is `good`. The table in
//! `behaviour.rs` lists all of them, but for those in `raw.rs`, which the SDK cannot say. What concerns `describe` and
//! `finalize` has settings of its own.

mod behaviour;
mod children;
mod secrets;
mod numbers;
mod outside;
mod raw;
mod describe;
mod finalize;
mod objects;
mod roles;
mod export;

pub use export::Raw;
use serde::Deserialize;
use windlass_sdk::{Context, Finalized, Manifest, Object, Outcome, Reconciler, Stop};

/// The guest.
pub struct Hostile;

/// What a `Reconciler` may set.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Settings {
    /// What `reconcile` does for primaries that do not say; see `behaviour.rs`.
    behaviour: String,
    /// What `describe` does; see `describe.rs`.
    describe: String,
    /// Whether it declares `finalizes`.
    finalizes: bool,
    /// What `finalize` does; see `finalize.rs`.
    finalize: String,
}

/// The spec of a `Hostile`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Spec {
    behaviour: String,
}

type Primary = Object<Spec>;

impl Reconciler for Hostile {
    type Primary = Primary;
    type Settings = Settings;

    fn describe(settings: &Settings) -> Result<Manifest, String> {
        describe::run(settings)
    }

    fn reconcile(context: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
        let names = [&primary.spec.behaviour, &context.settings.behaviour];
        let name = names
            .into_iter()
            .find(|name| !name.is_empty())
            .map_or("good", String::as_str);
        behaviour::run(name, context, primary)
    }

    fn finalize(context: &Context<Settings>, primary: &Primary) -> Result<Finalized, Stop> {
        finalize::run(context, primary)
    }
}
