//! Takes a module from its bytes to a swap, step by step; the running one is replaced only after the last.
//!
//! ```text
//! load -> describe -> rights approved -> account consents -> rights granted -> kinds served -> watches listed
//!   -> primaries claimed -> swap
//! ```

use super::choose::Candidate;
use super::halt::{Gate, Halt};
use super::slot::{Loaded, Slot};
use super::{approval, claim, consent, limits, release, secrets, settle};
use crate::api::{Claim, ReconcilerSpec, ReconcilerStatus, Refused};
use crate::cluster::WatchKey;
use crate::guest::{DESCRIBE_TIME, Limits, Step};
use crate::host::Host;
use crate::running::{Activation, Watched};
use crate::store::Sync;
use crate::store::watches::User;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::Instant;
use windlass_core::canonical::IntentKey;
use windlass_core::change::Dependencies;
use windlass_core::key::PrimaryName;
use windlass_core::key::ReconcilerId;
use windlass_core::kind::KindRef;
use windlass_core::manifest::Manifest;
use windlass_core::object::Object;
use windlass_core::reason::Reason;
use windlass_core::schema::Served;
use windlass_core::secrets::is_secret;
use windlass_core::write::{Actor, Identity};

/// How long after its start a host believes what the one before it refused.
const STARTING: Duration = Duration::from_secs(60);

/// Takes every step; the module runs when this gives `Ok`.
pub(super) async fn take(
    host: &Arc<Host>,
    reconciler: &Object,
    spec: &ReconcilerSpec,
    status: &ReconcilerStatus,
    slot: &mut Slot,
    candidate: &mut Candidate,
) -> Result<Arc<Activation>, Halt> {
    let id = &ReconcilerId::new(reconciler.namespace().unwrap_or_default(), reconciler.name());
    limits::settings(&candidate.settings)?;
    let (limits, outcome_limits) = limits::within(&spec.limits, &host.settings.maxima)?;
    let manifest = module(host, id, spec, status, slot, candidate, &limits).await?;
    approval::given(reconciler, spec, status, &manifest, &candidate.digest)?;
    let actor = Actor {
        reconciler: id.clone(),
        identity: Identity::ServiceAccount {
            namespace: id.namespace.clone(),
            name: spec.service_account_name.clone(),
        },
    };
    let namespaces = namespaces(id, spec, &manifest)?;
    if let Err(halt) = consent::given(host, reconciler, &actor, &spec.service_account_name, &namespaces) {
        if halt != Halt::NotYet {
            // Impersonating an account that is gone still works while its bindings stay: without consent nothing goes on.
            settle::stop_deciding(host, id);
        }
        return Err(halt);
    }
    let Some(loaded) = slot.loaded.get_mut(&candidate.digest) else {
        return Err(lost());
    };
    consent::granted(host, &actor, &manifest, &namespaces, loaded).await?;
    let module = Arc::clone(&loaded.module);
    let (served, not_served) = kinds(host, &manifest).await?;
    let watched = Watched::derive(id, &manifest, &namespaces, &not_served);
    secrets::hide(host, &watched).await?;
    let claim = Claim::of(&manifest, &namespaces);
    let leaving = release::leaving(reconciler, status.claim.as_ref(), &claim);
    synced(host, id, &watched, &leaving)?;
    let makes_secrets = manifest.children.iter().any(|child| is_secret(&child.kind));
    let host_key = if manifest.needs_seed || makes_secrets {
        Some(host.seed_key().await.map_err(seed_halt)?)
    } else {
        None
    };
    // Without the host's key it is of no use, and not used: who makes no Secrets has none to hash.
    let intent_key = IntentKey::derive(host_key.as_deref().unwrap_or_default());
    let seed_key = host_key.filter(|_| manifest.needs_seed);
    release::hold(host, reconciler, &manifest)
        .await
        .map_err(|error| Halt::waiting(Gate::Permitted, Reason::ClusterUnavailable, error.to_string()))?;
    // The last one: whoever cannot run keeps nobody else from it.
    claim::take(host, id, reconciler, &claim)?;
    let Candidate { digest, settings, .. } = candidate;
    let policy = spec.policy();
    if let Some(active) = host.running.active(id)
        && (&active.digest, &active.settings, &active.actor) == (digest, settings, &actor)
        && (&active.watched, &active.served, &active.policy) == (&watched, &served, &policy)
        && (&active.limits, &active.outcome_limits) == (&limits, &outcome_limits)
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
            digest: digest.clone(),
            manifest,
            settings: settings.clone(),
            claim,
            served,
            not_served,
            watched,
            namespaces,
            seed_key,
            intent_key,
            limits,
            outcome_limits,
            policy,
            unfinalized: Mutex::default(),
            breaker: Mutex::default(),
            contests: Mutex::default(),
            ending: Mutex::default(),
        },
        &leaving,
    ))
}

fn lost() -> Halt {
    Halt::waiting(
        Gate::Loaded,
        Reason::InternalError,
        "the module was lost; it is loaded again",
    )
}

/// Bytes to manifest: load, describe; each only if its inputs changed.
async fn module(
    host: &Arc<Host>,
    id: &ReconcilerId,
    spec: &ReconcilerSpec,
    status: &ReconcilerStatus,
    slot: &mut Slot,
    candidate: &mut Candidate,
    limits: &Limits,
) -> Result<Manifest, Halt> {
    let (digest, settings) = (candidate.digest.clone(), candidate.settings.clone());
    if let Some((refused, with, within, why)) = &slot.refused
        && (refused, with, within) == (&digest, &settings, limits)
    {
        return Err(Halt::Refused(why.clone()));
    }
    if let Some(why) = refused_before(host, id, status, &digest) {
        return Err(Halt::Refused(why));
    }
    if let Some(Loaded {
        described: Some((with, manifest)),
        ..
    }) = slot.loaded.get(&digest)
        && *with == settings
    {
        return Ok(manifest.clone());
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
    if !slot.loaded.contains_key(&digest) {
        let module = match host.modules.get(&digest) {
            Some(shared) => shared,
            None => {
                let bytes = candidate.bytes(host, id, spec, slot).await?;
                let loaded = host.modules.get_or_load(&digest, host.load(bytes.clone())).await;
                candidate.keep_bytes(bytes);
                loaded.map_err(|refusal| refuse(slot, refusal))?
            }
        };
        // The one that runs, and the one that may replace it.
        let running = host.running.active(id).map(|active| active.digest.clone());
        slot.loaded.retain(|other, _| running.as_ref() == Some(other));
        slot.loaded.insert(
            digest.clone(),
            Loaded {
                module,
                described: None,
                granted: None,
            },
        );
    }
    let Some(module) = slot.loaded.get(&digest).map(|loaded| Arc::clone(&loaded.module)) else {
        return Err(lost());
    };
    let manifest = module
        .describe(&settings, &limits.clone().with_time(DESCRIBE_TIME))
        .await
        .map_err(|refusal| refuse(slot, refusal))?;
    if slot.refused.as_ref().is_some_and(|(refused, ..)| *refused == digest) {
        slot.refused = None;
    }
    if let Some(loaded) = slot.loaded.get_mut(&digest) {
        loaded.described = Some((settings, manifest.clone()));
    }
    Ok(manifest)
}

/// What the host before this one refused for its bytes is believed while this one starts, and tried after that: twenty
/// modules that no compiler ends with must not keep one that is good from its start.
fn refused_before(host: &Host, id: &ReconcilerId, status: &ReconcilerStatus, digest: &str) -> Option<Refused> {
    let left = STARTING.checked_sub(host.started.elapsed())?;
    let of_bytes = [Step::Unpack, Step::Inspect, Step::Compile].map(|step| step.to_string());
    let refused = status.refused.as_ref()?;
    if refused.digest != digest || !of_bytes.contains(&refused.step) {
        return None;
    }
    host.settling.add_after(id.clone(), left);
    Some(refused.clone())
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
fn synced(host: &Host, id: &ReconcilerId, watched: &Watched, leaving: &BTreeSet<WatchKey>) -> Result<(), Halt> {
    let mut keys = watched.keys();
    keys.extend(leaving.iter().cloned());
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

/// Replaces what runs, and has every primary decided again: at once if nothing ran before, else at a bounded rate.
fn swap(host: &Arc<Host>, activation: Activation, leaving: &BTreeSet<WatchKey>) -> Arc<Activation> {
    let activation = Arc::new(activation);
    let id = &activation.id;
    tracing::info!(
        reconciler = %id,
        guest = activation.manifest.name,
        version = activation.manifest.version,
        digest = activation.digest,
        "module taken up"
    );
    let before = host.running.activate(Arc::clone(&activation));
    // Another module, or other settings, may do better.
    host.decisions.resume(id);
    let mut keys = activation.watched.keys();
    keys.extend(leaving.iter().cloned());
    host.watches.require(&User::Reconciler(id.clone()), &keys);
    for (number, primary) in activation.primaries(&host.store).iter().enumerate() {
        let key = activation.key(PrimaryName::of(primary));
        match &before {
            Some(_) => host.decisions.add_after(key, host.settings.decided_again_after(number)),
            None => host.decisions.add_resync(key),
        }
    }
    if before.is_some_and(|before| before.claim != activation.claim) {
        claim::freed(host);
    }
    host.metrics.swaps.inc();
    activation
}

fn seed_halt(message: String) -> Halt {
    Halt::waiting(Gate::Loaded, Reason::ClusterUnavailable, message)
}
