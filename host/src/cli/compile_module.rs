//! Compiles one module as a child of the host; nobody runs it by hand.

use crate::guest::{CompileBudget, compile_alone};
use clap::Args;
use std::process::ExitCode;
use std::time::Duration;

/// Compiles the module on stdin to machine code on stdout, within limits
#[derive(Debug, Args)]
pub(super) struct CompileModuleArguments {
    /// Bytes of address space
    #[arg(long)]
    memory: u64,
    /// Seconds of running time
    #[arg(long)]
    seconds: u64,
}

pub(super) fn compile_module(arguments: &CompileModuleArguments) -> ExitCode {
    compile_alone(CompileBudget {
        memory: arguments.memory,
        processor: Duration::from_secs(arguments.seconds),
    })
}
