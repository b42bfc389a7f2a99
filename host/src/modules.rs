//! Shares one compiled module among all Reconcilers that use the same bytes (F-15).

use crate::guest::Module;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The modules in use, by digest. Holds none itself: the last user's end is the module's.
#[derive(Debug, Default)]
pub struct Modules {
    /// One lock for each module that is being loaded, so that whoever wants the same one finds it, and whoever wants
    /// another does not wait.
    loading: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    by_digest: Mutex<HashMap<String, Weak<Module>>>,
}

impl Modules {
    /// The module of a digest, if somebody uses it.
    pub fn get(&self, digest: &str) -> Option<Arc<Module>> {
        self.by_digest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(digest)?
            .upgrade()
    }

    /// The module of a digest; loaded only if nobody uses it, and once however many ask at the same time.
    ///
    /// # Errors
    /// Why it was not loaded.
    pub async fn get_or_load<E>(
        &self,
        digest: &str,
        load: impl Future<Output = Result<Module, E>>,
    ) -> Result<Arc<Module>, E> {
        let mine = {
            let mut loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
            // A lock that only this map knows is nobody's any more.
            loading.retain(|_, lock| Arc::strong_count(lock) > 1);
            Arc::clone(loading.entry(digest.to_owned()).or_default())
        };
        let _turn = mine.lock().await;
        match self.get(digest) {
            Some(shared) => Ok(shared),
            None => Ok(self.share(load.await?)),
        }
    }

    /// Lets others share a module.
    pub fn share(&self, module: Module) -> Arc<Module> {
        let module = Arc::new(module);
        let mut modules = self.by_digest.lock().unwrap_or_else(PoisonError::into_inner);
        modules.retain(|_, module| module.strong_count() > 0);
        modules.insert(module.digest().to_owned(), Arc::downgrade(&module));
        module
    }
}
