//! Says what the host was told at its start.

use crate::api::Limits;
use std::collections::BTreeSet;
use std::time::Duration;
use windlass_core::events;

/// What the host was told at its start.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The host's own namespace.
    pub namespace: String,
    /// The host's own ServiceAccount, which no module may use.
    pub service_account: String,
    /// Name of this host in Events: the pod's name.
    pub instance: String,
    /// Namespaces whose ConfigMaps and ServiceAccounts the host reads.
    pub source_namespaces: BTreeSet<String>,
    /// Those of them in which a labelled ConfigMap gets a Reconciler by itself.
    pub drop_in_namespaces: BTreeSet<String>,
    /// How many primaries of a Reconciler are decided again in a second after a swap; the first ones at once.
    ///
    /// Stops: a new module for ten thousand primaries keeping everybody else, and the API server, waiting.
    pub decided_again_per_second: u32,
    /// How many decisions are taken at once.
    pub workers: usize,
    /// The most that `spec.limits` of a Reconciler may say.
    ///
    /// Stops: whoever may edit a Reconciler giving its module so much that all others have none.
    pub maxima: Limits,
    /// How long it is believed that an account has a right; the next decision after that asks again.
    ///
    /// Stops: a guest being shown what its account may not see any more.
    pub rights_believed: Duration,
    /// How long a Reconciler may not be looked at, so that what no watch tells is noticed without a decision too.
    pub sweep: Duration,
    /// How soon an Event is written again when there is news.
    ///
    /// Stops: a primary that flips between failing and well filling etcd.
    pub events_again: Duration,
}

impl Settings {
    /// The defaults: sources in the host's own namespace only.
    pub fn new(namespace: &str) -> Self {
        Self {
            namespace: namespace.into(),
            service_account: "windlass".into(),
            instance: "windlass".into(),
            source_namespaces: BTreeSet::from([namespace.into()]),
            drop_in_namespaces: BTreeSet::from([namespace.into()]),
            decided_again_per_second: 200,
            workers: 16,
            maxima: Self::maxima(),
            rights_believed: Duration::from_secs(60),
            sweep: Duration::from_secs(600),
            events_again: events::AGAIN,
        }
    }

    /// The maxima of a host that was told nothing else.
    pub fn maxima() -> Limits {
        Limits {
            memory_mebibytes: 256,
            time_milliseconds: 10_000,
            output_kibibytes: 16_384,
            children: 1_024,
        }
    }

    /// How long after a swap the primary of this number is decided again.
    pub fn decided_again_after(&self, number: usize) -> Duration {
        let behind = number.saturating_sub(self.workers);
        Duration::from_secs_f64(behind as f64 / f64::from(self.decided_again_per_second.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_swap_primaries_are_decided_again_at_the_rate_that_was_set() {
        let settings = Settings {
            workers: 16,
            decided_again_per_second: 100,
            ..Settings::new("windlass-system")
        };
        assert_eq!(settings.decided_again_after(0), Duration::ZERO);
        assert_eq!(settings.decided_again_after(16), Duration::ZERO);
        assert_eq!(settings.decided_again_after(116), Duration::from_secs(1));
    }
}
