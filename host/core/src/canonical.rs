//! Writes JSON so that the same state is always the same text, and hashes it.
