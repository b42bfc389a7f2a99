//! Takes a module from its source to a swap, step by step; the running one is replaced only after the last.

use super::{consent, release, secrets, settle, source};
use crate::api::{ReconcilerSpec, Refused};
use crate::cluster::ReadError;
use crate::guest::{DESCRIBE_TIME, Limits};
use crate::host::Host;
use crate::running::{Activation, Described, Slot, Watched};
use crate::store::Sync;
use crate::store::watches::User;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;
use windlass_core::change::Dependencies;
use windlass_core::key::PrimaryName;
use windlass_core::key::ReconcilerId;
use windlass_core::kind::KindRef;
use windlass_core::manifest::Manifest;
use windlass_core::object::Object;
use windlass_core::reason::Reason;
use windlass_core::rights::{self, Access};
use windlass_core::schema::Served;
use windlass_core::write::{Actor, Identity};

/// The conditions of a Reconciler besides `Ready`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gate {
    /// A module was fetched, accepted and compiled, and described itself.
    Loaded,
    /// The ServiceAccount exists, consents and has the rights.
    Permitted,
    /// The kinds are served and their watches listed.
    Synced,
}

/// Why a Reconciler does not run what its source and spec say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// The module was refused; nothing is tried again before the source or the settings change.
    Refused(Refused),
    /// What is asked was not listed yet: nothing can be said, and nothing is written, before it is (C-13).
    NotYet,
    /// Something is missing.
    Waiting {
        /// Which condition is not met.
        gate: Gate,
        /// Why, in a word.
        reason: Reason,
        /// Why, in a sentence, and what to do.
        message: String,
        /// Looked at again with a growing delay, because no watch will tell.
        retry: bool,
    },
}

impl Halt {
    pub(super) fn waiting(gate: Gate, reason: Reason, message: impl Into<String>) -> Self {
        Self::Waiting {
            gate,
            reason,
            message: message.into(),
            retry: true,
        }
    }

    /// As [`Halt::waiting`] where a watch will tell.
    pub(super) fn watched(gate: Gate, reason: Reason, message: impl Into<String>) -> Self {
        Self::Waiting {
            gate,
            reason,
            message: message.into(),
            retry: false,
        }
    }

    fn unreadable(gate: Gate, what: &str, error: &ReadError) -> Self {
        Self::waiting(
            gate,
            Reason::ClusterUnavailable,
            format!("{what} could not be read: {error}"),
        )
    }
}

/// Takes every step; the module runs when this gives `Ok`.
pub(super) async fn take(
    host: &Arc<Host>,
    reconciler: &Object,
    spec: &ReconcilerSpec,
    slot: &mut Slot,
) -> Result<Arc<Activation>, Halt> {
    let id = &ReconcilerId::new(reconciler.namespace().unwrap_or_default(), reconciler.name());
    let limits = limits(spec);
    let (manifest, settings) = module(host, id, spec, slot, &limits).await?;
    let actor = Actor {
        reconciler: id.clone(),
        identity: Identity::ServiceAccount {
            namespace: id.namespace.clone(),
            name: spec.service_account_name.clone(),
        },
    };
    let namespaces = namespaces(id, spec, &manifest)?;
    if let Err(halt) = consent::given(host, id, &spec.service_account_name) {
        if halt != Halt::NotYet {
            // Impersonating an account that is gone still works while its bindings stay: without consent nothing goes on.
            settle::stop_deciding(host, id);
        }
        return Err(halt);
    }
    granted(host, &actor.identity, rights::needed(&manifest, &namespaces), slot).await?;
    let (served, not_served) = kinds(host, &manifest).await?;
    let watched = Watched::derive(id, &manifest, &namespaces, &not_served);
    synced(host, id, &watched)?;
    let seed_key = if manifest.needs_seed {
        Some(host.seed_key().await.map_err(seed_halt)?)
    } else {
        None
    };
    release::hold(host, reconciler, &manifest)
        .await
        .map_err(|error| Halt::waiting(Gate::Permitted, Reason::ClusterUnavailable, error.to_string()))?;
    let Some(module) = &slot.module else {
        return Err(Halt::waiting(
            Gate::Loaded,
            Reason::InternalError,
            "the module was lost; it is loaded again",
        ));
    };
    let digest = module.digest().to_owned();
    if let Some(active) = host.running.active(id)
        && (&active.digest, &active.settings, &active.actor) == (&digest, &settings, &actor)
        && (&active.watched, &active.served, &active.limits) == (&watched, &served, &limits)
    {
        return Ok(active);
    }
    Ok(swap(
        host,
        Activation {
            id: id.clone(),
            strict: module.is_strict(),
            guest: module.guest(&manifest, &limits),
            dependencies: Mutex::new(Dependencies::default()),
            leaving: AtomicBool::new(false),
            writes: Mutex::new(HashMap::new()),
            since: Instant::now(),
            actor,
            digest,
            manifest,
            settings,
            served,
            not_served,
            watched,
            namespaces,
            seed_key,
            limits,
        },
    ))
}

fn limits(spec: &ReconcilerSpec) -> Limits {
    Limits {
        memory: (spec.limits.memory_mebibytes as usize) << 20,
        time: Duration::from_millis(spec.limits.time_milliseconds.into()),
        ..Limits::default()
    }
}

/// Source to manifest: fetch, load, describe; each only if its inputs changed.
async fn module(
    host: &Arc<Host>,
    id: &ReconcilerId,
    spec: &ReconcilerSpec,
    slot: &mut Slot,
    limits: &Limits,
) -> Result<(Manifest, Value), Halt> {
    let bytes = source::fetch(host, id, spec, slot).await?;
    let Some(fetched) = &slot.fetched else {
        return Err(Halt::waiting(
            Gate::Loaded,
            Reason::SourceMissing,
            "the source was not fetched",
        ));
    };
    let (digest, settings) = (fetched.digest.clone(), fetched.settings.clone());
    if let Some((refused, with, within, why)) = &slot.refused
        && (refused, with, within) == (&digest, &settings, limits)
    {
        return Err(Halt::Refused(why.clone()));
    }
    if let Some(described) = &slot.described
        && (&described.digest, &described.settings) == (&digest, &settings)
    {
        return Ok((described.manifest.clone(), settings));
    }
    let refuse = |slot: &mut Slot, refusal: crate::guest::Refusal| {
        if refusal.is_passing() {
            return Halt::waiting(Gate::Loaded, Reason::InternalError, refusal.message);
        }
        let why = Refused {
            digest: digest.clone(),
            step: refusal.step.to_string(),
            reason: refusal.cause.to_owned(),
            message: refusal.message,
            rights_hash: None,
        };
        tracing::warn!(reconciler = %id, digest, step = why.step, reason = why.reason, "module refused: {}", why.message);
        host.metrics.module_refused(&why.reason);
        slot.refused = Some((digest.clone(), settings.clone(), limits.clone(), why.clone()));
        Halt::Refused(why)
    };
    if slot.module.as_ref().is_none_or(|module| module.digest() != digest) {
        slot.module = Some(match host.modules.get(&digest) {
            Some(shared) => shared,
            None => {
                let bytes = match bytes {
                    Some(bytes) => bytes,
                    None => source::fetch_again(host, id, spec, slot).await?,
                };
                let loaded = host.modules.get_or_load(&digest, host.load(bytes)).await;
                loaded.map_err(|refusal| refuse(slot, refusal))?
            }
        });
    }
    let Some(module) = slot.module.clone() else {
        return Err(Halt::waiting(
            Gate::Loaded,
            Reason::InternalError,
            "the module was lost; it is loaded again",
        ));
    };
    let manifest = module
        .describe(&settings, &limits.clone().with_time(DESCRIBE_TIME))
        .await
        .and_then(secrets::checked)
        .map_err(|refusal| refuse(slot, refusal))?;
    slot.refused = None;
    slot.described = Some(Described {
        digest,
        settings: settings.clone(),
        manifest: manifest.clone(),
    });
    Ok((manifest, settings))
}

/// The claim: where its primaries are.
fn namespaces(id: &ReconcilerId, spec: &ReconcilerSpec, manifest: &Manifest) -> Result<Vec<Option<String>>, Halt> {
    let everywhere = spec.namespaces.iter().any(|namespace| namespace == "*");
    if everywhere {
        return Ok(vec![None]);
    }
    if !manifest.primary.kind.namespaced {
        let message = format!(
            "{} has no namespace, and this Reconciler is for single namespaces only: set spec.namespaces to [\"*\"]",
            manifest.primary.kind.of.kind
        );
        return Err(Halt::watched(Gate::Synced, Reason::Invalid, message));
    }
    let named: BTreeSet<String> = spec.namespaces.iter().cloned().collect();
    let named = if named.is_empty() {
        BTreeSet::from([id.namespace.clone()])
    } else {
        named
    };
    Ok(named.into_iter().map(Some).collect())
}

async fn granted(host: &Host, identity: &Identity, needed: Vec<Access>, slot: &mut Slot) -> Result<(), Halt> {
    if let Some((to, what)) = &slot.granted
        && (to, what) == (identity, &needed)
    {
        return Ok(());
    }
    slot.granted = None;
    let mut missing = Vec::new();
    for access in &needed {
        match host.permissions.allowed(&*host.cluster, identity, access).await {
            Ok(true) => {}
            Ok(false) => missing.push(consent::rule(access)),
            Err(ReadError::Forbidden(words)) => {
                let message = format!(
                    "the host may not act as the ServiceAccount: {words}; `windlass rbac` prints the roles for a module"
                );
                return Err(Halt::waiting(Gate::Permitted, Reason::ApplyForbidden, message));
            }
            Err(error) => {
                return Err(Halt::unreadable(
                    Gate::Permitted,
                    "what the ServiceAccount may do",
                    &error,
                ));
            }
        }
    }
    if missing.is_empty() {
        slot.granted = Some((identity.clone(), needed));
        return Ok(());
    }
    let message = format!(
        "the ServiceAccount lacks rights that the module needs: {}; `windlass rbac` prints the roles for a module",
        missing.join(", ")
    );
    Err(Halt::waiting(Gate::Permitted, Reason::ApplyForbidden, message))
}

/// How the primary's kind is served, and which optional kinds are not.
async fn kinds(host: &Host, manifest: &Manifest) -> Result<(Served, Vec<KindRef>), Halt> {
    let unreadable = |error| Halt::unreadable(Gate::Synced, "which kinds are served", &error);
    let missing = |kind: &KindRef| {
        let message = format!("the cluster does not serve {kind} yet; it is taken up as soon as its CRD is there");
        Halt::watched(Gate::Synced, Reason::DependencyMissing, message)
    };
    let primary = &manifest.primary.kind.of;
    let served = host.kinds.served(&*host.cluster, primary).await.map_err(unreadable)?;
    let served = served.ok_or_else(|| missing(primary))?;
    if manifest.writes_status && !served.status_subresource {
        let message =
            format!("{primary} has no status subresource, which the module's status needs: add it to its CRD");
        return Err(Halt::watched(Gate::Synced, Reason::DependencyMissing, message));
    }
    let children = manifest.children.iter().map(|child| (&child.kind.of, child.optional));
    let reads = manifest.reads.iter().map(|read| (&read.kind.of, read.optional));
    let mut not_served = Vec::new();
    for (kind, optional) in children.chain(reads) {
        match host.kinds.served(&*host.cluster, kind).await.map_err(unreadable)? {
            Some(_) => {}
            None if optional => not_served.push(kind.clone()),
            None => return Err(missing(kind)),
        }
    }
    Ok((served, not_served))
}

/// Opens the watches beside those that run, and waits until each was listed: no guest is called before.
fn synced(host: &Host, id: &ReconcilerId, watched: &Watched) -> Result<(), Halt> {
    let mut keys = watched.keys();
    if let Some(active) = host.running.active(id) {
        keys.extend(active.watched.keys());
    }
    host.watches.require(&User::Reconciler(id.clone()), &keys);
    let mut not_yet = false;
    for key in watched.keys() {
        let trouble = match host.store.sync(&key) {
            Sync::Synced(_) => continue,
            Sync::Waiting(None) | Sync::Closed => {
                not_yet = true;
                continue;
            }
            Sync::Waiting(Some(trouble)) => trouble,
        };
        let place = key
            .namespace
            .as_deref()
            .map_or("all namespaces".into(), |namespace| format!("namespace {namespace}"));
        let message = format!("{} in {place} cannot be watched yet: {trouble}", key.kind.of);
        return Err(Halt::watched(Gate::Synced, Reason::DependencyMissing, message));
    }
    if not_yet { Err(Halt::NotYet) } else { Ok(()) }
}

/// Replaces what runs, and has every primary decided again.
fn swap(host: &Arc<Host>, activation: Activation) -> Arc<Activation> {
    let activation = Arc::new(activation);
    let id = &activation.id;
    tracing::info!(
        reconciler = %id,
        guest = activation.manifest.name,
        version = activation.manifest.version,
        digest = activation.digest,
        "module taken up"
    );
    host.running.activate(Arc::clone(&activation));
    host.watches
        .require(&User::Reconciler(id.clone()), &activation.watched.keys());
    for primary in activation.primaries(&host.store) {
        host.decisions.add_resync(activation.key(PrimaryName::of(&primary)));
    }
    host.metrics.swaps.inc();
    activation
}

fn seed_halt(message: String) -> Halt {
    Halt::waiting(Gate::Loaded, Reason::ClusterUnavailable, message)
}
