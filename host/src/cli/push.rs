//! Brings a module into the cluster and waits until a host has taken it up.

mod config_map;
mod owned;
mod reconciler;

use super::Output;
use super::module::{ModuleArguments, Opened};
use super::packing::{self, Layout};
use super::person::{Person, config_maps, target};
use super::progress::say;
use super::taken_up::{self, Awaited, Patience};
use crate::api::reconciler_kind;
use crate::guest::MAX_MODULE;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use config_map::Found;
use reconciler::Wish;
use serde_json::{Map, json};
use std::process::ExitCode;
use windlass_core::key::ReconcilerId;
use windlass_core::manifest::Projection;
use windlass_core::names::LABEL_PART_OF;
use windlass_core::object::Object;
use windlass_core::write::{Request, Target};

/// Brings a module into the cluster: checks and packs it, writes its ConfigMaps and its Reconciler, waits until it runs
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  windlass push nginx.wasm --name nginx --all-namespaces
  windlass push nginx.wasm --name nginx -n team-a --settings settings.yaml --timeout 5m
  windlass push nginx.wasm --name nginx -o json

The account and the roles come first: windlass rbac nginx.wasm --name nginx | kubectl apply --server-side -f -")]
pub(super) struct PushArguments {
    #[command(flatten)]
    module: ModuleArguments,
    /// Name of the Reconciler and of its ConfigMap
    #[arg(long, value_parser = super::reconciler_name)]
    name: String,
    /// Namespace of both
    #[arg(short, long, default_value = "windlass-system")]
    namespace: String,
    /// ServiceAccount as which the module is run; named like the Reconciler if left out
    #[arg(long)]
    service_account: Option<String>,
    /// Only for primaries in this namespace; can be given several times. The Reconciler's own if left out
    #[arg(long = "for-namespace", conflicts_with = "all_namespaces")]
    for_namespaces: Vec<String>,
    /// For primaries in all namespaces, and for those without one
    #[arg(long)]
    all_namespaces: bool,
    #[command(flatten)]
    patience: Patience,
    /// How the result is printed
    #[arg(short, long, default_value = "text")]
    output: Output,
}

impl PushArguments {
    fn namespaces(&self) -> Option<Vec<String>> {
        match (self.all_namespaces, self.for_namespaces.as_slice()) {
            (true, _) => Some(vec!["*".into()]),
            (false, []) => None,
            (false, several) => Some(several.to_vec()),
        }
    }
}

pub(super) async fn push(arguments: PushArguments) -> anyhow::Result<ExitCode> {
    let packed = packing::pack(arguments.module.read()?)?;
    if packed.bytes.len() > MAX_MODULE {
        bail!(
            "the module has {} bytes once it is packed, and a host takes at most {MAX_MODULE}. Build it with \
             `opt-level = \"z\"`, `lto = true` and `strip = true`, leave out what it carries as data, or make two \
             modules of it",
            packed.bytes.len()
        );
    }
    let opened = Box::pin(arguments.module.open_bytes(packed.bytes)).await?;
    let id = ReconcilerId::new(&arguments.namespace, &arguments.name);
    let person = Person::connect().await?;
    person.require_reconcilers().await?;

    let seen = look(&person, &id).await?;
    let wish = Wish {
        service_account: arguments.service_account.as_deref(),
        settings: arguments.module.has_settings().then_some(&opened.settings),
        namespaces: arguments.namespaces(),
    };
    let change = reconciler::change(&id, &wish, seen.reconciler.as_ref()).map_err(|why| anyhow!(why))?;
    let at = target(&reconciler_kind(), &id.namespace, &id.name);
    if let Some(pin) = &change.meanwhile {
        person.change(&at, Request::JsonPatch(pin.clone())).await?;
    }
    let written = write_module(&person, &id, &opened, packed.key, &seen).await?;
    change.notes.iter().for_each(|note| say(note));
    if let Some(patch) = change.patch {
        person.change(&at, Request::JsonPatch(patch)).await?;
    }
    let force = seen.reconciler.is_some();
    let object = change.object;
    let reconciler = person.change(&at, Request::Apply { object, force }).await?;

    let awaited = Awaited {
        digest: opened.module.digest().into(),
        generation: reconciler.generation().unwrap_or(0),
        before: seen.reconciler.as_ref().map(taken_up::status).unwrap_or_default(),
    };
    let ended = taken_up::follow(&person, &id, &awaited, arguments.patience).await?;
    if ended.runs() {
        remove_surplus(&person, &id, &written).await?;
    }
    ended.report(
        arguments.output,
        Map::from_iter([("configMaps".into(), json!(written))]),
    )
}

/// What is there before anything is written.
struct Seen {
    reconciler: Option<Object>,
    config_map: Option<Object>,
}

async fn look(person: &Person, id: &ReconcilerId) -> anyhow::Result<Seen> {
    let of = |kind| target(&kind, &id.namespace, &id.name);
    let reconciler = person.get(&of(reconciler_kind())).await?;
    let config_map = person.get(&of(config_maps())).await?;
    Ok(Seen { reconciler, config_map })
}

/// Writes the module, the ConfigMap that a host looks at last; gives the names of what holds it.
async fn write_module(
    person: &Person,
    id: &ReconcilerId,
    opened: &Opened,
    key: &str,
    seen: &Seen,
) -> anyhow::Result<Vec<String>> {
    let found = Found::new(seen.config_map.as_ref()).map_err(|why| anyhow!(why))?;
    let digest = opened.module.digest();
    let at = |name: &str| target(&config_maps(), &id.namespace, name);
    let (names, object) = match packing::lay_out(&opened.bytes, found.bytes_beside) {
        Layout::Whole(bytes) => {
            if let Some(warning) = packing::nearly_full(bytes.len() + found.bytes_beside) {
                say(&warning);
            }
            (Vec::new(), config_map::whole(id, digest, key, bytes))
        }
        Layout::Parts(parts) => {
            let count = parts.len();
            say(&format!(
                "the module has {} bytes once it is packed, more than one ConfigMap holds: it is split into {count} parts",
                opened.bytes.len()
            ));
            let names: Vec<String> = (0..count).map(|number| config_map::part_name(id, number)).collect();
            for name in &names {
                refuse_strangers(person, id, &at(name)).await?;
            }
            for (number, bytes) in parts.into_iter().enumerate() {
                let object = config_map::part(id, digest, key, (number, count), bytes);
                let request = Request::Apply { object, force: true };
                person.change(&at(&names[number]), request).await?;
            }
            let index = config_map::index(id, digest, key, &names).context("the index cannot be written")?;
            (names, index)
        }
    };
    let (patch, notes) = found.replacement(&object);
    notes.iter().for_each(|note| say(note));
    let whole = at(&id.name);
    if let Some(patch) = patch {
        person.change(&whole, Request::MergePatch(patch)).await?;
    }
    let force = seen.config_map.is_some();
    person.change(&whole, Request::Apply { object, force }).await?;
    Ok(std::iter::once(id.name.clone()).chain(names).collect())
}

/// A ConfigMap that is in the way of a part must be one of an earlier version.
async fn refuse_strangers(person: &Person, id: &ReconcilerId, part: &Target) -> anyhow::Result<()> {
    match person.get(part).await? {
        Some(found) if found.label(LABEL_PART_OF) != Some(&id.name) => bail!(
            "{} is no part of a module of {id} (label {LABEL_PART_OF}), and a part has to have that name: delete it, or \
             push under another --name",
            part.reference()
        ),
        _ => Ok(()),
    }
}

/// Deletes the parts of an earlier version that this one does not have.
async fn remove_surplus(person: &Person, id: &ReconcilerId, written: &[String]) -> anyhow::Result<()> {
    let selector = format!("{LABEL_PART_OF}={}", id.name);
    let parts = person
        .list(&config_maps(), Some(&id.namespace), &selector, Projection::Metadata)
        .await?;
    for part in parts
        .iter()
        .filter(|part| !written.iter().any(|name| name == part.name()))
    {
        person.delete(&config_maps(), part).await?;
    }
    Ok(())
}
