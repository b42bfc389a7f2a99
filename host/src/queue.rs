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

mod lane;

use lane::{Lane, Paused, Row};

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
    /// Failed, and of no use before this long: wanted again then, or soon after, so that not all come at once.
    NotBefore(Duration),
}

/// A queue of keys.
///
/// Guarantees: a key is never run twice at a time; a key added while it runs is run again afterwards; keys woken by
/// changes go before keys that are tried again, and those before keys of a resync; a failing key delays no other. Of a lane
/// that is paused one key at a time is tried, and none that failed before while it rests.
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
    /// Lanes that are paused.
    paused: HashMap<K::Lane, Paused<K>>,
    /// Every key that waits in some lane, and in which of its rows: the deduplication.
    waiting: HashMap<K, Row>,
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

impl<K: Queued> Queue<K> {
    /// Makes an empty queue whose failed keys come back after these delays.
    pub fn new(backoff: Backoff) -> Self {
        Self {
            state: Mutex::new(State {
                turns: VecDeque::new(),
                lanes: HashMap::new(),
                paused: HashMap::new(),
                waiting: HashMap::new(),
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
        self.lock().enqueue(key, Row::Woken);
        self.changed.notify_one();
    }

    /// Adds a key for a resync, behind all keys that something has woken.
    pub fn add_resync(&self, key: K) {
        self.lock().enqueue(key, Row::Resync);
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
                let now = Instant::now();
                state.wake_due(now);
                if let Some(key) = state.take(now) {
                    if !state.waiting.is_empty() {
                        self.changed.notify_one();
                    }
                    return Some(key);
                }
                state.next_due(now)
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
        if let Some(paused) = state.paused.get_mut(&key.lane())
            && paused.trying.as_ref() == Some(key)
        {
            paused.trying = None;
        }
        match ended {
            Ended::Failed => {
                let failures = state.failures.entry(key.clone()).or_default();
                *failures = failures.saturating_add(1);
                let delay = self.backoff.delay(*failures, jitter);
                if !again {
                    state.delay(key.clone(), delay);
                }
            }
            Ended::NotBefore(wait) => {
                state.failures.entry(key.clone()).or_insert(1);
                let spread = (wait / 4).min(self.backoff.cap);
                if !again {
                    state.delay(key.clone(), wait + spread.mul_f64(jitter.clamp(0.0, 1.0)));
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
            state.enqueue(key.clone(), Row::Woken);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Pauses a lane: keys that failed the last time are not tried for so long, others one at a time every `fresh`. To be
    /// called before the run that is the reason has [`Queue::ended`].
    pub fn pause(&self, lane: &K::Lane, fresh: Duration, any: Duration) {
        let now = Instant::now();
        let paused = Paused {
            fresh: now + fresh.min(any),
            any: now + any,
            trying: None,
        };
        self.lock().paused.insert(lane.clone(), paused);
        self.changed.notify_one();
    }

    /// Ends the pause of a lane, if there is one.
    pub fn resume(&self, lane: &K::Lane) {
        self.lock().paused.remove(lane);
        self.changed.notify_one();
    }

    /// How many lanes are paused.
    pub fn paused(&self) -> usize {
        self.lock().paused.len()
    }

    /// Forgets every key of a lane that is not running.
    pub fn forget_lane(&self, lane: &K::Lane) {
        let mut state = self.lock();
        state.lanes.remove(lane);
        state.turns.retain(|other| other != lane);
        state.paused.remove(lane);
        state.waiting.retain(|key, _| key.lane() != *lane);
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

    /// Whether nothing runs and nothing waits; keys with a delay, and those of lanes that are paused, do not count.
    pub fn is_idle(&self) -> bool {
        let state = self.lock();
        let waits = |key: &K| !state.paused.contains_key(&key.lane());
        state.running.is_empty() && !state.waiting.keys().any(waits)
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
    fn enqueue(&mut self, key: K, row: Row) {
        if let Some(due) = self.due.remove(&key) {
            self.delayed.remove(&due);
        }
        if self.running.contains(&key) {
            self.again.insert(key);
            return;
        }
        match self.waiting.get(&key) {
            // What changed may be the cure: it is not held back for what it did before.
            Some(Row::Retried) if row == Row::Woken => {}
            Some(_) => return,
            None => {}
        }
        self.waiting.insert(key.clone(), row);
        let name = key.lane();
        if !self.lanes.contains_key(&name) {
            self.turns.push_back(name.clone());
        }
        self.lanes.entry(name).or_default().add(key, row);
    }

    fn delay(&mut self, key: K, delay: Duration) {
        if self.waiting.contains_key(&key) {
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
            let row = if self.failures.contains_key(&key) {
                Row::Retried
            } else {
                Row::Woken
            };
            self.enqueue(key, row);
        }
    }

    /// The next time at which a key that waits or is delayed may be run.
    fn next_due(&self, now: Instant) -> Option<Instant> {
        let delayed = self.delayed.keys().next().map(|(due, _)| *due);
        let paused = self.paused.iter().filter(|(lane, paused)| {
            // A try that ends wakes somebody itself.
            self.lanes.contains_key(*lane) && paused.trying.is_none()
        });
        let tried = paused.map(|(_, paused)| if paused.fresh > now { paused.fresh } else { paused.any });
        delayed.into_iter().chain(tried).min()
    }

    fn take(&mut self, now: Instant) -> Option<K> {
        for _ in 0..self.turns.len() {
            let name = self.turns.pop_front()?;
            let key = self.take_from(&name, now);
            let waits = self.lanes.get(&name).is_some_and(|lane| !lane.is_empty());
            if waits {
                self.turns.push_back(name);
            } else {
                self.lanes.remove(&name);
            }
            if let Some(key) = key {
                self.waiting.remove(&key);
                self.running.insert(key.clone());
                return Some(key);
            }
        }
        None
    }

    /// The next key of a lane that may be run now.
    fn take_from(&mut self, name: &K::Lane, now: Instant) -> Option<K> {
        let lane = self.lanes.get_mut(name)?;
        let waiting = &self.waiting;
        let mut next = |row: Row| lane.next(row, |key| waiting.get(key) == Some(&row));
        let Some(paused) = self.paused.get_mut(name) else {
            return next(Row::Woken)
                .or_else(|| next(Row::Retried))
                .or_else(|| next(Row::Resync));
        };
        if paused.trying.is_some() || now < paused.fresh {
            return None;
        }
        let mut key = next(Row::Woken).or_else(|| next(Row::Resync));
        if key.is_none() && now >= paused.any {
            key = next(Row::Retried);
        }
        paused.trying.clone_from(&key);
        key
    }
}

#[cfg(test)]
mod tests;
