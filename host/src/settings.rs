//! Says what the host was told at its start.

use std::collections::BTreeSet;

/// What the host was told at its start.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The host's own namespace.
    pub namespace: String,
    /// The host's own ServiceAccount, which no module may use.
    pub service_account: String,
    /// Name of this host in Events: the pod's name.
    pub instance: String,
    /// Namespaces whose ConfigMaps and ServiceAccounts the host reads, and which may drop modules in.
    pub source_namespaces: BTreeSet<String>,
    /// How many decisions are taken at once.
    pub workers: usize,
}

impl Settings {
    /// The defaults: sources in the host's own namespace only.
    pub fn new(namespace: &str) -> Self {
        Self {
            namespace: namespace.into(),
            service_account: "windlass".into(),
            instance: "windlass".into(),
            source_namespaces: BTreeSet::from([namespace.into()]),
            workers: 16,
        }
    }
}
