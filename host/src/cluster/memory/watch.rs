//! Fans changes out to watches, and knows when all of them have been taken in.

use super::store::{Place, Shared, State};
use crate::cluster::{WatchEvent, WatchKey};
use futures::Stream;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use windlass_core::object::Object;
use windlass_core::project::for_store;
use windlass_core::rights::Access;
use windlass_core::selector::Selector;
use windlass_core::write::Identity;

/// All open watches.
#[derive(Debug, Default)]
pub(super) struct Watches {
    next: u64,
    open: BTreeMap<u64, Watch>,
}

#[derive(Debug)]
struct Watch {
    key: WatchKey,
    selector: Option<Selector>,
    /// Whether the last thing said was a list or a change.
    following: bool,
    /// Whether the last thing said was a failure.
    failed: bool,
    /// What the watch last said is there.
    shown: BTreeSet<Place>,
    waiting: VecDeque<WatchEvent>,
    /// Whether the consumer has taken everything and come back for more.
    idle: bool,
    waker: Option<Waker>,
}

impl Watch {
    fn push(&mut self, event: WatchEvent) {
        self.waiting.push_back(event);
        self.idle = false;
    }

    fn fail(&mut self, message: String) {
        if !self.failed {
            self.push(WatchEvent::Failed(message));
        }
        self.failed = true;
        self.following = false;
        self.shown.clear();
    }

    fn concerns(&self, place: &Place) -> bool {
        let of = &self.key.kind.of;
        let here = self.key.namespace.is_none() || self.key.namespace == place.namespace;
        here && of.group == place.group && of.kind == place.kind
    }

    fn selects(&self, object: &Object) -> bool {
        self.selector.as_ref().is_some_and(|selector| selector.matches(object))
    }

    /// The object as this watch shows it.
    fn cut(&self, object: &Object) -> Object {
        for_store(
            as_version(object.clone(), &self.key.kind.of.api_version()),
            &self.key.projection,
        )
    }

    fn follow(&mut self, place: &Place, before: Option<&Object>, after: Option<&Object>, resource_version: &str) {
        if !self.following || !self.concerns(place) {
            return;
        }
        match after.filter(|after| self.selects(after)) {
            Some(after) => {
                self.shown.insert(place.clone());
                self.push(WatchEvent::Applied(self.cut(after)));
            }
            None => {
                let Some(before) = before.filter(|_| self.shown.remove(place)) else {
                    return;
                };
                let mut last = self.cut(before);
                last.metadata_mut()
                    .insert("resourceVersion".into(), resource_version.into());
                self.push(WatchEvent::Deleted(last));
            }
        }
    }
}

/// The object as it is read under another version of its kind: nothing is converted, as without a webhook.
pub(super) fn as_version(mut object: Object, api_version: &str) -> Object {
    object.0.insert("apiVersion".into(), api_version.into());
    object
}

impl Watches {
    /// Tells every watch that it concerns of a change.
    pub(super) fn follow(
        &mut self,
        place: &Place,
        before: Option<&Object>,
        after: Option<&Object>,
        resource_version: &str,
    ) {
        for watch in self.open.values_mut() {
            watch.follow(place, before, after, resource_version);
        }
    }

    /// Whether every consumer has taken all events and come back for more.
    pub(super) fn drained(&self) -> bool {
        self.open.values().all(|watch| watch.idle)
    }

    /// The consumers that have something to take. To be woken without the lock, since waking may drop a stream.
    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        self.open
            .values_mut()
            .filter(|watch| !watch.idle)
            .filter_map(|watch| watch.waker.take())
            .collect()
    }

    /// How many watches are open.
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }
}

impl State {
    /// Opens a watch and says what there is.
    pub(super) fn open_watch(&mut self, key: WatchKey) -> u64 {
        let id = self.watches.next;
        self.watches.next += 1;
        let watch = Watch {
            selector: Selector::parse(&key.selector).ok(),
            key,
            following: false,
            failed: false,
            shown: BTreeSet::new(),
            waiting: VecDeque::new(),
            idle: false,
            waker: None,
        };
        self.watches.open.insert(id, watch);
        self.list_for(id);
        id
    }

    /// Brings watches in line with what is served and allowed now.
    pub(super) fn refresh_watches(&mut self) {
        let ids: Vec<u64> = self.watches.open.keys().copied().collect();
        for id in ids {
            let Some(watch) = self.watches.open.get(&id) else {
                continue;
            };
            if watch.following != self.refusal(&watch.key).is_none() {
                self.list_for(id);
            }
        }
    }

    /// Breaks every watch, and mends it at once.
    pub(super) fn break_watches(&mut self, message: &str) {
        let ids: Vec<u64> = self.watches.open.keys().copied().collect();
        for id in ids {
            if let Some(watch) = self.watches.open.get_mut(&id) {
                watch.fail(message.into());
            }
            self.list_for(id);
        }
    }

    fn list_for(&mut self, id: u64) {
        let Some(watch) = self.watches.open.get(&id) else {
            return;
        };
        let refusal = self.refusal(&watch.key);
        let mut shown = BTreeSet::new();
        let mut listed = Vec::new();
        for (place, object) in self.of_kind(&watch.key.kind.of) {
            if watch.concerns(place) && watch.selects(object) {
                shown.insert(place.clone());
                listed.push(watch.cut(object));
            }
        }
        let Some(watch) = self.watches.open.get_mut(&id) else {
            return;
        };
        match refusal {
            Some(message) => watch.fail(message),
            None => {
                watch.following = true;
                watch.failed = false;
                watch.shown = shown;
                watch.push(WatchEvent::Listed(listed));
            }
        }
    }

    /// Why a watch cannot be served, in the server's words.
    fn refusal(&self, key: &WatchKey) -> Option<String> {
        if self.kinds.find(&key.kind.of).is_none() {
            return Some("the server could not find the requested resource".into());
        }
        if let Err(error) = Selector::parse(&key.selector) {
            return Some(format!("unable to parse requirement: {error}"));
        }
        ["list", "watch"].into_iter().find_map(|verb| {
            let access = Access {
                verb: verb.into(),
                group: key.kind.of.group.clone(),
                resource: key.kind.plural.clone(),
                namespace: key.namespace.clone(),
            };
            self.rights
                .check(&Identity::Host, &access, "")
                .err()
                .map(|error| error.to_string())
        })
    }
}

/// The consumer's end of a watch. Dropping it closes the watch.
pub(super) struct WatchStream {
    pub(super) shared: Arc<Shared>,
    pub(super) id: u64,
}

impl Stream for WatchStream {
    type Item = WatchEvent;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<WatchEvent>> {
        let mut old_waker = None;
        let polled = self.shared.with(|state| {
            let Some(watch) = state.watches.open.get_mut(&self.id) else {
                return Poll::Ready(None);
            };
            let event = watch.waiting.pop_front();
            watch.idle = event.is_none();
            if watch.idle {
                old_waker = watch.waker.replace(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(event)
        });
        if polled.is_pending() {
            self.shared.taken.notify_waiters();
        }
        drop(old_waker);
        polled
    }
}

impl Drop for WatchStream {
    fn drop(&mut self) {
        let closed = self.shared.with(|state| state.watches.open.remove(&self.id));
        drop(closed);
        self.shared.taken.notify_waiters();
    }
}
