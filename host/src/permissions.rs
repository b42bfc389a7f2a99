//! Remembers for a while what the cluster's authorizer said about an account.

use crate::cluster::{Cluster, ReadError};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use windlass_core::rights::Access;
use windlass_core::write::Identity;

/// Answers kept at most. What is above that is asked each time; it cannot grow with what guests ask.
const KEPT: usize = 10_000;

/// What the authorizer said.
#[derive(Debug)]
pub struct Permissions {
    /// How long a yes is believed, so that a right that was taken away is soon felt (DESIGN §6).
    believed: Duration,
    answers: Mutex<HashMap<(Identity, Access), (bool, Instant)>>,
}

impl Permissions {
    /// Nothing is known yet; a yes is believed for so long.
    pub fn believed_for(believed: Duration) -> Self {
        Self {
            believed,
            answers: Mutex::default(),
        }
    }

    /// Whether an identity may do something.
    ///
    /// # Errors
    /// If the authorizer could not be asked; that is not a no.
    pub async fn allowed(
        &self,
        cluster: &dyn Cluster,
        identity: &Identity,
        access: &Access,
    ) -> Result<bool, ReadError> {
        let question = (identity.clone(), access.clone());
        let now = Instant::now();
        if let Some((allowed, until)) = self
            .answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&question)
            && *until > now
        {
            return Ok(*allowed);
        }
        let allowed = cluster.review(identity, access).await?;
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= KEPT {
            answers.retain(|_, (_, until)| *until > now);
        }
        // A no is asked again at the next decision: whoever grants a right should not wait for a minute.
        if allowed && answers.len() < KEPT {
            answers.insert(question, (allowed, now + self.believed));
        }
        Ok(allowed)
    }

    /// Forgets what was said about an identity.
    pub fn forget(&self, identity: &Identity) {
        self.answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|(of, _), _| of != identity);
    }
}
