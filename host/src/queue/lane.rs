//! Is what waits for one Reconciler: keys in rows, and the pause that holds them back.

use std::collections::VecDeque;
use tokio::time::Instant;

/// The rows of a lane, in the order in which they are emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// Woken by a change, or wanted at this time.
    Woken,
    /// Failed the last time, and nothing has changed since.
    Retried,
    /// Of a resync.
    Resync,
}

/// Keys that wait. A key that moved on to another row is still in the first: only the row that `waiting` names counts.
#[derive(Debug)]
pub(super) struct Lane<K> {
    woken: VecDeque<K>,
    retried: VecDeque<K>,
    resync: VecDeque<K>,
}

/// A pause of a lane.
#[derive(Debug)]
pub(super) struct Paused<K> {
    /// From when on a key may be tried that did not fail the last time: whoever made a new object is not to wait for those
    /// of somebody else.
    pub(super) fresh: Instant,
    /// From when on any key may.
    pub(super) any: Instant,
    /// The key that is tried.
    pub(super) trying: Option<K>,
}

impl<K> Default for Lane<K> {
    fn default() -> Self {
        Self {
            woken: VecDeque::new(),
            retried: VecDeque::new(),
            resync: VecDeque::new(),
        }
    }
}

impl<K> Lane<K> {
    /// Adds a key at the end of a row.
    pub(super) fn add(&mut self, key: K, row: Row) {
        self.row(row).push_back(key);
    }

    /// Takes the first key of a row that still `waits` in it.
    pub(super) fn next(&mut self, row: Row, waits: impl Fn(&K) -> bool) -> Option<K> {
        let keys = self.row(row);
        std::iter::from_fn(|| keys.pop_front()).find(|key| waits(key))
    }

    fn row(&mut self, row: Row) -> &mut VecDeque<K> {
        match row {
            Row::Woken => &mut self.woken,
            Row::Retried => &mut self.retried,
            Row::Resync => &mut self.resync,
        }
    }

    /// Whether nothing is left in any row.
    pub(super) fn is_empty(&self) -> bool {
        self.woken.is_empty() && self.retried.is_empty() && self.resync.is_empty()
    }
}
