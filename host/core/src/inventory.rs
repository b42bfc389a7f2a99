//! Tells what is ours: marks it, recognises it and orders it.
