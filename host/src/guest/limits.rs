//! Holds what one guest may use, and which attack each limit stops.

use std::time::Duration;

/// How many JSON values (map entries and list elements) one answer may hold.
///
/// Stops: 4 MiB of `[0,0,0,..` becoming 100 MiB of values in the host.
pub(super) const MAX_VALUES: usize = 250_000;
/// How many handles a compatible guest may hold at once.
///
/// Stops: growing the host's own tables by making pollables and streams in a loop.
pub(super) const MAX_HANDLES: usize = 1_000;
/// How many random bytes one call gives.
///
/// Stops: making the host allocate what the guest's memory limit denies the guest.
pub(super) const MAX_RANDOM: u64 = 64 * 1024;
/// Stack of the guest itself; the host's own stack frames lie beside it, not on it.
///
/// Stops: endless recursion from reaching the real stack's end, which would abort the process (E-09).
pub(super) const MAX_STACK: usize = 512 * 1024;

/// How long a module may take to describe itself: its start is no decision (E-04).
///
/// Stops: a module that never gets through its own start.
pub const DESCRIBE_TIME: Duration = Duration::from_secs(10);

/// What one guest may use in one decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of linear memory, all memories of the guest together.
    ///
    /// Stops: a guest that allocates until the host is killed (E-05).
    pub memory: usize,
    /// Running time, all calls of one decision together, counted in ticks while the guest runs. Time that the guest
    /// waits for a thread of a loaded host does not count.
    ///
    /// Stops: a guest that never returns (E-01).
    pub time: Duration,
    /// Bytes that cross from the guest to the host in one return, strings that are shared counted each time.
    ///
    /// Stops: a list of a thousand references to one string of a megabyte, which costs the guest one megabyte.
    pub output: usize,
    /// Entries of all tables of one instance.
    ///
    /// Stops: growing tables, which lie outside linear memory, until the host is killed.
    pub table_entries: usize,
    /// Log lines of one decision; after them one more says that lines are missing.
    ///
    /// Stops: filling the log store, and hiding other guests' lines in the flood.
    pub log_lines: u32,
    /// Bytes of one log line; what is longer is cut.
    ///
    /// Stops: the same with few long lines.
    pub log_line: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 64 << 20,
            time: Duration::from_secs(1),
            output: 4 << 20,
            table_entries: 20_000,
            log_lines: 32,
            log_line: 1024,
        }
    }
}

impl Limits {
    /// These limits with another running time: to describe itself a guest may take longer than to decide (E-04).
    #[must_use]
    pub fn with_time(self, time: Duration) -> Self {
        Self { time, ..self }
    }
}
