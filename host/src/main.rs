//! The `windlass` program.

use clap::Parser;
use std::process::ExitCode;
use windlass::cli::Cli;

#[tokio::main]
async fn main() -> ExitCode {
    match Cli::parse().run().await {
        Ok(code) => code,
        Err(error) => {
            // The chain is printed once, here: no error repeats its source.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
