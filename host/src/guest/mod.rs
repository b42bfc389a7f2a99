//! Loads modules and runs guests; the only place that names wasmtime.
