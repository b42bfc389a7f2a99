//! Holds keys that want work: each once, one run per key at a time, fair between lanes, failures delayed by key.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;
use windlass_core::backoff::Backoff;
use windlass_core::key::{Key, ReconcilerId};

/// What a queue holds: a key that knows which lane it waits in. Lanes take turns, so that one with a thousand keys does
/// not delay another with one (G-03).
pub trait Queued: Clone + Debug + Eq + Hash + Send + 'static {
    /// Names a lane.
    type Lane: Clone + Debug + Eq + Hash + Send + 'static;

    /// The lane in which this key waits.
    fn lane(&self) -> Self::Lane;
}

impl Queued for Key {
    type Lane = ReconcilerId;

    fn lane(&self) -> ReconcilerId {
        self.reconciler.clone()
    }
}

impl Queued for ReconcilerId {
    type Lane = Self;

    fn lane(&self) -> Self {
        self.clone()
    }
}

/// How a run ended, as far as the queue must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Done until something changes.
    Done,
    /// Done, and wanted again after this long.
    After(Duration),
    /// Failed: wanted again after the key's growing delay.
    Failed,
}

/// A queue of keys.
///
/// Guarantees: a key is never run twice at a time; a key added while it runs is run again afterwards; keys woken by
/// changes go before keys of a resync; a failing key delays no other.
///
/// Bound: one entry per key, so it cannot outgrow the objects that exist.
#[derive(Debug)]
pub struct Queue<K: Queued> {
    state: Mutex<State<K>>,
    changed: Notify,
    backoff: Backoff,
}

#[derive(Debug)]
struct State<K: Queued> {
    /// Lanes with work, each once, in the order of their turns.
    turns: VecDeque<K::Lane>,
    lanes: HashMap<K::Lane, Lane<K>>,
    /// Every key that waits in some lane: the deduplication.
    waiting: HashSet<K>,
    running: HashSet<K>,
    /// Added while running; go back into their lane when the run ends.
    again: HashSet<K>,
    /// By due time and a serial number, since two keys may be due at once.
    delayed: BTreeMap<(Instant, u64), K>,
    due: HashMap<K, (Instant, u64)>,
    serial: u64,
    failures: HashMap<K, u32>,
    closed: bool,
}

#[derive(Debug)]
struct Lane<K> {
    woken: VecDeque<K>,
    resync: VecDeque<K>,
}

impl<K: Queued> Queue<K> {
    /// Makes an empty queue whose failed keys come back after these delays.
    pub fn new(backoff: Backoff) -> Self {
        Self {
            state: Mutex::new(State {
                turns: VecDeque::new(),
                lanes: HashMap::new(),
                waiting: HashSet::new(),
                running: HashSet::new(),
                again: HashSet::new(),
                delayed: BTreeMap::new(),
                due: HashMap::new(),
                serial: 0,
                failures: HashMap::new(),
                closed: false,
            }),
            changed: Notify::new(),
            backoff,
        }
    }

    /// Adds a key because something changed. A delay that it was waiting for is dropped: what changed may be the cure.
    pub fn add(&self, key: K) {
        self.lock().enqueue(key, true);
        self.changed.notify_one();
    }

    /// Adds a key for a resync, behind all keys that something has woken.
    pub fn add_resync(&self, key: K) {
        self.lock().enqueue(key, false);
        self.changed.notify_one();
    }

    /// Adds a key after a delay, or sooner if it is already due sooner.
    pub fn add_after(&self, key: K, delay: Duration) {
        self.lock().delay(key, delay);
        self.changed.notify_one();
    }

    /// Waits for the next key and marks it as running; none once the queue is closed.
    pub async fn next(&self) -> Option<K> {
        loop {
            let notified = self.changed.notified();
            let due = {
                let mut state = self.lock();
                if state.closed {
                    self.changed.notify_one();
                    return None;
                }
                state.wake_due(Instant::now());
                if let Some(key) = state.take() {
                    if !state.waiting.is_empty() {
                        self.changed.notify_one();
                    }
                    return Some(key);
                }
                state.delayed.keys().next().map(|(due, _)| *due)
            };
            match due {
                Some(due) => {
                    tokio::select! {
                        () = notified => {}
                        () = tokio::time::sleep_until(due) => {}
                    }
                }
                None => notified.await,
            }
        }
    }

    /// Ends the run of a key. `jitter` in 0..1 spreads the delay of a failure.
    pub fn ended(&self, key: &K, ended: Ended, jitter: f64) {
        let mut state = self.lock();
        state.running.remove(key);
        let again = state.again.remove(key);
        match ended {
            Ended::Failed => {
                let failures = state.failures.entry(key.clone()).or_default();
                *failures = failures.saturating_add(1);
                let delay = self.backoff.delay(*failures, jitter);
                if !again {
                    state.delay(key.clone(), delay);
                }
            }
            Ended::Done => {
                state.failures.remove(key);
            }
            Ended::After(delay) => {
                state.failures.remove(key);
                if !again {
                    state.delay(key.clone(), delay);
                }
            }
        }
        if again {
            state.enqueue(key.clone(), true);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Forgets every key of a lane that is not running.
    pub fn forget_lane(&self, lane: &K::Lane) {
        let mut state = self.lock();
        state.lanes.remove(lane);
        state.turns.retain(|other| other != lane);
        state.waiting.retain(|key| key.lane() != *lane);
        state.again.retain(|key| key.lane() != *lane);
        state.delayed.retain(|_, key| key.lane() != *lane);
        state.due.retain(|key, _| key.lane() != *lane);
        state.failures.retain(|key, _| key.lane() != *lane);
    }

    /// How many keys wait to be run now.
    pub fn depth(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Whether a key of a lane is being run.
    pub fn is_running(&self, lane: &K::Lane) -> bool {
        self.lock().running.iter().any(|key| key.lane() == *lane)
    }

    /// Whether this very key is being run.
    pub fn is_running_now(&self, key: &K) -> bool {
        self.lock().running.contains(key)
    }

    /// Whether nothing runs and nothing waits; keys with a delay do not count.
    pub fn is_idle(&self) -> bool {
        let state = self.lock();
        state.waiting.is_empty() && state.running.is_empty()
    }

    /// Lets every waiting `next` return none, now and later.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_waiters();
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        // A panic elsewhere must not stop the queue; every method leaves the state whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Queued> State<K> {
    fn enqueue(&mut self, key: K, woken: bool) {
        if let Some(due) = self.due.remove(&key) {
            self.delayed.remove(&due);
        }
        if self.running.contains(&key) {
            self.again.insert(key);
            return;
        }
        if !self.waiting.insert(key.clone()) {
            return;
        }
        let name = key.lane();
        if !self.lanes.contains_key(&name) {
            self.turns.push_back(name.clone());
        }
        let lane = self.lanes.entry(name).or_insert_with(|| Lane {
            woken: VecDeque::new(),
            resync: VecDeque::new(),
        });
        if woken {
            lane.woken.push_back(key)
        } else {
            lane.resync.push_back(key)
        }
    }

    fn delay(&mut self, key: K, delay: Duration) {
        if self.waiting.contains(&key) {
            return;
        }
        let at = Instant::now() + delay;
        if let Some(due) = self.due.get(&key) {
            if due.0 <= at {
                return;
            }
            self.delayed.remove(due);
        }
        self.serial += 1;
        self.due.insert(key.clone(), (at, self.serial));
        self.delayed.insert((at, self.serial), key);
    }

    fn wake_due(&mut self, now: Instant) {
        while let Some(entry) = self.delayed.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let key = entry.remove();
            self.due.remove(&key);
            self.enqueue(key, true);
        }
    }

    fn take(&mut self) -> Option<K> {
        let name = self.turns.pop_front()?;
        let lane = self.lanes.get_mut(&name)?;
        let key = lane.woken.pop_front().or_else(|| lane.resync.pop_front());
        if lane.woken.is_empty() && lane.resync.is_empty() {
            self.lanes.remove(&name);
        } else {
            self.turns.push_back(name);
        }
        let key = key?;
        self.waiting.remove(&key);
        self.running.insert(key.clone());
        Some(key)
    }
}

#[cfg(test)]
mod tests;
