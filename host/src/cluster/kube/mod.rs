//! Talks to a real API server.
