//! Plays the walk and prints it: what `make demo` runs.

use anyhow::{Context, Result};
use std::path::PathBuf;
use std::process::ExitCode;
use windlass_testing::ControlPlane;
use windlass_testing::walk::{Modules, Walk};

#[tokio::main]
async fn main() -> ExitCode {
    match demo().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn demo() -> Result<()> {
    let program = std::env::args_os()
        .nth(1)
        .map(PathBuf::from)
        .context("usage: windlass-demo PATH-OF-WINDLASS")?;
    let kept = std::env::var_os("WINDLASS_DEMO_CLUSTER").map(PathBuf::from);
    let cluster = match &kept {
        Some(directory) => ControlPlane::attach(directory)?,
        None => {
            println!("starting a control plane of its own (about 10 s)");
            ControlPlane::start().await?
        }
    };
    let modules = Modules {
        nginx: windlass_artifacts::NGINX.into(),
        nginx_next: windlass_artifacts::NGINX_NEXT.into(),
        friend: windlass_artifacts::FRIEND.into(),
        hostile: windlass_artifacts::HOSTILE.into(),
    };
    let mut walk = Walk::begin(&cluster, &program, modules, |line| println!("{line}")).await?;
    walk.play().await?;
    walk.end()?;
    println!("\nEverything was as it must be.");
    Ok(())
}
