//! Says how often each thing is measured.

/// How often each thing is measured.
#[derive(Clone, Debug)]
pub(crate) struct Effort {
    /// Batches of decisions, of each way to take them.
    pub(crate) batches: usize,
    /// Decisions one after the other before it is another's turn: caches are then as they are in a busy host.
    pub(crate) batch: usize,
    /// How often each module is loaded.
    pub(crate) loads: u32,
    /// Numbers of guests that a process has, growing.
    pub(crate) guests: Vec<u32>,
    /// How often a module is swapped.
    pub(crate) swaps: u32,
    /// Primaries created beside each swap.
    pub(crate) creations: u32,
}

impl Effort {
    /// Enough for percentiles that the next run confirms.
    pub(crate) fn full() -> Self {
        Self {
            batches: 100,
            batch: 50,
            loads: 15,
            guests: vec![0, 1, 10, 100],
            swaps: 20,
            creations: 5,
        }
    }

    /// Enough to see that everything works.
    pub(crate) fn quick() -> Self {
        Self {
            batches: 4,
            batch: 25,
            loads: 2,
            guests: vec![0, 1, 2],
            swaps: 2,
            creations: 3,
        }
    }
}
