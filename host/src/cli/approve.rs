//! Approves what a Reconciler is held for: rights here, deletions in `prune`.

mod prune;

use super::Output;
use super::person::{Person, target};
use super::progress::say;
use super::taken_up::{short, status};
use crate::api::{Refused, reconciler_kind};
use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde_json::json;
use std::process::ExitCode;
use windlass_core::key::ReconcilerId;
use windlass_core::write::Request;

/// Approves what a Reconciler is held for
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  windlass approve rights nginx\n  windlass approve prune nginx")]
pub(super) struct ApproveArguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Rights(RightsArguments),
    Prune(prune::PruneArguments),
}

/// Approves the rights that a module needs and no earlier one did, after showing them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  windlass approve rights nginx
  windlass approve rights nginx -n team-a -o json

The ServiceAccount needs these rights too: windlass rbac module.wasm prints them.")]
struct RightsArguments {
    /// Name of the Reconciler
    #[arg(value_parser = super::reconciler_name)]
    name: String,
    /// Its namespace
    #[arg(short, long, default_value = "windlass-system")]
    namespace: String,
    /// How the result is printed
    #[arg(short, long, default_value = "text")]
    output: Output,
}

pub(super) async fn approve(arguments: ApproveArguments) -> anyhow::Result<ExitCode> {
    match arguments.what {
        What::Rights(arguments) => rights(&arguments).await,
        What::Prune(arguments) => prune::prune(&arguments).await,
    }
}

async fn rights(arguments: &RightsArguments) -> anyhow::Result<ExitCode> {
    let person = Person::connect().await?;
    let id = ReconcilerId::new(&arguments.namespace, &arguments.name);
    let reconciler = person.reconciler(&id).await?;
    let refused = status(&reconciler).refused;
    let (refused, hash) = waiting(refused.as_ref()).map_err(|why| anyhow!("Reconciler {id}: {why}"))?;
    say(&format!(
        "module {} needs more than was approved: {}",
        short(&refused.digest),
        refused.message
    ));
    // Only on what was shown: a module that came meanwhile may want something else.
    let patch = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": reconciler.uid()}),
        json!({"op": "test", "path": "/status/refused/rightsHash", "value": hash}),
        json!({"op": "add", "path": "/spec/approvedRights", "value": hash}),
    ];
    let at = target(&reconciler_kind(), &id.namespace, &id.name);
    person.change(&at, Request::JsonPatch(patch)).await?;
    match arguments.output {
        Output::Text => super::print(&format!("the rights {} of Reconciler {id} are approved\n", short(hash)))?,
        Output::Json => {
            let said = json!({
                "reconciler": id, "digest": refused.digest, "approvedRights": hash, "message": refused.message,
            });
            super::print(&format!("{}\n", serde_json::to_string_pretty(&said)?))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What waits for an approval, and the hash of the rights.
fn waiting(refused: Option<&Refused>) -> Result<(&Refused, &str), String> {
    let Some(refused) = refused else {
        return Err("nothing waits for an approval of rights".into());
    };
    match &refused.rights_hash {
        Some(hash) => Ok((refused, hash)),
        None => Err(format!(
            "nothing waits for an approval of rights; module {} is held at {} for another reason: {}: {}",
            short(&refused.digest),
            refused.step,
            refused.reason,
            refused.message
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_held_for_its_rights_can_be_approved() {
        let mut refused = Refused {
            digest: "d".into(),
            step: "Compile".into(),
            reason: "Why".into(),
            message: "words".into(),
            rights_hash: None,
        };
        assert!(waiting(None).unwrap_err().contains("nothing waits"));
        assert!(
            waiting(Some(&refused))
                .unwrap_err()
                .ends_with("held at Compile for another reason: Why: words")
        );
        refused.rights_hash = Some("hash".into());
        assert_eq!(waiting(Some(&refused)).unwrap().1, "hash");
    }
}
