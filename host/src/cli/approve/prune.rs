//! Approves deletions that the guard of a Reconciler holds.

use crate::api::{HeldPlan, PruneHeld, ReconcilerStatus, reconciler_kind};
use crate::cli::Output;
use crate::cli::confirm::Consent;
use crate::cli::person::{Person, target};
use crate::cli::progress::{Progress, say};
use crate::cli::taken_up::status;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use serde_json::json;
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use windlass_core::key::ReconcilerId;
use windlass_core::kind::KindInfo;
use windlass_core::names::ANNOTATION_APPROVE_PRUNE;
use windlass_core::write::Request;

/// How long the host may take to say what is held beside what was approved.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Lets children be deleted that a guard keeps, after showing them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  windlass approve prune nginx
  windlass approve prune nginx --primary team-a/web
  windlass approve prune nginx -n team-a --yes -o json

Each approval holds for exactly those deletions, each by its uid: for nothing that comes to be wanted no more later. It is the annotation windlass.dev/approve-prune on the primary, so
that you need the right to patch primaries. spec.pruneGuard of the Reconciler says what may go unasked.")]
pub(super) struct PruneArguments {
    /// Name of the Reconciler
    #[arg(value_parser = crate::cli::reconciler_name)]
    name: String,
    /// Its namespace
    #[arg(short, long, default_value = "windlass-system")]
    namespace: String,
    /// Only what is held of this primary, as namespace/name; can be given several times
    #[arg(long = "primary", value_name = "NAMESPACE/NAME")]
    primaries: Vec<String>,
    #[command(flatten)]
    consent: Consent,
    /// How the result is printed
    #[arg(short, long, default_value = "text")]
    output: Output,
}

pub(super) async fn prune(arguments: &PruneArguments) -> anyhow::Result<ExitCode> {
    let person = Person::connect().await?;
    let id = ReconcilerId::new(&arguments.namespace, &arguments.name);
    let found = status(&person.reconciler(&id).await?);
    let kind = kind(&id, &found)?;
    let held = held(&id, &found)?;
    let mut plans = chosen(held, &arguments.primaries).map_err(|why| anyhow!("Reconciler {id}: {why}"))?;
    say(&words(held, &plans));
    arguments.consent.ask("Let them be deleted?")?;
    let mut approved = BTreeSet::new();
    let mut children = 0;
    let mut deleted = Vec::new();
    let progress = Progress::new();
    // A status lists the first of many only: the next come when the host has let these go.
    while !plans.is_empty() {
        for plan in &plans {
            approve(&person, &kind, plan).await?;
            children += plan.children;
            deleted.push(json!({"primary": plan.primary, "hash": plan.hash, "names": plan.names}));
            approved.insert((plan.primary.clone(), plan.hash.clone()));
            progress.count(format!("{} approved", approved.len()));
        }
        plans = match arguments.primaries.is_empty() {
            true => next(&person, &id, &approved).await?,
            false => Vec::new(),
        };
    }
    drop(progress);
    match arguments.output {
        Output::Text => crate::cli::print(&format!(
            "{children} deletions of {} {} are approved\n",
            approved.len(),
            kind.of.kind
        ))?,
        Output::Json => {
            let said = json!({"reconciler": id, "children": children, "approved": deleted});
            crate::cli::print(&format!("{}\n", serde_json::to_string_pretty(&said)?))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn kind(id: &ReconcilerId, status: &ReconcilerStatus) -> anyhow::Result<KindInfo> {
    let claim = status.claim.as_ref();
    let claim = claim.with_context(|| format!("the status of Reconciler {id} does not say what its primaries are"))?;
    Ok(claim.kind())
}

fn held<'a>(id: &ReconcilerId, status: &'a ReconcilerStatus) -> anyhow::Result<&'a PruneHeld> {
    let held = status.prune_held.as_ref();
    held.with_context(|| format!("Reconciler {id}: no deletion waits for an approval"))
}

/// The plans that are meant.
fn chosen(held: &PruneHeld, primaries: &[String]) -> Result<Vec<HeldPlan>, String> {
    if primaries.is_empty() {
        return Ok(held.plans.clone());
    }
    let find = |primary: &String| {
        let found = held.plans.iter().find(|plan| plan.primary == *primary);
        found
            .cloned()
            .ok_or_else(|| format!("of {primary} nothing is held that its status lists"))
    };
    primaries.iter().map(find).collect()
}

/// What is about to be deleted.
fn words(held: &PruneHeld, plans: &[HeldPlan]) -> String {
    let mut text = format!(
        "{} children of {} primaries are kept that these want no more. Would be deleted:",
        held.children, held.primaries
    );
    for plan in plans {
        text += &format!("\n  {}: {}", plan.primary, plan.names);
    }
    let more = (held.primaries as usize).saturating_sub(held.plans.len());
    if more > 0 && plans.len() == held.plans.len() {
        text += &format!("\n  and those of {more} more primaries");
    }
    text
}

async fn approve(person: &Person, kind: &KindInfo, plan: &HeldPlan) -> anyhow::Result<()> {
    let (namespace, name) = plan.primary.split_once('/').unwrap_or(("", &plan.primary));
    let at = target(kind, namespace, name);
    // One that is gone needs no approval.
    let Some(primary) = person.get(&at).await? else {
        return Ok(());
    };
    let patch = json!({"metadata": {"uid": primary.uid(), "annotations": {ANNOTATION_APPROVE_PRUNE: plan.hash}}});
    person.change(&at, Request::MergePatch(patch)).await.map(drop)
}

/// What is held besides, once the host has said so; nothing when nothing is.
async fn next(
    person: &Person,
    id: &ReconcilerId,
    approved: &BTreeSet<(String, String)>,
) -> anyhow::Result<Vec<HeldPlan>> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let reconciler = person.get(&target(&reconciler_kind(), &id.namespace, &id.name)).await?;
        let Some(held) = reconciler.and_then(|reconciler| status(&reconciler).prune_held) else {
            return Ok(Vec::new());
        };
        let is_new = |plan: &HeldPlan| !approved.contains(&(plan.primary.clone(), plan.hash.clone()));
        let new: Vec<HeldPlan> = held.plans.iter().filter(|plan| is_new(plan)).cloned().collect();
        if !new.is_empty() {
            return Ok(new);
        }
        if Instant::now() > deadline {
            bail!(
                "what was approved is still held after {} s: is a host running? See `kubectl describe reconciler -n {} {}`",
                PATIENCE.as_secs(),
                id.namespace,
                id.name
            );
        }
        sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(listed: usize, primaries: u32) -> PruneHeld {
        let plan = |number| HeldPlan {
            primary: format!("a/{number}"),
            hash: "h".into(),
            children: 1,
            names: format!("ConfigMap a/{number}"),
        };
        PruneHeld {
            primaries,
            children: primaries,
            plans: (0..listed).map(plan).collect(),
        }
    }

    #[test]
    fn what_would_go_is_shown_and_how_much_is_not_listed() {
        let held = held(2, 5);
        let said = words(&held, &held.plans);
        assert!(
            said.contains("5 children of 5 primaries") && said.contains("\n  a/1: ConfigMap a/1"),
            "{said}"
        );
        assert!(said.ends_with("and those of 3 more primaries"), "{said}");
    }

    #[test]
    fn only_what_is_held_can_be_chosen() {
        let held = held(2, 2);
        assert_eq!(chosen(&held, &["a/1".into()]).unwrap()[0].primary, "a/1");
        assert!(chosen(&held, &["a/7".into()]).unwrap_err().contains("a/7"));
    }
}
