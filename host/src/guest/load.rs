//! Takes a module up, step by step, or refuses it and says why.

use super::bindings::ReconcilerPre;
use super::bytes::{self, Form};
use super::describe;
use super::encode::encode;
use super::imports::{self, Interface};
use super::limits::Limits;
use super::refusal::{Refusal, Step};
use super::runtime::Runtime;
use super::session::Guest;
use super::state::State;
use crate::decide::Decide;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use wasmtime::component::Component;
use windlass_core::decision::FaultKind;
use windlass_core::manifest::Manifest;

/// Takes modules up, one at a time: compiling is the one thing here that needs a whole processor for seconds.
#[derive(Clone, Debug)]
pub struct Loader {
    runtime: Runtime,
    one_at_a_time: Arc<Semaphore>,
}

/// A module that was taken up: compiled and linked once, instantiated for each decision. Cheap to clone.
#[derive(Clone)]
pub struct Module {
    loaded: Arc<Loaded>,
    size: usize,
    strict: bool,
    imports: Arc<[String]>,
    compile_time: Duration,
}

/// What instances are made of.
pub(super) struct Loaded {
    pub(super) runtime: Runtime,
    pub(super) pre: ReconcilerPre<State>,
    pub(super) digest: Arc<str>,
    /// Decisions that wanted more memory than they may have.
    pub(super) denials: Arc<AtomicU64>,
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

impl Loader {
    /// Makes a loader for guests of this runtime.
    pub fn new(runtime: Runtime) -> Self {
        Self {
            runtime,
            one_at_a_time: Arc::new(Semaphore::new(1)),
        }
    }

    /// The runtime whose guests it loads.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Takes a module up: plain, gzip or zstd; a component, or a core module that carries the contract.
    ///
    /// Works on a thread of its own, never on the executor's. Given up half way, it goes on there to its end.
    ///
    /// # Errors
    /// A [`Refusal`] with the step that the module did not pass.
    pub async fn load(&self, bytes: Vec<u8>) -> Result<Module, Refusal> {
        let limit = self.runtime.capacity().compile;
        let Ok(turn) = Arc::clone(&self.one_at_a_time).acquire_owned().await else {
            return Err(Refusal::new(
                Step::Compile,
                "Stopped",
                "The host stops. Nothing has to be done.",
            ));
        };
        let runtime = self.runtime.clone();
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            load(runtime, &bytes)
        });
        match tokio::time::timeout(limit, work).await {
            Ok(Ok(loaded)) => loaded,
            Ok(Err(_)) => Err(Refusal::new(
                Step::Compile,
                "Invalid",
                "The compiler gave up on the module in a way that is a fault of the host's own. Please report it with the module.",
            )),
            Err(_) => Err(Refusal::new(
                Step::Compile,
                "CompileBudgetExceeded",
                format!(
                    "Compiling the module took longer than {} s. Look for functions of many thousand nested blocks, often \
                     generated code, or build it with `opt-level = \"z\"`.",
                    limit.as_secs()
                ),
            )),
        }
    }
}

/// All steps up to a module that can be instantiated.
fn load(runtime: Runtime, bytes: &[u8]) -> Result<Module, Refusal> {
    let unpacked = bytes::unpack(bytes)?;
    let digest = bytes::hex(&unpacked);
    let size = unpacked.len();
    let component = match bytes::form(&unpacked)? {
        Form::Component => unpacked,
        Form::CoreModule => {
            imports::check_core_module(&unpacked)?;
            encode(&unpacked)?.into()
        }
    };
    let interface = imports::of_component(&component)?;
    interface.check()?;
    let started = Instant::now();
    let pre = compile(&runtime, &component)?;
    let compile_time = started.elapsed();
    let strict = interface.is_strict();
    let Interface { imports, .. } = interface;
    let loaded = Arc::new(Loaded {
        runtime,
        pre,
        digest: digest.into(),
        denials: Arc::default(),
    });
    Ok(Module {
        loaded,
        size,
        strict,
        imports: imports.into_iter().collect(),
        compile_time,
    })
}

/// Makes machine code, and links it with what this host offers.
fn compile(runtime: &Runtime, component: &[u8]) -> Result<ReconcilerPre<State>, Refusal> {
    let component = Component::from_binary(runtime.engine(), component).map_err(|why| {
        Refusal::new(
            Step::Compile,
            "Invalid",
            format!(
                "The module cannot be compiled: {why:#}. Build it again, without experimental features of WebAssembly."
            ),
        )
    })?;
    let linked = runtime
        .linker()
        .instantiate_pre(&component)
        .and_then(ReconcilerPre::new);
    linked.map_err(|why| {
        Refusal::new(
            Step::Inspect,
            "WrongWorld",
            format!("An import or export of the guest is not of the type that the contract says: {why:#}. Build it with the SDK."),
        )
    })
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

    /// How long compiling took.
    pub fn compile_time(&self) -> Duration {
        self.compile_time
    }

    /// How many of its decisions wanted more memory than they may have, also those that went on without it (E-06).
    pub fn memory_denials(&self) -> u64 {
        self.loaded.denials.load(Ordering::Relaxed)
    }

    /// Asks the guest about itself, in a fresh instance, and checks what it says.
    ///
    /// # Errors
    /// A [`Refusal`] if the guest refuses the settings, breaks a limit, or says what cannot be.
    pub async fn describe(&self, settings: &Value, limits: &Limits) -> Result<Manifest, Refusal> {
        let short = self.digest().get(..12).unwrap_or_default();
        let guest = self.session(short.into(), limits);
        let described = async {
            let permit = guest.permit().await?;
            let live = guest.start(permit, Vec::new(), 0).await?;
            guest.describe(live, settings.to_string()).await
        };
        let described = described.await.map_err(|fault| {
            let cause = match fault.kind {
                FaultKind::GuestTrapped => "Trapped",
                FaultKind::GuestTimedOut => "StartBudgetExceeded",
                FaultKind::GuestOutOfMemory => "OutOfMemory",
                FaultKind::GuestOutputRejected => "OutputRejected",
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
