//! Runs a module on a cluster in memory until nothing moves any more, and prints what it would have written.

use super::module::{ModuleArguments, Opened};
use super::{Output, difference, files};
use crate::api;
use crate::cluster::Cluster;
use crate::cluster::memory::{MemoryCluster, Recorded, WriteAuthor};
use crate::guest::{Loader, Module};
use crate::host::Host;
use crate::seed;
use crate::settings::Settings;
use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use windlass_core::key::ReconcilerId;
use windlass_core::manifest::Manifest;
use windlass_core::names::{ANNOTATION_CONSENT, LABEL_MODULE};
use windlass_core::object::Object;
use windlass_core::secrets::is_secret;
use windlass_core::write::{Identity, Subresource};

/// Runs a module on a cluster in memory, and prints every write as a difference; needs no cluster
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  windlass simulate nginx.wasm -f crd.yaml -f nginx.yaml
  kubectl get nginx,deployments -o yaml --show-managed-fields | windlass simulate nginx.wasm --name nginx -f -
  windlass simulate nginx.wasm -f samples/ --settings settings.yaml -o json")]
pub(super) struct SimulateArguments {
    #[command(flatten)]
    module: ModuleArguments,
    /// Objects that are there: a file, a folder, or - for standard input; can be given several times
    #[arg(short = 'f', long = "filename", required = true)]
    files: Vec<PathBuf>,
    /// Name of the Reconciler, whose children among the objects are its own
    #[arg(long, default_value = "simulated", value_parser = super::reconciler_name)]
    name: String,
    /// How the result is printed
    #[arg(short, long, default_value = "text")]
    output: Output,
}

/// How long it may take until nothing moves; a module that always wants something more is stopped then.
const DEADLINE: Duration = Duration::from_secs(30);
/// Namespace of the simulated host.
const NAMESPACE: &str = "windlass-system";
/// The simulated host's key: no secret, so that the same input always prints the same, and no real seed is ever derived.
const KEY: &[u8; 32] = b"windlass simulate: not a secret.";

pub(super) async fn simulate(arguments: SimulateArguments) -> anyhow::Result<ExitCode> {
    let objects = files::objects(&arguments.files)?;
    let Opened {
        bytes,
        settings,
        loader,
        module,
        manifest,
    } = arguments.module.open().await?;
    let cluster = cluster(&manifest, objects).await?;
    let primaries = cluster.list(&manifest.primary.kind.of).len();
    install(&cluster, &arguments.name, &bytes, &settings)?;
    let begun = Instant::now();
    let mark = cluster.mark();
    let standings = run(cluster.clone(), loader, module.clone(), &arguments.name).await?;
    let simulated = Simulated {
        time: begun.elapsed(),
        writes: cluster
            .writes_since(mark)
            .into_iter()
            .filter(is_of_the_module)
            .filter(|record| record.changed() || record.error.is_some())
            .filter(|record| !changes_only_books(record))
            .collect(),
        standings,
        primaries,
    };
    match arguments.output {
        Output::Text => super::print(&simulated.text(&module, &manifest)?)?,
        Output::Json => {
            super::print(&format!(
                "{}\n",
                serde_json::to_string_pretty(&simulated.json(&module, &manifest))?
            ))?;
        }
    }
    Ok(if simulated.failed() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// A cluster with these objects. Kinds without a CRD are served as the module says.
async fn cluster(manifest: &Manifest, objects: Vec<Object>) -> anyhow::Result<MemoryCluster> {
    let cluster = MemoryCluster::with_clock(jiff::Timestamp::now);
    let (crds, mut others): (Vec<Object>, Vec<Object>) = objects
        .into_iter()
        .partition(|object| object.kind().kind == "CustomResourceDefinition");
    cluster.load(crds).context("a CRD cannot be taken in")?;
    let children = manifest.children.iter().map(|child| &child.kind);
    let reads = manifest.reads.iter().map(|read| &read.kind);
    for kind in std::iter::once(&manifest.primary.kind).chain(children).chain(reads) {
        if cluster.discover(&kind.of).await?.is_none() {
            cluster.declare(kind.clone());
        }
    }
    others.retain(|object| !seed::is_key(object, NAMESPACE));
    for object in &mut others {
        // As kubectl does: what has no namespace and needs one is in `default`.
        let served = cluster.discover(&object.kind()).await?;
        if object.namespace().is_none() && served.is_some_and(|served| served.kind.namespaced) {
            object.metadata_mut().insert("namespace".into(), "default".into());
        }
    }
    cluster.load(others).context("an object cannot be taken in")?;
    if cluster.list(&manifest.primary.kind.of).is_empty() {
        bail!(
            "none of the objects is a {}, which is what the module is about",
            manifest.primary.kind.of
        );
    }
    Ok(cluster)
}

/// Drops the module in, as a platform team would.
fn install(cluster: &MemoryCluster, name: &str, bytes: &[u8], settings: &Value) -> anyhow::Result<()> {
    let objects = [
        api::crd(),
        seed::key_secret(NAMESPACE, KEY),
        json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"namespace": NAMESPACE, "name": name, "annotations": {ANNOTATION_CONSENT: name}},
        }),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": NAMESPACE, "name": name, "labels": {LABEL_MODULE: "true"}},
            "binaryData": {"module.wasm": STANDARD.encode(bytes)},
            "data": {"settings.yaml": settings.to_string()},
        }),
    ];
    let objects = objects.into_iter().filter_map(Object::from_value).collect();
    cluster.load(objects).context("the simulated host cannot be set up")
}

/// Runs the whole host until nothing moves; gives how the primaries stand then.
async fn run(
    cluster: MemoryCluster,
    loader: Loader,
    module: Module,
    name: &str,
) -> anyhow::Result<Vec<(String, crate::running::Standing)>> {
    let host = Host::new(Settings::new(NAMESPACE), Arc::new(cluster.clone()), loader);
    let _shared = host.modules.share(module);
    let id = ReconcilerId::new(NAMESPACE, name);
    host.start();
    let quiet = tokio::time::timeout(DEADLINE, async {
        loop {
            cluster.delivered().await;
            if host.is_idle() && cluster.is_drained() && host.running.active(&id).is_some() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let quiet = quiet.await.is_ok();
    let standings = host.running.standings(&id);
    host.stop().await;
    if !quiet {
        let said = cluster.list(&api::reconciler_kind().of).pop();
        let why = said
            .as_ref()
            .and_then(|reconciler| reconciler.at(&["status", "conditions"]))
            .map(Value::to_string);
        let why = why.unwrap_or_else(|| "the module did not get in".into());
        bail!("it did not come to rest within {} s: {why}", DEADLINE.as_secs());
    }
    Ok(standings)
}

/// Whether a write is the module's doing, and not the simulated host's own books.
fn is_of_the_module(record: &Recorded) -> bool {
    matches!(record.author, WriteAuthor::Through(Identity::ServiceAccount { .. }))
}

/// Whether a write changes nothing of a Secret but the hash of what was applied: that of a real host is under its own key.
fn changes_only_books(record: &Recorded) -> bool {
    let (before, after) = difference::json(record.before.as_ref(), record.after.as_ref());
    is_secret(&record.target.kind) && record.error.is_none() && before == after
}

/// What came of it.
struct Simulated {
    time: Duration,
    writes: Vec<Recorded>,
    standings: Vec<(String, crate::running::Standing)>,
    primaries: usize,
}

impl Simulated {
    fn failed(&self) -> bool {
        self.standings.iter().any(|(_, standing)| standing.is_failing())
    }

    fn text(&self, module: &Module, manifest: &Manifest) -> anyhow::Result<String> {
        let strict = if module.is_strict() { "strict" } else { "compatible" };
        let mut text = String::new();
        writeln!(
            text,
            "{} {} ({strict}), for {}",
            manifest.name, manifest.version, manifest.primary.kind.of
        )?;
        for record in &self.writes {
            writeln!(text, "\n{}", headline(record))?;
            match &record.error {
                Some(error) => writeln!(text, "  refused: {error}")?,
                None => text.push_str(&difference::text(record.before.as_ref(), record.after.as_ref())?),
            }
        }
        writeln!(text)?;
        for (primary, standing) in self.standings.iter().filter(|(_, standing)| !standing.ready) {
            writeln!(text, "{primary}: {}: {}", standing.reason, standing.message)?;
        }
        let ready = self.standings.iter().filter(|(_, standing)| standing.ready).count();
        writeln!(
            text,
            "{ready}/{} ready after {} in {:.1} ms (compiled before in {:.0} ms)",
            self.primaries,
            match self.writes.len() {
                1 => "1 write".to_owned(),
                count => format!("{count} writes"),
            },
            self.time.as_secs_f64() * 1e3,
            module.compile_time().as_secs_f64() * 1e3,
        )?;
        Ok(text)
    }

    fn json(&self, module: &Module, manifest: &Manifest) -> Value {
        let writes = self.writes.iter().map(|record| {
            let (before, after) = difference::json(record.before.as_ref(), record.after.as_ref());
            json!({
                "verb": verb(record),
                "object": record.target.reference(),
                "subresource": record.subresource,
                "manager": record.manager,
                "before": before,
                "after": after,
                "error": record.error.as_ref().map(ToString::to_string),
            })
        });
        let primaries = self.standings.iter().map(|(primary, standing)| {
            json!({
                "primary": primary, "ready": standing.ready,
                "reason": standing.reason, "message": standing.message,
            })
        });
        json!({
            "module": {
                "name": manifest.name, "version": manifest.version, "digest": module.digest(),
                "strict": module.is_strict(), "compileMilliseconds": module.compile_time().as_secs_f64() * 1e3,
            },
            "milliseconds": self.time.as_secs_f64() * 1e3,
            "writes": writes.collect::<Vec<_>>(),
            "primaries": primaries.collect::<Vec<_>>(),
        })
    }
}

/// The verb as RBAC calls it.
fn verb(record: &Recorded) -> String {
    format!("{:?}", record.verb).to_lowercase()
}

fn headline(record: &Recorded) -> String {
    let part = match record.subresource {
        Subresource::None => "",
        Subresource::Status => " (status)",
    };
    format!("{} {}{part}", verb(record), record.target.reference())
}
