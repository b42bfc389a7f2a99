//! Holds the objects with what the server keeps beside them: versions, uids, and who is owned by whom.

use super::history::Recorded;
use super::kinds::{Kinds, is_crd};
use super::review::Rights;
use super::watch::{Watches, as_version};
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;
use windlass_core::kind::KindRef;
use windlass_core::object::Object;
use windlass_core::write::WriteError;

/// Where an object is stored: its name, whatever version it is read in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place {
    /// API group.
    pub(super) group: String,
    /// Kind.
    pub(super) kind: String,
    /// Namespace, none for a cluster-scoped kind.
    pub(super) namespace: Option<String>,
    /// Name.
    pub(super) name: String,
}

impl Place {
    /// The place of a named object of a kind.
    pub(super) fn new(of: &KindRef, namespace: Option<&str>, name: &str) -> Self {
        let (group, kind) = (of.group.clone(), of.kind.clone());
        Self {
            group,
            kind,
            namespace: namespace.map(Into::into),
            name: name.into(),
        }
    }

    /// The place of a Namespace.
    pub(super) fn of_namespace(name: &str) -> Self {
        Self::new(&KindRef::new("", "v1", "Namespace"), None, name)
    }
}

/// What the collector has still to look at.
#[derive(Clone, Debug)]
pub(super) enum Chore {
    /// An object that names owners: are there any left?
    Owners(Place),
    /// An object being deleted: can it go?
    Settle(Place),
}

/// Everything that the cluster knows.
pub(super) struct State {
    /// Kinds that are served.
    pub(super) kinds: Kinds,
    /// Access rules.
    pub(super) rights: Rights,
    /// Open watches.
    pub(super) watches: Watches,
    /// Every write so far.
    pub(super) history: Vec<Recorded>,
    /// Errors that the next writes through the port get.
    pub(super) failures: VecDeque<WriteError>,
    /// What the collector has still to do.
    pub(super) chores: VecDeque<Chore>,
    /// Uids of objects that are gone.
    pub(super) gone: HashSet<String>,
    /// Uids of owners that loaded objects name without being loaded themselves: taken to be there.
    pub(super) assumed: HashSet<String>,
    /// Places of objects by the uid of an owner.
    pub(super) dependents: HashMap<String, BTreeSet<Place>>,
    /// Places by uid.
    pub(super) uids: HashMap<String, Place>,
    objects: BTreeMap<Place, Object>,
    now: Box<dyn Fn() -> Timestamp + Send + Sync>,
    ahead: SignedDuration,
    versions: u64,
    made: u64,
}

/// The state behind its lock.
pub(super) struct Shared {
    state: Mutex<State>,
    /// Told when a consumer has come back for more.
    pub(super) taken: Notify,
}

impl Shared {
    /// Puts a state behind a lock.
    pub(super) fn new(state: State) -> Self {
        Self {
            state: Mutex::new(state),
            taken: Notify::new(),
        }
    }

    /// Works on the state, and wakes whoever has something to take then.
    pub(super) fn with<R>(&self, work: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let result = work(&mut state);
        let to_wake = state.watches.take_wakers();
        drop(state);
        to_wake.into_iter().for_each(std::task::Waker::wake);
        result
    }
}

impl State {
    /// An empty cluster that serves the builtin kinds.
    pub(super) fn new(now: Box<dyn Fn() -> Timestamp + Send + Sync>) -> Self {
        Self {
            kinds: Kinds::builtin(),
            rights: Rights::default(),
            watches: Watches::default(),
            history: Vec::new(),
            failures: VecDeque::new(),
            chores: VecDeque::new(),
            gone: HashSet::new(),
            assumed: HashSet::new(),
            dependents: HashMap::new(),
            uids: HashMap::new(),
            objects: BTreeMap::new(),
            now,
            ahead: SignedDuration::ZERO,
            versions: 0,
            made: 0,
        }
    }

    /// Moves the clock.
    pub(super) fn advance(&mut self, by: SignedDuration) {
        self.ahead = self.ahead.saturating_add(by);
    }

    /// The time as metadata holds it.
    pub(super) fn time(&self) -> String {
        let now = (self.now)();
        now.checked_add(self.ahead)
            .unwrap_or(now)
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string()
    }

    /// A uid that nothing has had.
    pub(super) fn new_uid(&mut self) -> String {
        loop {
            self.made += 1;
            let uid = format!("00000000-0000-4000-8000-{:012x}", self.made);
            if !self.uids.contains_key(&uid) && !self.gone.contains(&uid) {
                return uid;
            }
        }
    }

    /// The object there.
    pub(super) fn object(&self, place: &Place) -> Option<&Object> {
        self.objects.get(place)
    }

    /// The object there, as a version of its kind shows it.
    pub(super) fn read(&self, place: &Place, of: &KindRef) -> Option<Object> {
        self.objects
            .get(place)
            .map(|object| as_version(object.clone(), &of.api_version()))
    }

    /// All objects of a kind, in order of namespace and name.
    pub(super) fn of_kind<'a>(&'a self, of: &KindRef) -> impl Iterator<Item = (&'a Place, &'a Object)> + use<'a> {
        let (group, kind) = (of.group.clone(), of.kind.clone());
        self.objects
            .range(Place::new(of, None, "")..)
            .take_while(move |(at, _)| at.group == group && at.kind == kind)
    }

    /// All objects.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Place, &Object)> {
        self.objects.iter()
    }

    /// Stores an object under a new resourceVersion, and tells the watches.
    pub(super) fn put(&mut self, place: &Place, mut object: Object) -> Object {
        let resource_version = self.new_version();
        object
            .metadata_mut()
            .insert("resourceVersion".into(), resource_version.clone().into());
        let before = self.objects.insert(place.clone(), object.clone());
        if let Some(before) = &before {
            self.unlink(place, before);
        }
        self.link(place, &object);
        self.watches
            .follow(place, before.as_ref(), Some(&object), &resource_version);
        if is_crd(&object.kind()) && before.is_none_or(|before| before.at(&["spec"]) != object.at(&["spec"])) {
            self.kinds.establish(&object);
            self.refresh_watches();
        }
        if !object.owner_references().is_empty() {
            self.chores.push_back(Chore::Owners(place.clone()));
        }
        if object.is_being_deleted() {
            self.chores.push_back(Chore::Settle(place.clone()));
        }
        object
    }

    /// Takes an object out, and tells the watches.
    pub(super) fn remove(&mut self, place: &Place) -> Option<Object> {
        let object = self.objects.remove(place)?;
        let resource_version = self.new_version();
        self.unlink(place, &object);
        self.watches.follow(place, Some(&object), None, &resource_version);
        if is_crd(&object.kind()) {
            self.kinds.forget(&object);
            self.refresh_watches();
        }
        self.gone.insert(object.uid().into());
        let dependents = self.dependents.get(object.uid()).cloned().unwrap_or_default();
        self.chores.extend(dependents.into_iter().map(Chore::Owners));
        let owners = object.owner_references();
        let waiting = owners.iter().filter_map(|owner| self.uids.get(&owner.uid)).cloned();
        self.chores.extend(waiting.map(Chore::Settle));
        self.chores
            .extend(self.containers(place).into_iter().map(Chore::Settle));
        Some(object)
    }

    /// What must be empty before it can go: the object's Namespace and CRD, if these are being deleted.
    fn containers(&self, place: &Place) -> Vec<Place> {
        let namespace = place.namespace.as_deref().map(Place::of_namespace);
        let crds = self.of_kind(&KindRef::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition"));
        let crd = crds
            .filter(|(_, crd)| crd.is_being_deleted())
            .map(|(place, _)| place.clone());
        let deleted = |place: &Place| self.object(place).is_some_and(Object::is_being_deleted);
        namespace.into_iter().filter(deleted).chain(crd).collect()
    }

    fn new_version(&mut self) -> String {
        self.versions += 1;
        self.versions.to_string()
    }

    fn link(&mut self, place: &Place, object: &Object) {
        self.uids.insert(object.uid().into(), place.clone());
        for owner in object.owner_references() {
            self.dependents.entry(owner.uid).or_default().insert(place.clone());
        }
    }

    fn unlink(&mut self, place: &Place, object: &Object) {
        self.uids.remove(object.uid());
        for owner in object.owner_references() {
            if let Some(places) = self.dependents.get_mut(&owner.uid) {
                places.remove(place);
                if places.is_empty() {
                    self.dependents.remove(&owner.uid);
                }
            }
        }
    }
}
