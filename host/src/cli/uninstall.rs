//! Takes Windlass off a cluster, so that no finalizer of ours is left anywhere.

mod search;
mod stays;

use super::Output;
use super::confirm::Consent;
use super::finalizers::{Released, let_go, release as release_held};
use super::person::{Person, config_maps, target};
use super::progress::{Progress, say};
use super::release::claimed;
use super::taken_up::status;
use crate::api::{RECONCILER_CRD, reconciler_kind};
use anyhow::{Context, bail};
use clap::Args;
use search::Search;
use serde::Serialize;
use serde_json::Value;
use stays::Stays;
use std::process::ExitCode;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use windlass_core::key::ReconcilerId;
use windlass_core::kind::KindInfo;
use windlass_core::manifest::Projection;
use windlass_core::names::LABEL_KEPT_MODULE;
use windlass_core::object::Object;

/// Name of the host's Deployment.
const HOST: &str = "windlass";
/// How long something may take to go: pods have half a minute for it.
const GOING: Duration = Duration::from_secs(120);
/// How soon it is looked again whether it went.
const AGAIN: Duration = Duration::from_millis(200);
/// How often a host that still runs somewhere may put finalizers back before that is an error.
const ROUNDS: usize = 5;

/// Takes Windlass off the cluster: the host, all its finalizers, Reconcilers, the CRD and kept modules; children and primaries stay
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  windlass uninstall
  windlass uninstall -n windlass-system --yes --keep-crd")]
pub(super) struct UninstallArguments {
    /// Namespace of the host
    #[arg(short, long, default_value = "windlass-system")]
    namespace: String,
    /// Leave the CRD, for another host
    #[arg(long)]
    keep_crd: bool,
    #[command(flatten)]
    consent: Consent,
    /// How the result is printed
    #[arg(short, long, default_value = "text")]
    output: Output,
}

/// What was done.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Done {
    host_deleted: bool,
    #[serde(flatten)]
    released: Released,
    /// Kinds whose objects could not be looked through, and why.
    not_searched: Vec<search::NotSearched>,
    reconcilers_deleted: usize,
    crd_deleted: bool,
    kept_modules_deleted: usize,
    stays: Vec<stays::Thing>,
}

pub(super) async fn uninstall(arguments: UninstallArguments) -> anyhow::Result<ExitCode> {
    let person = Person::connect().await?;
    let namespace = arguments.namespace.as_str();
    let reconcilers = reconcilers(&person).await?;
    let crd = if arguments.keep_crd { "" } else { ", the CRD" };
    say(&format!(
        "From the cluster at {}: the host's Deployment in {namespace}, the finalizers of {} Reconcilers and of any earlier \
         ones, these Reconcilers{crd} and the kept modules are removed. Primaries and children stay.",
        person.server(),
        reconcilers.len()
    ));
    arguments.consent.ask("Uninstall?")?;
    let mut progress = Progress::new();
    let mut done = Done {
        host_deleted: stop_host(&person, namespace, &mut progress).await?,
        ..Done::default()
    };
    let mut stays = Stays::look(&person, namespace, &reconcilers).await?;

    release_claimed(&person, &reconcilers, &mut done, &mut progress).await;
    // Whoever lacks a finalizer now may get it back from a host elsewhere; only without Reconcilers it stays off.
    release_found(&person, &mut done, &mut progress).await?;
    done.reconcilers_deleted = delete_reconcilers(&person, arguments.keep_crd, &mut progress).await?;
    if !arguments.keep_crd {
        done.crd_deleted = delete_crd(&person, &mut progress).await?;
    }
    done.kept_modules_deleted = delete_kept(&person, namespace, &mut progress).await?;
    let search = search_until_clean(&person, &mut done, &mut progress).await?;
    drop(progress);

    stays.children(search.children);
    done.not_searched = search.not_searched;
    done.stays = stays.into_things();
    report(&done, arguments.output)
}

async fn reconcilers(person: &Person) -> anyhow::Result<Vec<Object>> {
    if !person.serves_reconcilers().await? {
        return Ok(Vec::new());
    }
    person.list(&reconciler_kind(), None, "", Projection::Full).await
}

fn deployments() -> KindInfo {
    KindInfo::namespaced("apps", "v1", "Deployment", "deployments")
}

fn pods() -> KindInfo {
    KindInfo::namespaced("", "v1", "Pod", "pods")
}

fn crds() -> KindInfo {
    KindInfo::cluster_scoped(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    )
}

/// Deletes the host's Deployment and waits until its pods are gone; says whether there was one.
async fn stop_host(person: &Person, namespace: &str, progress: &mut Progress) -> anyhow::Result<bool> {
    let Some(deployment) = person.get(&target(&deployments(), namespace, HOST)).await? else {
        progress.note(&format!(
            "there is no Deployment {namespace}/{HOST}; a host that runs elsewhere has to be stopped first: it makes the \
             Reconcilers of drop-ins again"
        ));
        return Ok(false);
    };
    progress.show(&format!("stopping the host: Deployment {namespace}/{HOST}"));
    person.delete(&deployments(), &deployment).await?;
    let selector = selector(&deployment);
    if selector.is_empty() {
        progress.note("the Deployment does not say by labels which pods are its own: they are not waited for");
        return Ok(true);
    }
    let what = format!("the pods of Deployment {namespace}/{HOST}");
    until_gone(&what, async || {
        let pods = person
            .list(&pods(), Some(namespace), &selector, Projection::Metadata)
            .await?;
        Ok(pods.is_empty())
    })
    .await?;
    Ok(true)
}

/// The label selector of a Deployment's pods.
fn selector(deployment: &Object) -> String {
    let labels = deployment
        .at(&["spec", "selector", "matchLabels"])
        .and_then(Value::as_object);
    let terms = labels
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)));
    terms.collect::<Vec<_>>().join(",")
}

async fn until_gone(what: &str, mut gone: impl AsyncFnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let end = Instant::now() + GOING;
    while !gone().await? {
        if Instant::now() > end {
            bail!(
                "{what} are still there after {} s; look why, and run the command again",
                GOING.as_secs()
            );
        }
        sleep(AGAIN).await;
    }
    Ok(())
}

/// Releases what Reconcilers say that they have. What cannot be listed so is found, or named, by the search.
async fn release_claimed(person: &Person, reconcilers: &[Object], done: &mut Done, progress: &mut Progress) {
    for object in reconcilers {
        let id = ReconcilerId::new(object.namespace().unwrap_or_default(), object.name());
        let Some(claim) = status(object).claim else {
            continue;
        };
        progress.show(&format!("releasing the primaries of Reconciler {id}"));
        match claimed(person, &id, claim.kind(), &claim.namespaces).await {
            // Those that are left are tried again by the search.
            Ok(held) => done.released.released += release_held(person, &held, Some(&id), progress).await.released,
            Err(error) => progress.note(&format!("{error:#}")),
        }
    }
}

/// Looks through all kinds and releases what is found; says what was seen.
async fn release_found(person: &Person, done: &mut Done, progress: &mut Progress) -> anyhow::Result<Search> {
    let search = search::search(person, progress).await?;
    done.released.left.clear();
    for held in &search.held {
        let result = release_held(person, held, None, progress).await;
        done.released.add(result);
    }
    Ok(search)
}

async fn search_until_clean(person: &Person, done: &mut Done, progress: &mut Progress) -> anyhow::Result<Search> {
    for _ in 0..ROUNDS {
        let search = release_found(person, done, progress).await?;
        if search.held.is_empty() || !done.released.left.is_empty() {
            return Ok(search);
        }
    }
    bail!(
        "finalizers of ours come back as soon as they are taken off: stop the host that runs somewhere, and run the command again"
    )
}

/// Deletes all Reconcilers and lets them go; says how many there were.
async fn delete_reconcilers(person: &Person, all_have_to_go: bool, progress: &mut Progress) -> anyhow::Result<usize> {
    let first = reconcilers(person).await?;
    progress.show(&format!("deleting {} Reconcilers", first.len()));
    delete_all(person, &first).await?;
    if all_have_to_go {
        let again = until_gone(
            "Reconcilers (a host that still runs makes those of drop-ins again)",
            async || {
                let left = reconcilers(person).await?;
                delete_all(person, &left).await?;
                Ok(left.is_empty())
            },
        );
        again.await?;
    }
    Ok(first.len())
}

async fn delete_all(person: &Person, reconcilers: &[Object]) -> anyhow::Result<()> {
    for object in reconcilers {
        if !object.is_being_deleted() {
            person.delete(&reconciler_kind(), object).await?;
        }
        let id = ReconcilerId::new(object.namespace().unwrap_or_default(), object.name());
        let_go(person, &id).await?;
    }
    Ok(())
}

/// Deletes the CRD, after which no host can make Reconcilers, and waits until it is gone; says whether there was one.
async fn delete_crd(person: &Person, progress: &mut Progress) -> anyhow::Result<bool> {
    let at = target(&crds(), "", RECONCILER_CRD);
    let Some(crd) = person.get(&at).await? else {
        return Ok(false);
    };
    progress.show(&format!("deleting the CRD {RECONCILER_CRD}"));
    person.delete(&crds(), &crd).await?;
    until_gone("the CRD and its Reconcilers", async || {
        if person.get(&at).await?.is_none() {
            return Ok(true);
        }
        // One that was made meanwhile keeps the CRD until it is let go. The listing ends when the CRD does.
        let left = person.list(&reconciler_kind(), None, "", Projection::Metadata).await;
        delete_all(person, &left.unwrap_or_default()).await?;
        Ok(false)
    })
    .await?;
    Ok(true)
}

async fn delete_kept(person: &Person, namespace: &str, progress: &mut Progress) -> anyhow::Result<usize> {
    let selector = format!("{LABEL_KEPT_MODULE}=true");
    let kept = person
        .list(&config_maps(), Some(namespace), &selector, Projection::Metadata)
        .await?;
    progress.show(&format!("deleting {} ConfigMaps of kept modules", kept.len()));
    for part in &kept {
        person.delete(&config_maps(), part).await?;
    }
    Ok(kept.len())
}

fn report(done: &Done, output: Output) -> anyhow::Result<ExitCode> {
    let clean = done.released.left.is_empty() && done.not_searched.is_empty();
    if output == Output::Json {
        super::print(&format!("{}\n", serde_json::to_string_pretty(done)?))?;
        return Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let there = |was: bool| if was { "deleted" } else { "not there, or kept" };
    let text = format!(
        "host: {}\nfinalizers: taken off {} objects\nReconcilers: {} deleted\nCRD: {}\nkept modules: {} ConfigMaps deleted\n\n{}",
        there(done.host_deleted),
        done.released.released,
        done.reconcilers_deleted,
        there(done.crd_deleted),
        done.kept_modules_deleted,
        stays::text(&done.stays),
    );
    super::print(&text)?;
    if !done.released.left.is_empty() {
        bail!(
            "{} objects still carry finalizers of ours:{}",
            done.released.left.len(),
            done.released.words()
        );
    }
    if !clean {
        let kinds: Vec<String> = done.not_searched.iter().map(ToString::to_string).collect();
        Err(anyhow::anyhow!("{}", kinds.join("\n  "))).context(
            "whether finalizers of ours are left is not known for kinds that could not be listed; run the command again \
             with the rights for",
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
