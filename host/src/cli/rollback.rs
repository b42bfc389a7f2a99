//! Sets a Reconciler back to a module that it ran before, or lets it follow its source again.

use super::Output;
use super::person::{Person, target};
use super::progress::say;
use super::taken_up::{self, Awaited, Patience, short, status};
use crate::api::{Earlier, ReconcilerStatus, reconciler_kind};
use anyhow::anyhow;
use clap::Args;
use serde_json::json;
use std::process::ExitCode;
use windlass_core::key::ReconcilerId;
use windlass_core::object::Object;
use windlass_core::write::Request;

/// Sets a Reconciler back to a module that it ran before, and waits until that runs
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  windlass rollback nginx                   to the module that ran before
  windlass rollback nginx --to 3daf8af9     to the one whose digest begins like this
  windlass rollback nginx --follow-source   runs what the source holds again")]
pub(super) struct RollbackArguments {
    /// Name of the Reconciler
    #[arg(value_parser = super::reconciler_name)]
    name: String,
    /// Its namespace
    #[arg(short, long, default_value = "windlass-system")]
    namespace: String,
    /// Begin of the digest of the module to run
    #[arg(long, conflicts_with = "follow_source")]
    to: Option<String>,
    /// Take the pin away that an earlier rollback left
    #[arg(long)]
    follow_source: bool,
    #[command(flatten)]
    patience: Patience,
    /// How the result is printed
    #[arg(short, long, default_value = "text")]
    output: Output,
}

pub(super) async fn rollback(arguments: RollbackArguments) -> anyhow::Result<ExitCode> {
    let person = Person::connect().await?;
    let id = ReconcilerId::new(&arguments.namespace, &arguments.name);
    let reconciler = person.reconciler(&id).await?;
    if arguments.follow_source {
        return follow_source(&person, &id, &reconciler, arguments.output).await;
    }
    let before = status(&reconciler);
    let chosen = choose(&before, arguments.to.as_deref()).map_err(|why| anyhow!("Reconciler {id}: {why}"))?;
    let now = before
        .active
        .as_ref()
        .map(|active| (&active.name, &active.version, &active.digest));
    let from = now.map_or_else(
        || "nothing that runs".into(),
        |(name, version, digest)| format!("{name} {version} ({})", short(digest)),
    );
    say(&format!(
        "Reconciler {id} goes from {from} to {} {} ({}), and stays with it: what its source holds is not taken up \
         (SourceMismatch) until `windlass rollback {} -n {} --follow-source` or the next push",
        chosen.name,
        chosen.version,
        short(&chosen.digest),
        id.name,
        id.namespace
    ));
    let pinned = pin(&person, &id, &reconciler, Some(&chosen.digest)).await?;
    let awaited = Awaited {
        digest: chosen.digest,
        generation: pinned.generation().unwrap_or(0),
        before,
    };
    let ended = taken_up::follow(&person, &id, &awaited, arguments.patience).await?;
    ended.report(arguments.output, serde_json::Map::new())
}

async fn follow_source(
    person: &Person,
    id: &ReconcilerId,
    reconciler: &Object,
    output: Output,
) -> anyhow::Result<ExitCode> {
    let digest = reconciler.text_at(&["spec", "digest"]);
    if digest.is_some() {
        pin(person, id, reconciler, None).await?;
    }
    match (output, digest) {
        (Output::Json, digest) => super::print(&format!("{}\n", json!({"reconciler": id, "removedPin": digest})))?,
        (Output::Text, Some(digest)) => super::print(&format!(
            "Reconciler {id} is no longer pinned to {}: what its source holds is taken up if it passes every step\n",
            short(digest)
        ))?,
        (Output::Text, None) => super::print(&format!("Reconciler {id} is not pinned: it follows its source\n"))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Sets or removes the pin of the Reconciler that was seen, whatever a host has written to its status meanwhile.
async fn pin(person: &Person, id: &ReconcilerId, reconciler: &Object, digest: Option<&str>) -> anyhow::Result<Object> {
    let path = "/spec/digest";
    let same = json!({"op": "test", "path": "/metadata/uid", "value": reconciler.uid()});
    let change = match digest {
        Some(digest) => json!({"op": "add", "path": path, "value": digest}),
        None => json!({"op": "remove", "path": path}),
    };
    let at = target(&reconciler_kind(), &id.namespace, &id.name);
    person.change(&at, Request::JsonPatch(vec![same, change])).await
}

/// The module to go back to: the last one that ran, or the only one whose digest begins as asked.
fn choose(status: &ReconcilerStatus, prefix: Option<&str>) -> Result<Earlier, String> {
    let known = || {
        let all: Vec<String> = status
            .earlier
            .iter()
            .map(|earlier| format!("{} {} ({})", earlier.name, earlier.version, short(&earlier.digest)))
            .collect();
        all.join(", ")
    };
    let Some(last) = status.earlier.first() else {
        return Err("there is nothing to go back to: no module is kept that ran before".into());
    };
    let Some(prefix) = prefix else {
        return Ok(last.clone());
    };
    let prefix = prefix.to_ascii_lowercase();
    let begins = |digest: &str| !prefix.is_empty() && digest.starts_with(&prefix);
    let mut found = status.earlier.iter().filter(|earlier| begins(&earlier.digest));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one.clone()),
        (Some(_), Some(_)) => Err(format!("several begin with {prefix}: {}", known())),
        (None, _) if status.active.as_ref().is_some_and(|active| begins(&active.digest)) => {
            Err(format!("{prefix} is what runs now; there are {}", known()))
        }
        (None, _) => Err(format!(
            "none that ran before begins with {prefix:?}; there are {}",
            known()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Active;

    fn earlier(digest: &str) -> Earlier {
        Earlier {
            digest: digest.into(),
            name: "nginx".into(),
            version: "1".into(),
            ..Earlier::default()
        }
    }

    #[test]
    fn the_last_one_is_chosen_or_the_only_one_that_begins_as_asked() {
        let status = ReconcilerStatus {
            active: Some(Active {
                digest: "ff00".into(),
                ..Active::default()
            }),
            earlier: vec![earlier("ab12"), earlier("ab34"), earlier("cd56")],
            ..ReconcilerStatus::default()
        };
        let chosen = |prefix| choose(&status, prefix).map(|earlier| earlier.digest);
        for (prefix, wanted) in [(None, "ab12"), (Some("ab3"), "ab34"), (Some("CD"), "cd56")] {
            assert_eq!(chosen(prefix), Ok(wanted.into()));
        }
        let all = "nginx 1 (ab12), nginx 1 (ab34), nginx 1 (cd56)";
        for (prefix, words) in [
            ("ab", "several begin with ab: "),
            ("ff", "ff is what runs now"),
            ("", "none that ran"),
        ] {
            let error = chosen(Some(prefix)).unwrap_err();
            assert!(error.starts_with(words) && error.ends_with(all), "{error}");
        }
        let error = choose(&ReconcilerStatus::default(), None).unwrap_err();
        assert!(error.contains("nothing to go back to"), "{error}");
    }
}
