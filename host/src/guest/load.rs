//! Takes a module up, step by step, or refuses it and says why.

use super::bindings::ReconcilerPre;
use super::bytes::{self, Form};
use super::compile::{self, Cache, CacheKey, Compiler, Entry, Lookup, TrustedCode};
use super::encode::encode;
use super::imports::{self, Interface};
use super::module::{Loaded, Module};
use super::refusal::{Refusal, Step};
use super::runtime::Runtime;
use super::state::State;
use crate::metrics::CompileMetrics;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many modules are unpacked, looked at and read from the cache at once; each may take 64 MiB meanwhile.
const LOOKING: usize = 2;
/// How many are compiled at once, which needs a whole processor for seconds. What is in the cache does not wait for them.
const COMPILING: usize = 2;

/// Takes modules up, few at a time.
#[derive(Clone, Debug)]
pub struct Loader {
    runtime: Runtime,
    compiler: Compiler,
    cache: Option<Cache>,
    metrics: CompileMetrics,
    looking: Arc<Semaphore>,
    compiling: Arc<Semaphore>,
}

/// The right to load a module now. Work on a thread holds it to its end, also when nobody waits for it any more.
#[derive(Clone)]
pub(super) struct Turn {
    _permit: Arc<OwnedSemaphorePermit>,
}

/// A module that was looked at, and is fit to be compiled.
struct Checked {
    component: Vec<u8>,
    interface: Interface,
}

/// A module that was looked at.
struct Looked {
    digest: Arc<str>,
    size: usize,
    entry: Option<Entry>,
    found: Found,
    started: Instant,
}

/// What is known of a module before it is compiled.
enum Found {
    /// It was compiled before.
    Kept(Interface, ReconcilerPre<State>),
    /// It is fit to be compiled.
    Checked(Checked),
}

/// Waiting for a turn does not count: a busy host is not the module's fault.
async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, Refusal>>) -> Result<T, Refusal> {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
        Err(compile::exceeded(&format!(
            "took longer than {} s",
            limit.as_secs_f64()
        )))
    })
}

/// Waits for a turn.
async fn wait_for_turn(of: &Arc<Semaphore>) -> Result<Turn, Refusal> {
    match Arc::clone(of).acquire_owned().await {
        Ok(permit) => Ok(Turn {
            _permit: Arc::new(permit),
        }),
        Err(_) => Err(Refusal::new(
            Step::Compile,
            Refusal::HOST,
            "The host stops. Nothing has to be done.",
        )),
    }
}

impl Loader {
    /// Makes a loader for guests of this runtime, without a cache.
    pub fn new(runtime: Runtime, compiler: Compiler) -> Self {
        Self {
            runtime,
            compiler,
            cache: None,
            metrics: CompileMetrics::default(),
            looking: Arc::new(Semaphore::new(LOOKING)),
            compiling: Arc::new(Semaphore::new(COMPILING)),
        }
    }

    /// This loader with a cache, for [`Loader::load_cached`].
    #[must_use]
    pub fn with_cache(self, cache: Cache) -> Self {
        Self {
            cache: Some(cache),
            ..self
        }
    }

    /// Whether it has a cache, so that it is worth having its key.
    pub fn has_cache(&self) -> bool {
        self.cache.is_some()
    }

    /// What it counts.
    pub fn metrics(&self) -> &CompileMetrics {
        &self.metrics
    }

    /// The runtime whose guests it loads.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Takes a module up: plain, gzip or zstd; a component, or a core module that carries the contract.
    ///
    /// Works on threads of its own and in the [`Compiler`]'s place, never on the executor's. Given up half way, a child
    /// is killed.
    ///
    /// # Errors
    /// A [`Refusal`] with the step that the module did not pass.
    pub async fn load(&self, bytes: Vec<u8>) -> Result<Module, Refusal> {
        self.load_within_time(bytes, None).await
    }

    /// As [`Loader::load`], with what was compiled before if it is in the cache and authentic.
    ///
    /// # Errors
    /// As [`Loader::load`]; nothing about the cache is an error.
    pub async fn load_cached(&self, bytes: Vec<u8>, key: CacheKey) -> Result<Module, Refusal> {
        self.load_within_time(bytes, Some(key)).await
    }

    async fn load_within_time(&self, bytes: Vec<u8>, key: Option<CacheKey>) -> Result<Module, Refusal> {
        let turn = wait_for_turn(&self.looking).await?;
        let limit = self.runtime.capacity().compile;
        let looked = within(limit, self.look(bytes, key, &turn)).await?;
        drop(turn);
        let Looked {
            digest,
            size,
            entry,
            found,
            started,
        } = looked;
        let (interface, pre) = match found {
            Found::Kept(interface, pre) => (interface, pre),
            Found::Checked(Checked { component, interface }) => {
                let turn = wait_for_turn(&self.compiling).await?;
                let compiled = self.compiled(component, entry.map(|entry| (entry, interface.clone())), &turn);
                (interface, within(self.compiler.patience(limit), compiled).await?)
            }
        };
        let strict = interface.is_strict();
        let Interface { imports, .. } = interface;
        Ok(Module {
            loaded: Arc::new(Loaded {
                runtime: self.runtime.clone(),
                pre,
                digest,
            }),
            size,
            strict,
            imports: imports.into_iter().collect(),
            compile_time: started.elapsed(),
        })
    }

    /// What was compiled before, or all that can be told without compiling.
    async fn look(&self, bytes: Vec<u8>, key: Option<CacheKey>, turn: &Turn) -> Result<Looked, Refusal> {
        let cache = self.cache.clone().zip(key);
        let (runtime, metrics) = (self.runtime.clone(), self.metrics.clone());
        turn.work(move || {
            let started = Instant::now();
            let unpacked = bytes::unpack(&bytes)?;
            let digest = bytes::hex(&unpacked);
            let size = unpacked.len();
            let engine = compile::identity(runtime.engine());
            let entry = cache.map(|(cache, key)| cache.entry(&key, &digest, &engine));
            let kept = match &entry {
                Some(entry) => kept(&runtime, &metrics, entry)?,
                None => None,
            };
            let found = match kept {
                Some((interface, pre)) => Found::Kept(interface, pre),
                None => Found::Checked(check(unpacked)?),
            };
            Ok(Looked {
                digest: digest.into(),
                size,
                entry,
                found,
                started,
            })
        })
        .await
    }

    /// The module as the compiler makes it; kept for the next time.
    async fn compiled(
        &self,
        component: Vec<u8>,
        keep: Option<(Entry, Interface)>,
        turn: &Turn,
    ) -> Result<ReconcilerPre<State>, Refusal> {
        self.metrics.compiles.inc();
        let code = self.compiler.compile(&self.runtime, component, turn).await?;
        let (runtime, metrics) = (self.runtime.clone(), self.metrics.clone());
        turn.work(move || {
            let pre = link(&runtime, &code, keep.as_ref().map(|(entry, _)| entry.directory()))?;
            if let Some(Err(error)) = keep.map(|(entry, interface)| entry.write(&interface, &code)) {
                tracing::warn!("compiled code is not kept: {error}");
                metrics.cache("unwritable");
            }
            Ok(pre)
        })
        .await
    }
}

impl Turn {
    /// Works on a thread that may block.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let turn = self.clone();
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        work.await.unwrap_or_else(|_| {
            Err(Refusal::new(
                Step::Compile,
                "Invalid",
                "The compiler gave up on the module in a way that is a fault of the host's own. Please report it with the module.",
            ))
        })
    }
}

/// The module as it is in the cache, if that is of use. What it may import is looked at again, since the host that kept it
/// may have allowed more.
fn kept(
    runtime: &Runtime,
    metrics: &CompileMetrics,
    entry: &Entry,
) -> Result<Option<(Interface, ReconcilerPre<State>)>, Refusal> {
    let (result, found) = match entry.read() {
        Lookup::Miss => ("miss", None),
        Lookup::Torn => ("torn", None),
        Lookup::Forged => ("forged", None),
        Lookup::Hit(interface, code) => match link(runtime, &code, Some(entry.directory())) {
            Ok(pre) => ("hit", Some((interface, pre))),
            Err(_) => {
                entry.forget();
                ("torn", None)
            }
        },
    };
    metrics.cache(result);
    if let Some((interface, _)) = &found {
        interface.check()?;
    }
    Ok(found)
}

/// Takes a module for what it is, as [`Loader::load`] does before it compiles: unpacks it, and looks at what it wants and
/// offers.
///
/// # Errors
/// A [`Refusal`] with the step that the module did not pass.
pub fn inspect(bytes: &[u8]) -> Result<(), Refusal> {
    check(bytes::unpack(bytes)?).map(drop)
}

/// Everything that can be told from the bytes.
fn check(unpacked: Cow<'_, [u8]>) -> Result<Checked, Refusal> {
    let component = match bytes::form(&unpacked)? {
        Form::Component => unpacked.into_owned(),
        Form::CoreModule => {
            imports::check_core_module(&unpacked)?;
            encode(&unpacked)?
        }
    };
    let interface = imports::of_component(&component)?;
    interface.check()?;
    Ok(Checked { component, interface })
}

/// Links machine code with what this host offers.
fn link(runtime: &Runtime, code: &TrustedCode, directory: Option<&Path>) -> Result<ReconcilerPre<State>, Refusal> {
    let component = code.component(runtime.engine(), directory).map_err(|why| {
        Refusal::new(
            Step::Compile,
            "Invalid",
            format!("The compiled module does not fit this host: {why:#}. Build it again with the SDK."),
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
