//! Counts and remembers what has passed.

use super::call::Call;
use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// So many requests are remembered one by one; all are counted.
const REMEMBERED: usize = 20_000;

/// One request that came.
#[derive(Clone, Debug)]
pub struct Passed {
    /// Its number, counted from zero.
    pub number: u64,
    /// When it came.
    pub came: Instant,
    /// What it was about.
    pub call: Call,
    /// What was sent with it.
    pub body: Bytes,
    /// The code that it was answered with, by whomever; none while there is no answer, or none ever came.
    pub code: Option<u16>,
    /// When that came.
    pub answered: Option<Instant>,
}

/// How many requests came, by verb, kind, user and code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<(String, String, String, String), u64>);

#[derive(Debug, Default)]
pub(super) struct Tally(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    next: u64,
    last: VecDeque<Passed>,
    /// Of requests that are no longer remembered.
    older: Counts,
}

impl Tally {
    /// Notes a request that has come; gives its number.
    pub(super) fn came(&self, call: &Call, body: &Bytes) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = state.next;
        state.next += 1;
        state.last.push_back(Passed {
            number,
            came: Instant::now(),
            call: call.clone(),
            body: body.clone(),
            code: None,
            answered: None,
        });
        if state.last.len() > REMEMBERED
            && let Some(old) = state.last.pop_front()
        {
            state.older.add(&old);
        }
        number
    }

    /// Notes its answer.
    pub(super) fn answered(&self, number: u64, code: u16) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = state.last.front().map_or(0, |first| first.number);
        // One that is no longer remembered was counted without a code.
        if let Some(at) = number.checked_sub(first).and_then(|at| usize::try_from(at).ok())
            && let Some(passed) = state.last.get_mut(at)
        {
            passed.code = Some(code);
            passed.answered = Some(Instant::now());
        }
    }

    pub(super) fn since(&self, number: u64) -> Vec<Passed> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let later = state.last.iter().filter(|passed| passed.number >= number);
        later.cloned().collect()
    }

    pub(super) fn mark(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).next
    }

    pub(super) fn counts(&self) -> Counts {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts = state.older.clone();
        state.last.iter().for_each(|passed| counts.add(passed));
        counts
    }
}

impl Counts {
    fn add(&mut self, passed: &Passed) {
        let code = passed.code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        let kind = match passed.call.kind() {
            kind if kind.is_empty() => "-".to_owned(),
            kind => kind,
        };
        let key = (passed.call.verb.to_owned(), kind, passed.call.user.clone(), code);
        *self.0.entry(key).or_default() += 1;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{:>8}  {:<17} {:<6} {:<32} USER",
            "REQUESTS", "VERB", "ANSWER", "KIND"
        )?;
        for ((verb, kind, user, code), count) in &self.0 {
            writeln!(formatter, "{count:>8}  {verb:<17} {code:<6} {kind:<32} {user}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_should_be_counted_by_verb_kind_user_and_answer() {
        let tally = Tally::default();
        let call = |verb, resource: &str| Call {
            verb,
            resource: resource.into(),
            user: "me".into(),
            ..Call::default()
        };
        let first = tally.came(&call("get", "pods"), &Bytes::new());
        let second = tally.came(&call("get", "pods"), &Bytes::new());
        tally.came(&call("watch", ""), &Bytes::new());
        tally.answered(second, 200);
        tally.answered(first, 200);
        let shown = tally.counts().to_string();
        let lines: Vec<Vec<&str>> = shown
            .lines()
            .skip(1)
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            lines,
            [["2", "get", "200", "pods", "me"], ["1", "watch", "none", "-", "me"]]
        );
        assert_eq!(tally.since(second).len(), 2);
    }
}
