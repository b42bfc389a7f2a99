//! Says when an Event is written: one object for all that is the same, with how often and when it was said last (I-05).
//!
//! What is said again is counted here, and written only now and then: a primary that fails each second, or that flips between
//! failing and well for hours, is one object of which little is written. An object expires in the cluster after a while (an
//! hour by default), so what goes on is written again before.

use crate::budget::{Budget, GUEST_EVENTS};
use crate::canonical::hash;
use crate::key::ReconcilerId;
use crate::object::Object;
use crate::report::EventNote;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

/// How soon an Event is written again that is news: it had been well in between, or other words are to be told.
pub const AGAIN: Duration = Duration::from_secs(60);
/// How many times as long it takes where the same just goes on. With [`AGAIN`] half of the hour after which Events expire.
const STILL: u32 = 30;
/// How many Events about one object are remembered.
///
/// Stops: a guest with other words each time filling the host's memory. One that is forgotten is found again in the cluster.
const REMEMBERED: usize = 32;
/// Characters of the object's name that an Event's own name begins with.
const MAX_STEM: usize = 180;
/// Digits of the hash that an Event's name ends with: no two things that are said share that many by chance.
const HASH_DIGITS: usize = 32;

/// Name of the Event for what is said: the same for the same object and reason, after a restart too. Of a guest's own words
/// the note counts as well, since nobody but the guest knows what is the same to it.
pub fn name(reconciler: &ReconcilerId, about: &Object, event: &EventNote) -> String {
    let note = event.from_guest.then_some(&event.note);
    let what = json!([reconciler, about.uid(), event.reason, note]);
    let hash = hash(&what);
    let stem = about.name();
    let end = stem.floor_char_boundary(MAX_STEM);
    // What a dot follows has to end in a letter or a digit.
    let stem = stem[..end].trim_end_matches(['.', '-']);
    format!("{stem}.{}", &hash[..HASH_DIGITS])
}

/// What is to be written of something that was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// Nothing: the Event says it already, or will when it is written the next time.
    Nothing,
    /// Nothing yet: the Event does not say it, and may be written after this long.
    Later(Duration),
    /// Nothing: the guest has said too much about this object already.
    TooMuch,
    /// The Event. If it is there already, see [`Told::found`].
    Create,
    /// The note of the Event, how often it was said by now, and that the last time was now.
    Series(u32),
}

/// What was said about one object.
#[derive(Clone, Debug)]
pub struct Told {
    budget: Budget,
    /// By the name of the Event.
    series: BTreeMap<String, Series>,
}

/// One Event.
#[derive(Clone, Debug)]
struct Series {
    /// How often it was said, as the Event says it; none where it may have been made by the host before this one.
    count: Option<u32>,
    /// How often it was said since.
    unwritten: u32,
    /// Hash of the note that the Event has.
    note: String,
    /// When it was written.
    written: Duration,
    /// It was said as news since, which the Event does not show yet.
    is_owed: bool,
}

impl Told {
    /// Nothing yet. Times count from the same moment in all calls, such as the host's start.
    pub fn new(now: Duration) -> Self {
        Self {
            budget: Budget::new(GUEST_EVENTS, now),
            series: BTreeMap::new(),
        }
    }

    /// Takes down that something was said now, and gives what is to be written. `again` is how soon news may follow news:
    /// [`AGAIN`], or less in a test.
    pub fn say(&mut self, name: &str, event: &EventNote, now: Duration, again: Duration) -> Put {
        let note = hash(&json!(event.note));
        if !self.series.contains_key(name) {
            self.make_room();
            let begun = Series {
                count: None,
                unwritten: 0,
                note,
                written: now,
                is_owed: false,
            };
            self.series.insert(name.into(), begun);
            if !event.is_news {
                // The host before this one said it, as far as the object shows.
                return Put::Nothing;
            }
            return self.create(name, event, now);
        }
        let Some(series) = self.series.get_mut(name) else {
            return Put::Nothing;
        };
        series.unwritten = series.unwritten.saturating_add(1);
        series.is_owed |= event.is_news || series.note != note;
        let wait = if series.is_owed { again } else { again * STILL };
        let left = (series.written + wait).saturating_sub(now);
        if !left.is_zero() {
            return if series.is_owed { Put::Later(left) } else { Put::Nothing };
        }
        match series.count {
            None => self.create(name, event, now),
            Some(_) => self.go_on(name, event, now),
        }
    }

    /// What is to be written where the Event was there already: it goes on. `count` and `note` are what it says, `ago` is how
    /// long ago it was written.
    pub fn found(&mut self, name: &str, event: &EventNote, there: &Found<'_>, now: Duration, again: Duration) -> Put {
        let Some(series) = self.series.get_mut(name) else {
            return Put::Nothing;
        };
        series.count = Some(there.count);
        series.unwritten = 1;
        series.note = hash(&json!(there.note));
        // Where the words are the same, it may just have gone on while the host was away.
        series.is_owed = there.note != event.note;
        let wait = if series.is_owed { again } else { again * STILL };
        let left = wait.saturating_sub(there.ago);
        if left.is_zero() {
            return self.go_on(name, event, now);
        }
        series.written = now.saturating_sub(there.ago);
        if series.is_owed { Put::Later(left) } else { Put::Nothing }
    }

    /// Takes down that the Event is gone, as they go after a while: it begins anew.
    pub fn expired(&mut self, name: &str) {
        if let Some(series) = self.series.get_mut(name) {
            series.count = Some(1);
        }
    }

    fn create(&mut self, name: &str, event: &EventNote, now: Duration) -> Put {
        if event.from_guest && !self.budget.take(now) {
            self.series.remove(name);
            return Put::TooMuch;
        }
        if let Some(series) = self.series.get_mut(name) {
            series.written(event, 1, now);
        }
        Put::Create
    }

    fn go_on(&mut self, name: &str, event: &EventNote, now: Duration) -> Put {
        if event.from_guest && !self.budget.take(now) {
            return Put::TooMuch;
        }
        let Some(series) = self.series.get_mut(name) else {
            return Put::Nothing;
        };
        let count = series.count.unwrap_or_default().saturating_add(series.unwritten);
        series.written(event, count, now);
        Put::Series(count)
    }

    /// Forgets what was not said for the longest time, if there is too much.
    fn make_room(&mut self) {
        while self.series.len() >= REMEMBERED {
            let oldest = self.series.iter().min_by_key(|(name, series)| (series.written, *name));
            let Some(oldest) = oldest.map(|(name, _)| name.clone()) else {
                return;
            };
            self.series.remove(&oldest);
        }
    }
}

/// What an Event says that was there already.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// How often it was said.
    pub count: u32,
    /// Its note.
    pub note: &'a str,
    /// How long ago it was written.
    pub ago: Duration,
}

impl Series {
    fn written(&mut self, event: &EventNote, count: u32, now: Duration) {
        *self = Self {
            count: Some(count),
            unwritten: 0,
            note: hash(&json!(event.note)),
            written: now,
            is_owed: false,
        };
    }
}

#[cfg(test)]
mod tests;
