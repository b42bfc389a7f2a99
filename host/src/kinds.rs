//! Remembers which kinds the cluster serves, until a CRD of their group changes.

use crate::cluster::{Cluster, ReadError};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use windlass_core::kind::KindRef;
use windlass_core::schema::Served;

/// What discovery said.
///
/// Only what is served is remembered: absence is asked again, and ended by the watch on CRDs (K-01).
#[derive(Debug, Default)]
pub struct Kinds {
    served: Mutex<HashMap<KindRef, Served>>,
}

impl Kinds {
    /// How a kind is served now; none if it is not.
    ///
    /// # Errors
    /// If the cluster could not be asked.
    pub async fn served(&self, cluster: &dyn Cluster, kind: &KindRef) -> Result<Option<Served>, ReadError> {
        if let Some(served) = self.served.lock().unwrap_or_else(PoisonError::into_inner).get(kind) {
            return Ok(Some(served.clone()));
        }
        let served = cluster.discover(kind).await?;
        if let Some(served) = &served {
            self.served
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(kind.clone(), served.clone());
        }
        Ok(served)
    }

    /// Forgets a group, because a CRD of it changed.
    pub fn forget_group(&self, group: &str) {
        self.served
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|kind, _| kind.group != group);
    }
}
