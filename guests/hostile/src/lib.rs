//! Behaves badly on demand: the host's tests choose what it does by settings or by the primary.
//!
//! `spec.behaviour` of the primary wins over `settings.behaviour`; with neither it is `told` where there is something to tell, and
//! else `good`. The table in
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
mod told;
mod objects;
mod roles;
mod export;

pub use export::Raw;
use serde::Deserialize;
use serde_json::Value;
use windlass_sdk::{Context, Finalized, Manifest, Metadata, Outcome, Reconciler, Stop};

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
    /// What the guest wants where its behaviour is `told`; see `told.rs`.
    told: Value,
    /// What it is about where `describe` is `told`.
    manifest: told::ToldManifest,
}

/// The spec of a `Hostile`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Spec {
    behaviour: String,
    /// What the guest wants; see `told.rs`. Without a behaviour of its own the primary's is then `told`.
    told: Value,
    /// What `finalize` wants before it is done, where the settings say `told`.
    farewell: Value,
}

/// A `Hostile`, or whatever kind the settings tell the guest to be about.
#[derive(Debug, Deserialize)]
pub struct Primary {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Value,
}

impl Reconciler for Hostile {
    type Primary = Primary;
    type Settings = Settings;

    fn describe(settings: &Settings) -> Result<Manifest, String> {
        describe::run(settings)
    }

    fn reconcile(context: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
        let names = [&primary.spec.behaviour, &context.settings.behaviour];
        let told = !primary.spec.told.is_null() || !context.settings.told.is_null();
        let usual = if told { "told" } else { "good" };
        let name = names
            .into_iter()
            .find(|name| !name.is_empty())
            .map_or(usual, String::as_str);
        behaviour::run(name, context, primary)
    }

    fn finalize(context: &Context<Settings>, primary: &Primary) -> Result<Finalized, Stop> {
        finalize::run(context, primary)
    }
}
