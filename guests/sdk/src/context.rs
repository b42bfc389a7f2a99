//! Gives a decision what it may look at besides the primary, and asks for more.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::manifest::KindRef;
use crate::query::{Answer, Query};
use crate::seed::Seed;
use crate::stop::Stop;

/// Everything a decision knows besides its primary. The same context and primary must always give
/// the same result.
#[derive(Debug, Clone, PartialEq)]
pub struct Context<Settings> {
    /// The settings of the `Reconciler`, decoded; the default where it has none.
    pub settings: Settings,
    /// The `Reconciler` on whose behalf this is decided: its namespace and name.
    pub reconciler: (String, String),
    /// What this guest owns for this primary, as far as the manifest's projections show it, ordered by
    /// kind, namespace and name; one JSON text each.
    pub children: Vec<String>,
    /// Optional kinds of the manifest that the cluster does not serve now.
    pub not_served: Vec<KindRef>,
    /// The time since the Unix epoch, or 0 unless the manifest says `needs_clock`.
    pub now: Duration,
    pub(crate) seed: Option<Seed>,
    pub(crate) answers: BTreeMap<String, Answer>,
}

impl<Settings> Context<Settings> {
    /// Asks the host. From then on every change that could alter the answer wakes this primary.
    ///
    /// # Errors
    /// [`Stop::Ask`] while the host has not answered: pass it on with `?` and the decision is run again
    /// from its beginning with the answer there. A host does so a few times, so questions that do not
    /// depend on each other belong into one [`ask_all`](Context::ask_all).
    pub fn ask(&self, query: Query) -> Result<Answer, Stop> {
        self.ask_all([query]).map(|[answer]| answer)
    }

    /// Asks several questions in one round.
    ///
    /// # Errors
    /// As [`ask`](Context::ask).
    pub fn ask_all<const N: usize>(&self, queries: [Query; N]) -> Result<[Answer; N], Stop> {
        let missing = self.unanswered(&queries);
        if missing.is_empty() {
            Ok(queries.map(|query| self.answers[&query.id()].clone()))
        } else {
            Err(Stop::Ask(missing))
        }
    }

    /// As [`ask_all`](Context::ask_all), for a number of questions that is known only at run time.
    ///
    /// # Errors
    /// As [`ask`](Context::ask).
    pub fn ask_each(&self, queries: &[Query]) -> Result<Vec<Answer>, Stop> {
        let missing = self.unanswered(queries);
        if missing.is_empty() {
            Ok(queries.iter().map(|query| self.answers[&query.id()].clone()).collect())
        } else {
            Err(Stop::Ask(missing))
        }
    }

    /// The seed that passwords and keys are derived from, the same for this Reconciler and primary for ever.
    ///
    /// # Errors
    /// [`Stop::Fail`] where the manifest does not say [`needs_seed`](crate::Manifest::needs_seed).
    pub fn seed(&self) -> Result<&Seed, Stop> {
        self.seed.as_ref().ok_or_else(|| {
            Stop::invalid(
                "The guest wants its seed, and its manifest does not say so. This is no fault of this object: add \
                 `.needs_seed()` to what the guest's `describe` returns.",
            )
        })
    }

    fn unanswered(&self, queries: &[Query]) -> Vec<Query> {
        let mut missing: Vec<Query> = Vec::new();
        for query in queries {
            if !self.answers.contains_key(&query.id()) && !missing.contains(query) {
                missing.push(query.clone());
            }
        }
        missing
    }
}
