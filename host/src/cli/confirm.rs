//! Asks a person before something that cannot be taken back.

use anyhow::{Context, bail};
use clap::Args;
use dialoguer::Confirm;
use std::io::IsTerminal;

/// Whether to ask.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Consent {
    /// Do not ask before it is done
    #[arg(short, long)]
    yes: bool,
}

impl Consent {
    /// Returns if the person wants it, or said so beforehand.
    ///
    /// # Errors
    /// If they do not, or if there is nobody to ask.
    pub(super) fn ask(self, question: &str) -> anyhow::Result<()> {
        if self.yes {
            return Ok(());
        }
        if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            bail!("nothing was done: there is no terminal on which to ask. Give --yes if it is to be done");
        }
        let answer = Confirm::new().with_prompt(question).default(false).interact();
        match answer.context("the answer cannot be read")? {
            true => Ok(()),
            false => bail!("nothing was done"),
        }
    }
}
