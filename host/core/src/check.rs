//! Checks a finished decision whole, with small rules that return findings, before anything of it is used.
