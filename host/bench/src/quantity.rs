//! Holds what was measured: a time with its spread, or the memory of a process.

use hdrhistogram::Histogram;
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// Digits that a percentile is good for; more than any run repeats.
const DIGITS: u8 = 3;

/// Longest time that can be told from longer ones, in nanoseconds: ten minutes.
const LONGEST: u64 = 600_000_000_000;

/// Times of the same thing, measured many times.
#[derive(Clone, Debug)]
pub(crate) struct Sample(Histogram<u64>);

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Quantity {
    /// How long something takes.
    Time {
        /// Half of all were faster; what ratios are taken of.
        p50: Duration,
        /// 99 of 100 were faster.
        p99: Duration,
        /// How many were measured.
        count: u64,
    },
    /// Bytes of memory of a process.
    Memory(Memory),
}

/// Bytes of memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Memory {
    /// Resident; what targets are about, as the figures of other operators are.
    pub(crate) rss: u64,
    /// Resident, with pages that processes share divided among them.
    pub(crate) pss: u64,
}

impl Sample {
    /// Nothing measured yet.
    pub(crate) fn new() -> Self {
        Self(Histogram::new_with_bounds(1, LONGEST, DIGITS).expect("the bounds and digits are ones that it can have"))
    }

    /// Adds one.
    pub(crate) fn add(&mut self, time: Duration) {
        // What is out of range counts as its end.
        self.0
            .saturating_record(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// What they come to.
    pub(crate) fn quantity(&self) -> Quantity {
        Quantity::Time {
            p50: Duration::from_nanos(self.0.value_at_quantile(0.5)),
            p99: Duration::from_nanos(self.0.value_at_quantile(0.99)),
            count: self.0.len(),
        }
    }
}

impl Quantity {
    /// The number that is compared: nanoseconds at p50, or resident bytes.
    pub(crate) fn amount(&self) -> f64 {
        match self {
            Self::Time { p50, .. } => p50.as_secs_f64() * 1e9,
            Self::Memory(memory) => memory.rss as f64,
        }
    }
}

impl Memory {
    /// How much more than `other` this is, divided among `count`.
    pub(crate) fn growth_since(self, other: Self, count: u64) -> Self {
        let each = |now: u64, before: u64| now.saturating_sub(before) / count.max(1);
        Self {
            rss: each(self.rss, other.rss),
            pss: each(self.pss, other.pss),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time { p50, p99, .. } => write!(formatter, "{}, p99 {}", time(*p50), time(*p99)),
            Self::Memory(Memory { rss, pss }) => write!(formatter, "{}, PSS {}", bytes(*rss), bytes(*pss)),
        }
    }
}

/// A time with three digits and the unit that suits it.
pub(crate) fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (number, unit) = match seconds {
        _ if seconds < 1e-3 => (seconds * 1e6, "µs"),
        _ if seconds < 1.0 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    format!("{} {unit}", digits(number))
}

/// Bytes in MiB.
pub(crate) fn bytes(bytes: u64) -> String {
    format!("{} MiB", digits(bytes as f64 / f64::from(1 << 20)))
}

/// Three digits of a number that is not large.
pub(crate) fn digits(number: f64) -> String {
    match number {
        _ if number >= 100.0 => format!("{number:.0}"),
        _ if number >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_gives_the_middle_and_the_slow_end() {
        let mut sample = Sample::new();
        (1..=100).for_each(|number| sample.add(Duration::from_micros(number)));
        let Quantity::Time { p50, p99, count } = sample.quantity() else {
            panic!("a sample is of times")
        };
        assert_eq!(count, 100);
        assert!(
            p50.abs_diff(Duration::from_micros(50)) < Duration::from_micros(1),
            "{p50:?}"
        );
        assert!(
            p99.abs_diff(Duration::from_micros(99)) < Duration::from_micros(1),
            "{p99:?}"
        );
    }

    #[test]
    fn numbers_have_three_digits_and_the_unit_that_suits_them() {
        assert_eq!(time(Duration::from_nanos(4_567)), "4.57 µs");
        assert_eq!(time(Duration::from_micros(12_345)), "12.3 ms");
        assert_eq!(time(Duration::from_millis(1_234)), "1.23 s");
        assert_eq!(time(Duration::from_millis(234)), "234 ms");
        assert_eq!(bytes(512 << 10), "0.50 MiB");
    }

    #[test]
    fn growth_is_divided_and_never_negative() {
        let memory = |rss, pss| Memory { rss, pss };
        assert_eq!(memory(1_100, 100).growth_since(memory(100, 200), 10), memory(100, 0));
    }
}
