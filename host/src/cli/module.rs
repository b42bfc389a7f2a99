//! Opens a module that somebody names on the command line.

use crate::guest::{Allocation, Capacity, Compiler, DESCRIBE_TIME, Limits, Loader, Module, Runtime};
use anyhow::{Context, anyhow};
use clap::Args;
use serde_json::{Map, Value};
use std::path::PathBuf;
use windlass_core::manifest::Manifest;

/// Which module, and what it is told.
#[derive(Debug, Args)]
pub(super) struct ModuleArguments {
    /// The module: a component, or a core module that carries the contract; plain, gzip or zstd
    module: PathBuf,
    /// What the module is told, a YAML map
    #[arg(long)]
    settings: Option<PathBuf>,
}

/// A module that was taken up and has described itself.
pub(super) struct Opened {
    /// As they are in the file.
    pub(super) bytes: Vec<u8>,
    /// What it was told.
    pub(super) settings: Value,
    pub(super) loader: Loader,
    pub(super) module: Module,
    pub(super) manifest: Manifest,
}

impl ModuleArguments {
    /// A module with what it is told.
    pub(super) fn new(module: PathBuf, settings: Option<PathBuf>) -> Self {
        Self { module, settings }
    }

    /// Reads, compiles and asks the module, in this process.
    ///
    /// # Errors
    /// Names the file that cannot be read, or the module and why it is refused.
    pub(super) async fn open(&self) -> anyhow::Result<Opened> {
        self.open_bytes(self.read()?).await
    }

    /// The file as it is.
    ///
    /// # Errors
    /// Names the file that cannot be read.
    pub(super) fn read(&self) -> anyhow::Result<Vec<u8>> {
        std::fs::read(&self.module).with_context(|| format!("the module {} cannot be read", self.module.display()))
    }

    /// Whether somebody says what the module is told.
    pub(super) fn has_settings(&self) -> bool {
        self.settings.is_some()
    }

    /// Compiles and asks the module in the form in which it is given to a host.
    ///
    /// # Errors
    /// Names the module and why it is refused.
    pub(super) async fn open_bytes(&self, bytes: Vec<u8>) -> anyhow::Result<Opened> {
        let shown = self.module.display();
        let settings = self.settings()?;
        let loader = loader()?;
        let refused = |refusal| anyhow!("{refusal}").context(format!("the module {shown} is refused"));
        let module = loader.load(bytes.clone()).await.map_err(refused)?;
        let limits = Limits::default().with_time(DESCRIBE_TIME);
        let manifest = module.describe(&settings, &limits).await.map_err(refused)?;
        Ok(Opened {
            bytes,
            settings,
            loader,
            module,
            manifest,
        })
    }

    fn settings(&self) -> anyhow::Result<Value> {
        let Some(path) = &self.settings else {
            return Ok(Value::Object(Map::new()));
        };
        let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        let settings: Option<Map<String, Value>> =
            serde_saphyr::from_str(&text).with_context(|| format!("{} is not a YAML map", path.display()))?;
        Ok(Value::Object(settings.unwrap_or_default()))
    }
}

/// What takes up the one module of a command.
///
/// # Errors
/// If the runtime cannot be set up.
pub(super) fn loader() -> anyhow::Result<Loader> {
    // Nothing to reserve a pool for.
    let capacity = Capacity {
        allocation: Allocation::OnDemand,
        ..Capacity::default()
    };
    let runtime = Runtime::new(capacity).context("the WebAssembly runtime cannot be set up")?;
    Ok(Loader::new(runtime, Compiler::InProcess))
}
