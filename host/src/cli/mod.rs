//! What people run on a terminal.

mod run;
mod simulate;
mod files;
mod module;
mod difference;
mod rbac;
mod inspect;
mod compile_module;
mod person;
mod progress;
mod packing;
mod taken_up;
mod push;
mod modules;
mod rollback;
mod approve;
mod confirm;
mod finalizers;
mod release;
mod uninstall;
pub mod explain;
pub mod objects;
pub mod list;
pub mod watch;

use anyhow::Context;
use clap::{Parser, Subcommand, ValueEnum};
use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use windlass_core::names::MAX_RECONCILER_NAME;

/// Runs reconcile logic as sandboxed WebAssembly modules: the host watches and writes, modules decide.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, arg_required_else_help = true, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::RunArguments),
    Simulate(simulate::SimulateArguments),
    Explain(explain::ExplainArguments),
    Inspect(inspect::InspectArguments),
    Rbac(rbac::RbacArguments),
    Push(push::PushArguments),
    Modules(modules::ModulesArguments),
    Rollback(rollback::RollbackArguments),
    Approve(approve::ApproveArguments),
    Release(release::ReleaseArguments),
    Uninstall(uninstall::UninstallArguments),
    Watch(watch::WatchOptions),
    List(list::ListOptions),
    /// Prints the CRD of the Reconciler kind as YAML
    #[command(after_help = "Example:\n  windlass crds | kubectl apply --server-side -f -")]
    Crds,
    #[command(hide = true)]
    CompileModule(compile_module::CompileModuleArguments),
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// After how many turns of tasks a thread of the executor looks for what came from outside, also while it has work.
///
/// Stops: guests that spin, each of whose turns takes a whole tick, keeping probes and watches waiting for a second (E-03).
const EVENT_INTERVAL: u32 = 4;

impl Cli {
    /// Runs the command; gives the exit code of a command that ran.
    ///
    /// # Errors
    /// A sentence for the terminal, for a command that could not run.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            // Has one thread only: those of an executor would count against its limits.
            Command::CompileModule(arguments) => Ok(compile_module::compile_module(&arguments)),
            command => tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .event_interval(EVENT_INTERVAL)
                .build()
                .context("the threads of the executor cannot be started")?
                .block_on(command.run()),
        }
    }
}

impl Command {
    async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::CompileModule(arguments) => Ok(compile_module::compile_module(&arguments)),
            Self::Run(arguments) => run::run(arguments).await,
            Self::Simulate(arguments) => simulate::simulate(arguments).await,
            Self::Explain(arguments) => explain::run(arguments).await,
            Self::Inspect(arguments) => inspect::inspect(arguments).await,
            Self::Rbac(arguments) => rbac::rbac(arguments).await,
            Self::Push(arguments) => push::push(arguments).await,
            Self::Modules(arguments) => modules::modules(arguments).await,
            Self::Rollback(arguments) => rollback::rollback(arguments).await,
            Self::Approve(arguments) => approve::approve(arguments).await,
            Self::Release(arguments) => release::release(arguments).await,
            Self::Uninstall(arguments) => uninstall::uninstall(arguments).await,
            Self::Watch(options) => Ok(watch::watch(&options).await.map(|()| ExitCode::SUCCESS)?),
            Self::List(options) => Ok(list::list(&options).await.map(|()| ExitCode::SUCCESS)?),
            Self::Crds => {
                print(&files::yaml(&crate::api::crd())?)?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

/// Prints a result. Whoever reads may stop early, as `head` does: that is no error.
fn print(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("the output cannot be written"),
        _ => Ok(()),
    }
}

/// The name of a Reconciler, as its CRD wants it.
fn reconciler_name(text: &str) -> Result<String, String> {
    windlass_core::syntax::dns_label(text).map_err(|rule| format!("the name of a Reconciler {rule}"))?;
    if text.len() > MAX_RECONCILER_NAME {
        return Err(format!(
            "the name of a Reconciler has at most {MAX_RECONCILER_NAME} characters"
        ));
    }
    Ok(text.into())
}
