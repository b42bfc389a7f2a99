//! Merges conditions so that times change only with the status.
