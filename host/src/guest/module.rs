//! Holds a module that was taken up: asks it about itself, and takes decisions with it.

use super::bindings::ReconcilerPre;
use super::describe;
use super::limits::Limits;
use super::refusal::{Refusal, Step};
use super::runtime::Runtime;
use super::session::Guest;
use super::state::State;
use crate::decide::Decide;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use windlass_core::decision::FaultKind;
use windlass_core::manifest::Manifest;

/// A module that was taken up: compiled and linked once, instantiated for each decision. Cheap to clone.
#[derive(Clone)]
pub struct Module {
    pub(super) loaded: Arc<Loaded>,
    pub(super) size: usize,
    pub(super) strict: bool,
    pub(super) imports: Arc<[String]>,
    pub(super) compile_time: Duration,
}

/// What instances are made of.
pub(super) struct Loaded {
    pub(super) runtime: Runtime,
    pub(super) pre: ReconcilerPre<State>,
    pub(super) digest: Arc<str>,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Module")
            .field("digest", &self.loaded.digest)
            .field("size", &self.size)
            .field("strict", &self.strict)
            .finish_non_exhaustive()
    }
}

impl Module {
    /// sha256 of the unpacked bytes, 64 hexadecimal digits; see [`digest`](super::digest).
    pub fn digest(&self) -> &str {
        &self.loaded.digest
    }

    /// Bytes of the module once unpacked.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether it imports nothing but the contract. Otherwise it got closed stand-ins for WASI.
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// Names of what it imports, sorted.
    pub fn imports(&self) -> &[String] {
        &self.imports
    }

    /// How long compiling took, or reading what was compiled before.
    pub fn compile_time(&self) -> Duration {
        self.compile_time
    }

    /// Asks the guest about itself, in a fresh instance, and checks what it says.
    ///
    /// # Errors
    /// A [`Refusal`] if the guest refuses the settings, breaks a limit, or says what cannot be.
    pub async fn describe(&self, settings: &Value, limits: &Limits) -> Result<Manifest, Refusal> {
        let short = self.digest().get(..12).unwrap_or_default();
        let guest = self.session(short.into(), limits);
        let described = async {
            let share = guest.share().await?;
            let live = guest.start(share, Vec::new(), 0).await?;
            guest.describe(live, settings.to_string()).await
        };
        let described = described.await.map_err(|fault| {
            let cause = match fault.kind {
                FaultKind::GuestTrapped => "Trapped",
                FaultKind::GuestTimedOut => "StartBudgetExceeded",
                FaultKind::GuestOutOfMemory => "OutOfMemory",
                FaultKind::GuestOutputRejected => "OutputRejected",
                FaultKind::InternalError => Refusal::HOST,
            };
            Refusal::new(
                Step::Describe,
                cause,
                format!("The guest cannot say what it does. {}", fault.message),
            )
        })?;
        describe::checked(described)
    }

    /// Takes decisions with this module. `manifest` is what [`Module::describe`] returned for the settings in use.
    pub fn guest(&self, manifest: &Manifest, limits: &Limits) -> Arc<dyn Decide> {
        Arc::new(self.session(format!("{} {}", manifest.name, manifest.version).into(), limits))
    }

    fn session(&self, name: Arc<str>, limits: &Limits) -> Guest {
        Guest {
            loaded: Arc::clone(&self.loaded),
            name,
            limits: limits.clone(),
        }
    }
}
