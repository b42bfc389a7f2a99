//! Computes delays that grow with every failure and are spread by jitter.
