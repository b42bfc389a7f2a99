//! Derives from a manifest which watches a guest needs.

use crate::cluster::WatchKey;
use std::collections::BTreeSet;
use windlass_core::key::ReconcilerId;
use windlass_core::kind::{KindInfo, KindRef};
use windlass_core::manifest::{Manifest, Projection};
use windlass_core::names::children_selector;

/// The watches of one guest, by what they are for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Where its primaries are.
    pub primaries: Vec<WatchKey>,
    /// Where the children it made are, found by our labels.
    pub children: Vec<WatchKey>,
    /// What it may ask about.
    pub reads: Vec<WatchKey>,
}

impl Watched {
    /// The watches that a manifest needs in these namespaces (none: all of them), without the kinds that are not served.
    pub fn derive(
        id: &ReconcilerId,
        manifest: &Manifest,
        namespaces: &[Option<String>],
        not_served: &[KindRef],
    ) -> Self {
        let served = |kind: &KindInfo| !not_served.contains(&kind.of);
        let scopes = |kind: &KindInfo| {
            if kind.namespaced {
                namespaces.to_vec()
            } else {
                vec![None]
            }
        };
        let keys = |kind: &KindInfo, scopes: Vec<Option<String>>, selector: &str, projection: &Projection| {
            let key = |namespace| WatchKey {
                kind: kind.clone(),
                namespace,
                selector: selector.into(),
                projection: projection.clone(),
            };
            scopes.into_iter().map(key).collect::<Vec<_>>()
        };
        let primary = &manifest.primary;
        // What the status says now decides whether it is written, so it has to be there.
        let projection = if manifest.writes_status {
            &Projection::Full
        } else {
            &primary.projection
        };
        let selector = children_selector(id);
        let children = manifest.children.iter().filter(|child| served(&child.kind));
        let reads = manifest.reads.iter().filter(|read| served(&read.kind));
        Self {
            primaries: keys(&primary.kind, scopes(&primary.kind), &primary.selector, projection),
            children: children
                .flat_map(|child| keys(&child.kind, scopes(&child.kind), &selector, &child.projection))
                .collect(),
            reads: reads
                .flat_map(|read| {
                    let scopes = if read.all_namespaces {
                        vec![None]
                    } else {
                        scopes(&read.kind)
                    };
                    keys(&read.kind, scopes, &read.selector, &read.projection)
                })
                .collect(),
        }
    }

    /// All of them.
    pub fn keys(&self) -> BTreeSet<WatchKey> {
        self.primaries
            .iter()
            .chain(&self.children)
            .chain(&self.reads)
            .cloned()
            .collect()
    }

    /// The watch that holds the primaries of a namespace.
    pub fn primary(&self, namespace: Option<&str>) -> Option<&WatchKey> {
        self.primaries.iter().find(|key| covers(key, namespace))
    }

    /// The watch that holds children of a kind in a namespace.
    pub fn child(&self, of: &KindRef, namespace: Option<&str>) -> Option<&WatchKey> {
        self.children
            .iter()
            .find(|key| key.kind.of.same_group_kind(of) && covers(key, namespace))
    }

    /// The watch that answers for a kind in a namespace, or in all of them.
    pub fn read(&self, of: &KindRef, namespace: Option<&str>) -> Option<&WatchKey> {
        self.reads
            .iter()
            .find(|key| key.kind.of.same_group_kind(of) && covers(key, namespace))
    }
}

fn covers(key: &WatchKey, namespace: Option<&str>) -> bool {
    key.namespace.is_none() || key.namespace.as_deref() == namespace
}
