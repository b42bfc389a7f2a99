//! The `windlass` program.

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;
use windlass::cli::Cli;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            // The chain is printed once, here: no error repeats its source. Nobody may be reading any more.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
