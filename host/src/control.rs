//! Follows what the host itself lives by: Reconcilers, sources, accounts and CRDs.

use crate::api::{RECONCILER_CRD, reconciler_kind};
use crate::cluster::WatchKey;
use crate::host::Host;
use crate::store::Sync;
use crate::store::watches::User;
use std::collections::BTreeSet;
use windlass_core::change::Change;
use windlass_core::key::ReconcilerId;
use windlass_core::kind::KindInfo;
use windlass_core::manifest::Projection;
use windlass_core::names::LABEL_MODULE;
use windlass_core::object::Object;

/// The watch on CRDs, which tells when a kind comes or goes.
pub fn crds() -> WatchKey {
    let kind = KindInfo::cluster_scoped(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    );
    WatchKey {
        kind,
        namespace: None,
        selector: String::new(),
        projection: Projection::Metadata,
    }
}

/// The watch on Reconcilers.
pub fn reconcilers() -> WatchKey {
    WatchKey {
        kind: reconciler_kind(),
        namespace: None,
        selector: String::new(),
        projection: Projection::Full,
    }
}

/// The watch on the ConfigMaps of a source namespace. Their bytes are fetched when they changed, and not kept.
pub fn config_maps(namespace: &str) -> WatchKey {
    metadata_of(KindInfo::namespaced("", "v1", "ConfigMap", "configmaps"), namespace)
}

/// The watch on the ServiceAccounts of a source namespace.
pub fn service_accounts(namespace: &str) -> WatchKey {
    metadata_of(
        KindInfo::namespaced("", "v1", "ServiceAccount", "serviceaccounts"),
        namespace,
    )
}

fn metadata_of(kind: KindInfo, namespace: &str) -> WatchKey {
    WatchKey {
        kind,
        namespace: Some(namespace.into()),
        selector: String::new(),
        projection: Projection::Metadata,
    }
}

/// Opens the host's own watches. The one on Reconcilers waits for their CRD, which may come later.
pub fn watch(host: &Host) {
    let mut keys = BTreeSet::from([crds()]);
    for namespace in &host.settings.source_namespaces {
        keys.insert(config_maps(namespace));
        keys.insert(service_accounts(namespace));
    }
    if host.store.get(&crds(), None, RECONCILER_CRD).is_some() {
        keys.insert(reconcilers());
    }
    host.watches.require(&User::Host, &keys);
}

/// Why the host cannot work now; empty if it can.
pub fn trouble(host: &Host) -> Vec<String> {
    let open = host
        .watches
        .keys()
        .into_iter()
        .filter(|key| host.watches.users(key).contains(&User::Host));
    open.filter_map(|key| match host.store.sync(&key) {
        Sync::Synced(None) | Sync::Closed => None,
        Sync::Waiting(None) => Some(format!("{}: not listed yet", key.kind)),
        Sync::Waiting(Some(trouble)) | Sync::Synced(Some(trouble)) => Some(format!("{}: {trouble}", key.kind)),
    })
    .collect()
}

/// The kinds of Reconcilers that cannot be watched now, each once. That is theirs, and no reason for the host not to be ready;
/// whoever looks at its probe is told all the same (I-07).
pub fn blind(host: &Host) -> Vec<String> {
    let mut kinds: Vec<String> = host
        .watches
        .keys()
        .into_iter()
        .filter(|key| !host.watches.users(key).contains(&User::Host))
        .filter(|key| matches!(host.store.sync(key), Sync::Waiting(Some(_)) | Sync::Synced(Some(_))))
        .map(|key| key.kind.to_string())
        .collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

/// A watch of the host's own was listed, broke or mended.
pub fn synced(host: &Host, key: &WatchKey) {
    if let Sync::Synced(None) = host.store.sync(key) {
        tracing::debug!(kind = %key.kind, "listed");
        all_reconcilers(host).into_iter().for_each(|id| host.settling.add(id));
    }
}

/// Something of the host's own watches changed: queues the Reconcilers that it concerns.
pub fn changed(host: &Host, key: &WatchKey, changes: &[Change]) {
    let objects = || {
        changes
            .iter()
            .filter_map(|change| change.new.as_ref().or(change.old.as_ref()))
    };
    match key.kind.of.kind.as_str() {
        "Reconciler" => objects().for_each(|object| host.settling.add(id_of(object))),
        "ConfigMap" => {
            for object in objects() {
                if object.label(LABEL_MODULE) == Some("true") {
                    host.settling.add(id_of(object));
                }
                sources_changed(host, object);
            }
        }
        "ServiceAccount" => objects().for_each(|object| concerned(host, object, &["spec", "serviceAccountName"])),
        _ => crds_changed(host, objects()),
    }
}

fn crds_changed<'a>(host: &Host, crds: impl Iterator<Item = &'a Object>) {
    for crd in crds {
        if crd.name() == RECONCILER_CRD {
            watch(host);
        }
        if let Some((_, group)) = crd.name().split_once('.') {
            host.kinds.forget_group(group);
        }
    }
    all_reconcilers(host).into_iter().for_each(|id| host.settling.add(id));
}

/// Queues the Reconcilers that were read from a ConfigMap, or are to be.
fn sources_changed(host: &Host, config_map: &Object) {
    for reconciler in host.store.all(&reconcilers()) {
        let id = id_of(&reconciler);
        let named = reconciler.text_at(&["spec", "source", "configMap", "name"]) == Some(config_map.name());
        if reconciler.namespace() == config_map.namespace() && (named || host.slots.reads(&id, config_map.name())) {
            host.settling.add(id);
        }
    }
}

/// Queues the Reconcilers of the object's namespace that name it at a path.
fn concerned(host: &Host, object: &Object, path: &[&str]) {
    for reconciler in host.store.all(&reconcilers()) {
        if reconciler.namespace() == object.namespace() && reconciler.text_at(path) == Some(object.name()) {
            host.settling.add(id_of(&reconciler));
        }
    }
}

/// Every Reconciler there is, and every drop-in that wants to be one.
fn all_reconcilers(host: &Host) -> BTreeSet<ReconcilerId> {
    let mut ids: BTreeSet<ReconcilerId> = host.store.all(&reconcilers()).iter().map(id_of).collect();
    for namespace in &host.settings.source_namespaces {
        let drop_ins = host.store.all(&config_maps(namespace));
        ids.extend(
            drop_ins
                .iter()
                .filter(|object| object.label(LABEL_MODULE) == Some("true"))
                .map(id_of),
        );
    }
    ids
}

fn id_of(object: &Object) -> ReconcilerId {
    ReconcilerId::new(object.namespace().unwrap_or_default(), object.name())
}
