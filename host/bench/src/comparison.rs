//! Sets what was seen beside what it is compared with, and beside what it has to reach.

use crate::quantity::{Quantity, bytes, digits};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt;

/// One line of the results.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// What was measured.
    what: String,
    seen: Quantity,
    /// What was measured beside it in the same run, in words and figures.
    reference: Option<(String, Quantity)>,
    target: Option<Target>,
}

/// What has to be reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Target {
    /// At most so many times the reference.
    Times(f64),
    /// At most so many bytes.
    Bytes(u64),
}

impl Comparison {
    /// A line without a reference.
    pub(crate) fn of(what: impl Into<String>, seen: Quantity) -> Self {
        Self {
            what: what.into(),
            seen,
            reference: None,
            target: None,
        }
    }

    /// This line beside what was measured for comparison.
    #[must_use]
    pub(crate) fn against(self, name: impl Into<String>, reference: Quantity) -> Self {
        Self {
            reference: Some((name.into(), reference)),
            ..self
        }
    }

    /// This line with what has to be reached.
    #[must_use]
    pub(crate) fn target(self, target: Target) -> Self {
        Self {
            target: Some(target),
            ..self
        }
    }

    /// How many times the reference it is.
    pub(crate) fn ratio(&self) -> Option<f64> {
        let (_, reference) = self.reference.as_ref()?;
        let reference = reference.amount();
        (reference > 0.0).then(|| self.seen.amount() / reference)
    }

    /// Whether the target is met; none where there is no target, or nothing to compare with.
    pub(crate) fn met(&self) -> Option<bool> {
        match self.target? {
            Target::Times(most) => Some(self.ratio()? <= most),
            Target::Bytes(most) => Some(self.seen.amount() <= most as f64),
        }
    }

    /// The texts of its cells, in the order of [`HEADER`].
    pub(crate) fn cells(&self) -> [String; 6] {
        let reference = self
            .reference
            .as_ref()
            .map(|(name, reference)| format!("{name}: {reference}"));
        let met = self.met().map(|met| if met { "met" } else { "missed" });
        [
            self.what.clone(),
            self.seen.to_string(),
            reference.unwrap_or_default(),
            self.ratio().map(digits).unwrap_or_default(),
            self.target.map(|target| target.to_string()).unwrap_or_default(),
            met.unwrap_or_default().to_owned(),
        ]
    }

    /// The same for programs: times in seconds and nanoseconds, memory in bytes.
    pub(crate) fn json(&self) -> Value {
        let reference = self.reference.as_ref();
        json!({
            "what": self.what,
            "seen": self.seen,
            "reference": reference.map(|(name, quantity)| json!({"name": name, "seen": quantity})),
            "ratio": self.ratio(),
            "target": self.target,
            "met": self.met(),
        })
    }
}

/// What the cells of a line are.
pub(crate) const HEADER: [&str; 6] = ["what", "seen", "reference", "ratio", "target", ""];

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times(most) => write!(formatter, "at most {most} times"),
            Self::Bytes(most) => write!(formatter, "at most {}", bytes(*most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Memory;
    use std::time::Duration;

    fn micros(number: u64) -> Quantity {
        let p50 = Duration::from_micros(number);
        Quantity::Time {
            p50,
            p99: 2 * p50,
            count: 9,
        }
    }

    #[test]
    fn a_ratio_is_held_against_its_target() {
        let line = |seen| Comparison::of("a", micros(seen)).against("b", micros(10));
        assert_eq!(line(25).ratio(), Some(2.5));
        assert_eq!(line(25).met(), None, "without a target");
        assert_eq!(line(120).target(Target::Times(12.0)).met(), Some(true));
        assert_eq!(line(121).target(Target::Times(12.0)).met(), Some(false));
    }

    #[test]
    fn bytes_are_held_against_theirs_without_a_reference() {
        let seen = Quantity::Memory(Memory { rss: 513, pss: 1 });
        let line = Comparison::of("a", seen).target(Target::Bytes(512));
        assert_eq!((line.ratio(), line.met()), (None, Some(false)));
    }

    #[test]
    fn nothing_is_compared_with_what_took_no_time() {
        let line = Comparison::of("a", micros(1)).against("b", micros(0));
        assert_eq!(line.target(Target::Times(12.0)).met(), None);
    }

    #[test]
    fn a_line_says_the_same_in_cells_and_in_json() {
        let line = Comparison::of("a", micros(20))
            .against("b", micros(10))
            .target(Target::Times(3.0));
        let cells = [
            "a",
            "20.0 µs, p99 40.0 µs",
            "b: 10.0 µs, p99 20.0 µs",
            "2.00",
            "at most 3 times",
            "met",
        ];
        assert_eq!(line.cells(), cells.map(str::to_owned));
        let json = line.json();
        assert_eq!((&json["ratio"], &json["met"]), (&json!(2.0), &json!(true)));
        assert_eq!(json["reference"]["name"], "b");
    }
}
