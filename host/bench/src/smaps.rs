//! Reads how much memory a process has, from the kernel's own account of it.

use crate::quantity::Memory;
use anyhow::{Context, Result};
use std::time::Duration;
use windlass_testing::eventually;

/// Longest time that a process may take to come to rest.
const DEADLINE: Duration = Duration::from_secs(60);
/// How long memory must have stayed as it is.
const AT_REST: u32 = 20;
/// What may come and go at rest, in bytes.
const TOLERANCE: u64 = 128 << 10;

/// Memory of a process.
///
/// # Errors
/// If there is no such process, or it is somebody else's.
pub(crate) fn memory_of(process: u32) -> Result<Memory> {
    let path = format!("/proc/{process}/smaps_rollup");
    let text = std::fs::read_to_string(&path).with_context(|| format!("{path} cannot be read"))?;
    memory_in(&text).with_context(|| format!("{path} does not say Rss and Pss"))
}

/// Memory of a process once it changes no more.
///
/// # Errors
/// As [`memory_of`], or if it never comes to rest.
pub(crate) async fn memory_at_rest(process: u32) -> Result<Memory> {
    let (mut last, mut same) = (0, 0);
    eventually(DEADLINE, "the process is at rest", async || {
        let memory = memory_of(process)?;
        same = if memory.rss.abs_diff(last) <= TOLERANCE {
            same + 1
        } else {
            0
        };
        last = memory.rss;
        anyhow::ensure!(same >= AT_REST, "its memory was {last} bytes just now");
        Ok(memory)
    })
    .await
}

/// The sums in a file of the form of `smaps_rollup`.
fn memory_in(text: &str) -> Option<Memory> {
    let bytes = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kibibytes << 10)
    };
    Some(Memory {
        rss: bytes("Rss")?,
        pss: bytes("Pss")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_are_found_and_nothing_that_begins_like_them() {
        let text = "55d0-7ffe ---p 00000000 00:00 0    [rollup]\n\
                    Rss:               31576 kB\n\
                    Pss_Dirty:          1000 kB\n\
                    Pss:               20480 kB\n";
        let memory = Memory {
            rss: 31_576 << 10,
            pss: 20 << 20,
        };
        assert_eq!(memory_in(text), Some(memory));
    }

    #[test]
    fn a_file_of_another_form_is_not_understood() {
        assert_eq!(memory_in("Rss: 12 kB\n"), None);
        assert_eq!(memory_in("Rss: 12 pages\nPss: 1 pages\n"), None);
    }

    #[test]
    fn this_process_has_memory() {
        let memory = memory_of(std::process::id()).unwrap();
        assert!(memory.rss >= memory.pss && memory.pss > 0, "{memory:?}");
    }
}
