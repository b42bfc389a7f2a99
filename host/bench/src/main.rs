//! Measures the host against what it is meant to reach; everything in one run, so that ratios are of one machine.
//!
//! Other engines than the product's (on-demand allocation, fuel) are set up by the product itself, see
//! [`windlass::guest::Allocation`]: with an engine of its own this program would measure its own copy of bindings,
//! limits and conversions, and not the guests as the host runs them.
//!
//! Modules in the order in which they are best read.

mod effort;
mod modules;
mod native;
mod subject;

mod decisions;
mod loading;
mod memory;

mod cluster;
mod follow;
mod swap;
mod footprint;

mod quantity;
mod smaps;
mod comparison;
mod machine;
mod results;

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand, ValueEnum};
use effort::Effort;
use machine::Machine;
use results::Results;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use subject::Subject;

/// Measures the host against what it is meant to reach
#[derive(Debug, Parser)]
#[command(name = "windlass-bench")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Parts to measure; all if left out
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
    /// Measures a few times only, to see that everything works
    #[arg(long)]
    quick: bool,
    /// How the results are printed
    #[arg(short, long, default_value = "table")]
    output: Output,
    /// File to write the results to as a page, beside printing them
    #[arg(long)]
    results: Option<PathBuf>,
    /// The program `windlass`; the one beside this program if left out
    #[arg(long, global = true)]
    windlass: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Holds so many guests until standard input ends, to be measured from outside
    #[command(hide = true)]
    Hold {
        #[arg(long)]
        guests: u32,
        #[arg(long)]
        cache: PathBuf,
    },
}

/// What can be measured by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Decisions against native functions, and on other engines.
    Decisions,
    /// Loading from the cache against compiling.
    Loading,
    /// Memory of loaded guests, without a host around them.
    Memory,
    /// Swaps on a real control plane, against new primaries.
    Swap,
    /// Memory of hosts on a real control plane.
    Host,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// Written by hand, at the end of the page; read when that is written, so that it can be about these very results.
const NOTES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/NOTES.md");

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<()> {
    let windlass = windlass(arguments.windlass)?;
    if let Some(Command::Hold { guests, cache }) = arguments.command {
        return memory::hold(guests, &windlass, &cache).await;
    }
    let effort = if arguments.quick {
        Effort::quick()
    } else {
        Effort::full()
    };
    let machine = Machine::look()?;
    let parts = Part::value_variants()
        .iter()
        .filter(|part| arguments.only.is_empty() || arguments.only.contains(part));
    let mut results = Results {
        machine,
        parts: Vec::new(),
    };
    for part in parts {
        eprintln!("measuring: {}", part.title());
        results
            .parts
            .push((part.title(), part.measure(&effort, &windlass).await?));
    }
    match arguments.output {
        Output::Table => print!("{}", results.table()),
        Output::Json => println!("{:#}", results.json()),
    }
    if let Some(path) = arguments.results {
        let notes = std::fs::read_to_string(NOTES).with_context(|| format!("{NOTES} cannot be read"))?;
        std::fs::write(&path, results.page(&notes)).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

impl Part {
    fn title(self) -> &'static str {
        match self {
            Self::Decisions => "Decisions",
            Self::Loading => "Loading modules",
            Self::Memory => "Memory of loaded guests",
            Self::Swap => "Swapping modules",
            Self::Host => "Memory of hosts",
        }
    }

    async fn measure(self, effort: &Effort, windlass: &Path) -> Result<Vec<comparison::Comparison>> {
        match self {
            Self::Decisions => decisions::measure(effort, &[Subject::nginx(), Subject::friend()]).await,
            Self::Loading => loading::measure(effort, windlass).await,
            Self::Memory => memory::measure(effort, windlass).await,
            Self::Swap => swap::measure(effort, windlass).await,
            Self::Host => footprint::measure(effort, windlass).await,
        }
    }
}

/// The program that is measured, which was built together with this one.
fn windlass(given: Option<PathBuf>) -> Result<PathBuf> {
    let path = match given {
        Some(path) => std::path::absolute(path)?,
        None => std::env::current_exe()?.with_file_name("windlass"),
    };
    ensure!(
        path.is_file(),
        "there is no program at {}; `make bench` builds it",
        path.display()
    );
    Ok(path)
}
