//! A cluster in memory, on which `windlass simulate` and the pipeline tests run.
