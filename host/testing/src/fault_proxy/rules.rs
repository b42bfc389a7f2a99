//! Holds the rules that stand, counts whom they concerned, and wakes whoever waits for that to change.

use super::call::Call;
use super::rule::{Fault, Rule};
use anyhow::{Result, anyhow};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// The rules of one proxy.
#[derive(Debug)]
pub(super) struct Rules {
    all: Mutex<Vec<Entry>>,
    /// Changes with every rule that comes, goes or concerns somebody.
    version: watch::Sender<u64>,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    rule: Rule,
    seen: u64,
    hits: u64,
}

impl Rules {
    pub(super) fn new() -> Self {
        Self {
            all: Mutex::default(),
            version: watch::Sender::new(0),
        }
    }

    pub(super) fn add(&self, rule: Rule) -> u64 {
        let mut id = 0;
        self.version.send_modify(|version| {
            *version += 1;
            id = *version;
        });
        self.lock().push(Entry {
            id,
            rule,
            seen: 0,
            hits: 0,
        });
        self.version.send_modify(|version| *version += 1);
        id
    }

    fn remove(&self, id: u64) {
        self.lock().retain(|entry| entry.id != id);
        self.version.send_modify(|version| *version += 1);
    }

    fn hits(&self, id: u64) -> u64 {
        let all = self.lock();
        let entry = all.iter().find(|entry| entry.id == id);
        entry.map_or(0, |entry| entry.hits)
    }

    /// What happens to a request: the first fault that concerns it, and the rule that it is of.
    pub(super) fn of_request(&self, call: &Call) -> Option<(u64, Fault)> {
        self.first(call, |fault| !fault.is_of_streams())
    }

    /// What happens to an open watch now. It is counted for a rule that stands if it is `new` to it.
    pub(super) fn of_stream(&self, call: &Call, new: bool) -> Option<Fault> {
        let standing = self.lock().iter_mut().find_map(|entry| {
            let lasts = matches!(entry.rule.fault, Fault::Freeze | Fault::Drop);
            let stands = lasts && entry.rule.times.stand(entry.seen) && entry.rule.matching.matches(call);
            entry.hits += u64::from(stands && new);
            stands.then(|| entry.rule.fault.clone())
        });
        standing.or_else(|| Some(self.first(call, Fault::is_of_streams)?.1))
    }

    fn first(&self, call: &Call, is_meant: impl Fn(&Fault) -> bool) -> Option<(u64, Fault)> {
        let mut all = self.lock();
        let mut matching = all
            .iter_mut()
            .filter(|entry| is_meant(&entry.rule.fault) && entry.rule.matching.matches(call));
        let concerned = matching.find_map(|entry| {
            entry.seen += 1;
            if !entry.rule.times.concern(entry.seen, entry.hits) {
                return None;
            }
            entry.hits += 1;
            Some((entry.id, entry.rule.fault.clone()))
        });
        drop(all);
        if concerned.is_some() {
            self.version.send_modify(|version| *version += 1);
        }
        concerned
    }

    /// Wakes with every change of the rules.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Returns when a rule is taken away.
    pub(super) async fn removed(&self, id: u64) {
        let mut changes = self.changes();
        // The sender lives as long as these rules do.
        let _ = changes
            .wait_for(|_| !self.lock().iter().any(|entry| entry.id == id))
            .await;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A rule that stands until this value is dropped; what it holds goes on then.
#[derive(Debug)]
#[must_use = "the rule stands for as long as this is kept"]
pub struct Standing {
    pub(super) rules: Arc<Rules>,
    pub(super) id: u64,
}

impl Standing {
    /// How many requests, or watches, it has concerned.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.rules.hits(self.id)
    }

    /// Waits until it has concerned so many.
    ///
    /// # Errors
    /// When `deadline` has passed, with how many it has concerned.
    pub async fn until_hits(&self, count: u64, deadline: Duration) -> Result<()> {
        let mut changes = self.rules.changes();
        let reached = changes.wait_for(|_| self.hits() >= count);
        match timeout(deadline, reached).await {
            Ok(_) => Ok(()),
            Err(_) => Err(anyhow!(
                "not within {deadline:?}: {count} requests; it was {}",
                self.hits()
            )),
        }
    }

    /// Takes the rule away; what it holds goes on.
    pub fn release(self) {
        drop(self);
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        self.rules.remove(self.id);
    }
}
