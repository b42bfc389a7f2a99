//! What people run on a terminal.

mod run;
mod simulate;
mod files;
mod difference;
mod rbac;
mod inspect;
pub mod objects;
pub mod list;
pub mod watch;

use clap::{Parser, Subcommand, ValueEnum};
use std::process::ExitCode;

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
    Inspect(inspect::InspectArguments),
    Rbac(rbac::RbacArguments),
    Watch(watch::WatchOptions),
    List(list::ListOptions),
    /// Prints the CRD of the Reconciler kind as YAML
    #[command(after_help = "Example:\n  windlass crds | kubectl apply --server-side -f -")]
    Crds,
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

impl Cli {
    /// Runs the command; gives the exit code of a command that ran.
    ///
    /// # Errors
    /// A sentence for the terminal, for a command that could not run.
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Run(arguments) => run::run(arguments).await,
            Command::Simulate(arguments) => simulate::simulate(arguments).await,
            Command::Inspect(arguments) => inspect::inspect(arguments).await,
            Command::Rbac(arguments) => rbac::rbac(arguments).await,
            Command::Watch(options) => Ok(watch::watch(&options).await.map(|()| ExitCode::SUCCESS)?),
            Command::List(options) => Ok(list::list(&options).await.map(|()| ExitCode::SUCCESS)?),
            Command::Crds => {
                print!("{}", files::yaml(&crate::api::crd())?);
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}
