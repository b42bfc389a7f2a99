//! Measures what the cache of compiled code saves: loading from it, against compiling in a child.

use crate::comparison::Comparison;
use crate::effort::Effort;
use crate::modules::Guest;
use crate::quantity::Sample;
use anyhow::{Result, anyhow};
use std::path::Path;
use std::time::Instant;
use windlass::guest::{Cache, CacheKey, Capacity, Compiler, Loader, Runtime};

/// Loads modules as the host does: compiled in a child that is the program `windlass`, kept in `directory`.
pub(crate) struct Loading {
    /// What it loads with.
    pub(crate) loader: Loader,
    key: CacheKey,
}

impl Loading {
    /// Sets the engine up as the host does.
    ///
    /// # Errors
    /// If it cannot be set up.
    pub(crate) fn new(windlass: &Path, directory: &Path) -> Result<Self> {
        let runtime = Runtime::new(Capacity::default())?;
        Ok(Self::on(runtime, windlass, directory))
    }

    fn on(runtime: Runtime, windlass: &Path, directory: &Path) -> Self {
        let compiler = Compiler::Child(windlass.to_path_buf());
        Self {
            loader: Loader::new(runtime, compiler).with_cache(Cache::new(directory, Cache::LIMIT)),
            key: CacheKey::derive(b"the key of a host that only measures"),
        }
    }

    /// Takes a module up.
    ///
    /// # Errors
    /// If it is refused.
    pub(crate) async fn load(&self, module: Vec<u8>) -> Result<windlass::guest::Module> {
        let loaded = self.loader.load_cached(module, self.key.clone()).await;
        loaded.map_err(|refusal| anyhow!("{refusal}"))
    }

    /// How many it found in the cache.
    fn hits(&self) -> u64 {
        self.loader.metrics().cache_count("hit")
    }
}

/// Loads each module again and again, in turn with an empty cache and with the one that this left.
///
/// # Errors
/// If a module does not load, or is not found in the cache.
pub(crate) async fn measure(effort: &Effort, windlass: &Path) -> Result<Vec<Comparison>> {
    let runtime = Runtime::new(Capacity::default())?;
    let mut lines = Vec::new();
    for guest in [Guest::Nginx, Guest::Friend] {
        let (mut compiled, mut cached) = (Sample::new(), Sample::new());
        for number in 0..effort.loads {
            let directory = tempfile::tempdir()?;
            let loading = Loading::on(runtime.clone(), windlass, directory.path());
            let module = guest.variant(number);
            for times in [&mut compiled, &mut cached] {
                let module = module.clone();
                let began = Instant::now();
                loading.load(module).await?;
                times.add(began.elapsed());
            }
            anyhow::ensure!(loading.hits() == 1, "the code was not kept");
        }
        let what = format!("{}: a module loaded from the cache", guest.name());
        lines.push(Comparison::of(what, cached.quantity()).against("compiled in a child", compiled.quantity()));
    }
    Ok(lines)
}
