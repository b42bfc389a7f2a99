//! Parses and matches label selectors in kubectl's syntax.
