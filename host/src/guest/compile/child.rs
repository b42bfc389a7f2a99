//! Compiles one module from stdin to stdout, within limits that the process sets on itself first.

use super::CompileBudget;
use crate::guest::runtime;
use rlimit::Resource;
use serde_json::json;
use std::io::{Read, Write};
use std::process::ExitCode;

/// Exit code of a refusal, whose JSON is on stderr; no other way to end has it.
pub(super) const REFUSED: u8 = 10;

/// What `nice` would be given: a third of the share of whoever runs beside it, so that it is behind and never starves.
const LOW_PRIORITY: i32 = 5;

/// The whole life of the child. It has no threads but this one, no cluster, no environment, and no files to write.
pub fn compile_alone(budget: CompileBudget) -> ExitCode {
    let compiled = limit(budget)
        .map_err(|error| format!("the child cannot limit itself: {error}"))
        .and_then(|()| compile());
    match compiled {
        Ok(code) => match std::io::stdout().write_all(&code) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(message) => {
            eprintln!("{}", json!({"message": message}));
            ExitCode::from(REFUSED)
        }
    }
}

/// Limits this process for good, before it reads a byte.
fn limit(budget: CompileBudget) -> std::io::Result<()> {
    // When memory is short the kernel is to end this process, not the host. Where it cannot be said, the limits do.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    // Decisions go before a compiler (F-08).
    let _ = rustix::process::setpriority_process(None, LOW_PRIORITY);
    let seconds = budget.processor.as_secs().max(1);
    Resource::AS.set(budget.memory, budget.memory)?;
    // At the first the process gets a signal that names the reason, at the second it is gone.
    Resource::CPU.set(seconds, seconds + 1)?;
    Resource::CORE.set(0, 0)?;
    Resource::FSIZE.set(0, 0)
}

fn compile() -> Result<Vec<u8>, String> {
    let mut component = Vec::new();
    std::io::stdin()
        .read_to_end(&mut component)
        .map_err(|error| format!("the module did not reach the compiler: {error}"))?;
    let engine = runtime::compiling_engine().map_err(|why| format!("{why:#}"))?;
    engine
        .precompile_component(&component)
        .map_err(|why| format!("{why:#}"))
}
