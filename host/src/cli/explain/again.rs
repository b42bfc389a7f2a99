//! Takes the decision about one primary again: what runs for its Reconciler, on what a person may read.

use super::caretakers::Caretaker;
use super::looking::Looking;
use crate::cli::module;
use crate::cluster::{Cluster, WatchEvent, WatchKey};
use crate::control;
use crate::guest::{DESCRIBE_TIME, Module};
use crate::host::Host;
use crate::reconcile::preview::{Preview, preview};
use crate::reconcilers::borrowed;
use crate::running::{Activation, Watched};
use crate::settings::Settings;
use crate::store::ValueKey;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use tokio::time::Instant;
use windlass_core::canonical::IntentKey;
use windlass_core::change::Dependencies;
use windlass_core::decision::Query;
use windlass_core::key::{Key, PrimaryName};
use windlass_core::kind::KindRef;
use windlass_core::manifest::Manifest;
use windlass_core::names::LABEL_PRIMARY_UID;
use windlass_core::object::Object;
use windlass_core::project;
use windlass_core::schema::{ConditionsSchema, Served};
use windlass_core::selector::Selector;
use windlass_core::write::{Actor, Identity, Target};

/// In place of the host's key, which nobody but the host may read: no real seed is ever derived, and no real value shown.
const KEY: &[u8; 32] = b"windlass explain: not a secret. ";
/// How often a guest may ask, and once more to see that it asks no further.
const ROUNDS: usize = 6;

/// A decision that was taken again.
pub(super) struct Again {
    pub(super) activation: Activation,
    pub(super) looked: Preview,
    /// Rights of the account that were believed, in words.
    pub(super) believed: Vec<String>,
}

/// Why a decision was not taken again.
pub(super) enum Not {
    /// There is none to take: why.
    Needed(String),
    /// It cannot be, for want of something: what.
    Possible(String),
}

/// Takes the decision again.
pub(super) async fn again(
    cluster: &Arc<dyn Cluster>,
    host_namespace: &str,
    caretaker: &Caretaker,
    reconcilers: Option<&[Object]>,
    primary: &Object,
) -> Result<Again, Not> {
    let looking = Arc::new(Looking::new(Arc::clone(cluster)));
    let loader = module::loader().map_err(|error| Not::Possible(format!("{error:#}")))?;
    let host = Host::new(
        Settings::new(host_namespace),
        looking.clone() as Arc<dyn Cluster>,
        loader,
    );
    let desk = Desk {
        host: &host,
        looking: &looking,
    };
    if let Some(reconcilers) = reconcilers {
        desk.put_all(&control::reconcilers(), reconcilers.to_vec());
    }
    let activation = desk.activation(caretaker).await.map_err(Not::Possible)?;
    stands_apart(&activation, primary).map_or(Ok(()), |why| Err(Not::Needed(why)))?;
    desk.put_primary_and_children(&activation, primary)
        .await
        .map_err(Not::Possible)?;
    let key = Key::new(activation.id.clone(), PrimaryName::of(primary));
    let mut answered = BTreeSet::new();
    for _ in 0..ROUNDS {
        let looked = preview(&host, &activation, &key).await.map_err(Not::Possible)?;
        let Some(looked) = looked else {
            return Err(Not::Needed("there is nothing to decide about it".into()));
        };
        let queries = looked.asked.iter().map(|(query, _)| query.clone());
        let open: Vec<Query> = queries.filter(|query| answered.insert(query.clone())).collect();
        if open.is_empty() {
            return Ok(Again {
                believed: looking.believed(),
                looked,
                activation,
            });
        }
        for query in &open {
            desk.put_answer(&activation, query).await.map_err(Not::Possible)?;
        }
    }
    Err(Not::Possible("the module asks on and on".into()))
}

/// Why nothing is decided about an object that is in the claim of its Reconciler.
fn stands_apart(activation: &Activation, primary: &Object) -> Option<String> {
    let selector = &activation.manifest.primary.selector;
    let matches = Selector::parse(selector).is_ok_and(|selector| selector.matches(primary));
    if !matches {
        return Some(format!(
            "its module is about objects with the labels {selector} alone, and this one has others"
        ));
    }
    None
}

/// A host that does not run, and where it looks.
struct Desk<'a> {
    host: &'a Host,
    looking: &'a Looking,
}

impl Desk<'_> {
    fn put_all(&self, key: &WatchKey, objects: Vec<Object>) {
        self.host.store.open(key);
        self.host.store.take(key, WatchEvent::Listed(objects));
    }

    fn put(&self, key: &WatchKey, object: Object) {
        self.host.store.open(key);
        let object = project::for_store(object, &key.projection);
        self.host.store.take(key, WatchEvent::Applied(object));
    }

    /// The module that runs, taken up here as the host has it.
    async fn activation(&self, caretaker: &Caretaker) -> Result<Activation, String> {
        let (id, spec, status) = (&caretaker.id, &caretaker.spec, &caretaker.status);
        let (Some(active), Some(claim)) = (&status.active, &status.claim) else {
            return Err("no module runs".into());
        };
        let mut unread = Vec::new();
        for namespace in BTreeSet::from([self.host.settings.namespace.as_str(), &id.namespace]) {
            let key = control::config_maps(namespace);
            match self.looking.list_metadata(key.kind.clone(), namespace).await {
                Ok(config_maps) => self.put_all(&key, config_maps),
                Err(why) => unread.push(why),
            }
        }
        let bytes = borrowed::bytes(self.host, id, spec, &active.digest).await;
        let bytes = bytes.map_err(|why| if unread.is_empty() { why } else { unread.join("; ") })?;
        let refused = |refusal: crate::guest::Refusal| format!("the module is refused here: {refusal}");
        let module: Module = self.host.loader.load(bytes).await.map_err(refused)?;
        let settings = Value::Object(active.settings.clone().unwrap_or_default());
        // More than usual may have been allowed to the host.
        let (limits, outcome_limits) = borrowed::within(&spec.limits, &spec.limits)?;
        let manifest = module
            .describe(&settings, &limits.clone().with_time(DESCRIBE_TIME))
            .await;
        let manifest = manifest.map_err(refused)?;
        let not_served = self.not_served(&manifest).await?;
        let namespaces = claim.scopes();
        let watched = Watched::derive(id, &manifest, &namespaces, &not_served);
        self.host.store.hide_values_with(ValueKey::derive(KEY));
        let mut policy = spec.policy();
        // Values of Secrets are not for everybody who may ask why.
        policy.secret_values = false;
        Ok(Activation {
            id: id.clone(),
            actor: Actor {
                reconciler: id.clone(),
                identity: Identity::ServiceAccount {
                    namespace: id.namespace.clone(),
                    name: spec.service_account_name.clone(),
                },
            },
            strict: module.is_strict(),
            guest: module.guest(&manifest, &limits),
            digest: active.digest.clone(),
            settings,
            claim: claim.clone(),
            served: self.served(&manifest).await,
            not_served,
            watched,
            namespaces,
            seed_key: manifest.needs_seed.then(|| KEY.to_vec()),
            intent_key: IntentKey::derive(KEY),
            dependencies: Mutex::new(Dependencies::default()),
            limits,
            outcome_limits,
            policy,
            unfinalized: Mutex::default(),
            breaker: Mutex::default(),
            contests: Mutex::default(),
            ending: Mutex::default(),
            writes: Mutex::new(HashMap::new()),
            since: Instant::now(),
            leaving: AtomicBool::new(false),
            manifest,
        })
    }

    /// How the primaries are served. Who may not read their CRD takes the usual for granted; it decides only what is written.
    async fn served(&self, manifest: &Manifest) -> Served {
        let kind = &manifest.primary.kind;
        let served = self.looking.discover(&kind.of).await.ok().flatten();
        served.unwrap_or_else(|| Served {
            kind: kind.clone(),
            status_subresource: true,
            conditions: ConditionsSchema::Keyed,
            observed_generation: true,
        })
    }

    async fn not_served(&self, manifest: &Manifest) -> Result<Vec<KindRef>, String> {
        let children = manifest.children.iter().map(|child| (&child.kind.of, child.optional));
        let reads = manifest.reads.iter().map(|read| (&read.kind.of, read.optional));
        let mut not_served = Vec::new();
        for (kind, _) in children.chain(reads).filter(|(_, optional)| *optional) {
            let served = self.looking.discover(kind).await;
            if served
                .map_err(|error| format!("whether {kind} is served: {error}"))?
                .is_none()
            {
                not_served.push(kind.clone());
            }
        }
        Ok(not_served)
    }

    async fn put_primary_and_children(&self, activation: &Activation, primary: &Object) -> Result<(), String> {
        let namespace = primary.namespace();
        if let Some(key) = activation.watched.primary(namespace) {
            self.put(key, primary.clone());
        }
        for key in &activation.watched.children {
            // Of a primary in a namespace they are nowhere else.
            let place = namespace.filter(|_| key.kind.namespaced);
            if key.namespace.is_some() && key.namespace.as_deref() != place {
                continue;
            }
            let narrow = WatchKey {
                namespace: place.map(Into::into),
                selector: format!("{},{LABEL_PRIMARY_UID}={}", key.selector, primary.uid()),
                ..key.clone()
            };
            let children = self.looking.list(narrow).await?;
            children.into_iter().for_each(|child| self.put(key, child));
        }
        Ok(())
    }

    /// What answers a query, as the watch of its kind would have it.
    async fn put_answer(&self, activation: &Activation, query: &Query) -> Result<(), String> {
        let Some(read) = activation.manifest.read(&query.of) else {
            return Ok(());
        };
        let namespace = query.namespace.clone().filter(|_| read.kind.namespaced);
        let Some(key) = activation.watched.read(&query.of, namespace.as_deref()) else {
            return Ok(());
        };
        let by_name = query.selection.name.as_ref();
        if let Some(name) = by_name.filter(|_| namespace.is_some() || !read.kind.namespaced) {
            let target = Target {
                kind: read.kind.clone(),
                namespace,
                name: name.clone(),
            };
            let selector = Selector::parse(&key.selector).map_err(|error| error.to_string())?;
            let found = self.looking.find(&target).await?;
            // Nothing else comes by the watch.
            let found = found.filter(|found| selector.matches(found));
            found.into_iter().for_each(|object| self.put(key, object));
            return Ok(());
        }
        let selectors = [key.selector.as_str(), query.selection.labels.as_str()];
        let selectors = selectors.into_iter().filter(|selector| !selector.is_empty());
        let narrow = WatchKey {
            namespace,
            selector: selectors.collect::<Vec<_>>().join(","),
            ..key.clone()
        };
        let found = self.looking.list(narrow).await?;
        found.into_iter().for_each(|object| self.put(key, object));
        Ok(())
    }
}
