//! The `windlass` program.

use clap::Parser;
use std::process::ExitCode;
use windlass::cli::Cli;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            // The chain is printed once, here: no error repeats its source.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
