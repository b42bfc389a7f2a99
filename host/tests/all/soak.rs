//! Swaps modules under load for a long time, on an API server of its own, and looks at what the host's process has become.

use crate::scenarios::RUNTIME;
use crate::scenarios::real::PROGRAM;
use crate::world::{base64, variant};
use anyhow::{Context, Result, ensure};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use std::path::Path;
use windlass_testing::product::{self, DEADLINE, NAMESPACE};
use windlass_testing::{ControlPlane, HostProcess, eventually};

/// How many swaps there are, and how many before the first look: caches and pools have grown by then.
const SWAPS: usize = 200;
const SETTLED: usize = 40;
/// How many primaries are decided again at each.
const PRIMARIES: usize = 12;

/// What a process has.
#[derive(Debug)]
struct Footprint {
    resident_kibibytes: u64,
    threads: u64,
    files: usize,
    tasks: u64,
    watches: u64,
}

impl Footprint {
    async fn of(host: &HostProcess) -> Result<Self> {
        let process = Path::new("/proc").join(host.pid().to_string());
        let status = std::fs::read_to_string(process.join("status"))?;
        let number = |name: &str| -> Result<u64> {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .context("Linux")?;
            Ok(line
                .trim_start_matches(':')
                .trim()
                .trim_end_matches(" kB")
                .trim()
                .parse()?)
        };
        let metrics = host.ask("/metrics").await?;
        let gauge = |name: &str| -> Result<u64> {
            let value = metrics
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            Ok(value.with_context(|| format!("no {name} in {metrics}"))?.parse()?)
        };
        Ok(Self {
            resident_kibibytes: number("VmRSS")?,
            threads: number("Threads")?,
            files: std::fs::read_dir(process.join("fd"))?.count(),
            tasks: gauge("windlass_tasks")?,
            watches: gauge("windlass_watches")?,
        })
    }
}

fn api(client: &Client, group: &str, kind: &str, plural: &str, namespace: &str) -> Api<DynamicObject> {
    let of = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
    Api::namespaced_with(client.clone(), namespace, &of)
}

/// The module of an even or odd number, with the image that its settings name.
fn version(number: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": NAMESPACE, "name": "nginx", "labels": {"windlass.dev/module": "true"}},
        "binaryData": {"module.wasm": base64(&variant("nginx", (number % 2) as u8))},
        "data": {"settings.yaml": format!("image: nginx:{}", number % 2)},
    })
}

#[test]
fn f_03_two_hundred_swaps_under_load_leave_nothing_behind_and_lose_no_decision() {
    RUNTIME.block_on(async {
        soak().await.unwrap_or_else(|error| panic!("{error:#}"));
    });
}

async fn soak() -> Result<()> {
    let cluster = ControlPlane::start_api_only().await?;
    let environment = product::account(&cluster).await?;
    for crd in ["deploy/crds/reconcilers.yaml", "deploy/samples/nginx/crd.yaml"] {
        product::apply_file(&cluster, crd).await?;
    }
    product::grant(
        &cluster,
        Path::new(PROGRAM),
        "nginx",
        Path::new(windlass_artifacts::NGINX),
        "",
    )
    .await?;
    let cache = tempfile::tempdir()?;
    let mut host = product::host(Path::new(PROGRAM), &environment, "host-of-soak.log")
        .variable("WINDLASS_CACHE_DIR", cache.path())
        .start()?;
    let client = cluster.client().await?;
    let config_maps = api(&client, "", "ConfigMap", "configmaps", NAMESPACE);
    let nginxes = api(&client, "stable.underneathall.com", "Nginx", "nginx", "default");
    let apply = PatchParams::apply("soak").force();
    for number in 0..PRIMARIES {
        nginxes
            .patch(&format!("web-{number}"), &apply, &Patch::Apply(&nginx(number, 1)))
            .await?;
    }
    host.ready(DEADLINE).await?;
    let mut settled = None;
    for number in 0..SWAPS {
        config_maps
            .patch("nginx", &apply, &Patch::Apply(&version(number)))
            .await?;
        let edited = number % PRIMARIES;
        let replicas = 1 + number / PRIMARIES;
        nginxes
            .patch(
                &format!("web-{edited}"),
                &apply,
                &Patch::Apply(&nginx(edited, replicas)),
            )
            .await?;
        swapped(&host, number + 1).await?;
        if number == SETTLED {
            converged(&client, number).await?;
            settled = Some(Footprint::of(&host).await?);
        }
    }
    converged(&client, SWAPS - 1).await?;
    let (before, after) = (settled.context("it was looked at")?, Footprint::of(&host).await?);
    println!("after {SETTLED} swaps {before:?}, after {SWAPS} {after:?}");
    ensure!(
        after.resident_kibibytes <= before.resident_kibibytes * 11 / 10,
        "memory grows: {before:?}, then {after:?}"
    );
    ensure!(
        after.watches == before.watches,
        "watches are left over: {before:?}, then {after:?}"
    );
    // A connection or a blocking thread may come and go; one for every tenth swap would be sixteen.
    for (what, before, after) in [
        ("threads", before.threads, after.threads),
        ("files", before.files as u64, after.files as u64),
        ("tasks", before.tasks, after.tasks),
    ] {
        ensure!(after <= before + 8, "{what} are left over: {before}, then {after}");
    }
    let metrics = host.ask("/metrics").await?;
    for none in [
        "result=\"GuestTrapped\"",
        "result=\"GuestTimedOut\"",
        "result=\"GuestOutputRejected\"",
    ] {
        ensure!(!metrics.contains(none), "a swap made a decision fail: {metrics}");
    }
    ensure!(metrics.contains("windlass_reconcile_panics_total 0"), "{metrics}");
    ensure!(host.exited()?.is_none(), "the host has ended");
    let kept = config_maps
        .list(&kube::api::ListParams::default().labels("windlass.dev/kept-module=true"))
        .await?;
    ensure!(kept.items.len() == 2, "two modules are kept, not {}", kept.items.len());
    Ok(())
}

fn nginx(number: usize, replicas: usize) -> Value {
    json!({
        "apiVersion": "stable.underneathall.com/v1", "kind": "Nginx",
        "metadata": {"namespace": "default", "name": format!("web-{number}")}, "spec": {"replicas": replicas},
    })
}

/// Waits until so many modules were taken up.
async fn swapped(host: &HostProcess, wanted: usize) -> Result<()> {
    eventually(DEADLINE, &format!("swap {wanted}"), async || {
        let metrics = host.ask("/metrics").await?;
        let line = metrics
            .lines()
            .find_map(|line| line.strip_prefix("windlass_swaps_total "));
        let swaps: usize = line.context("no windlass_swaps_total")?.parse()?;
        ensure!(swaps >= wanted, "{swaps} so far");
        Ok(())
    })
    .await
}

/// Waits until every Deployment is what the module of this number makes of its Nginx as it was edited last.
async fn converged(client: &Client, last: usize) -> Result<()> {
    let deployments = api(client, "apps", "Deployment", "deployments", "default");
    eventually(DEADLINE, "all Deployments are those of the last module", async || {
        for number in 0..PRIMARIES {
            let edits = (0..=last).rfind(|edit| edit % PRIMARIES == number);
            let replicas = edits.map_or(1, |edit| 1 + edit / PRIMARIES);
            let found = deployments.get(&format!("web-{number}-deploy")).await?;
            let spec = &found.data["spec"];
            let image = &spec["template"]["spec"]["containers"][0]["image"];
            ensure!(
                *image == format!("nginx:{}", last % 2) && spec["replicas"] == replicas,
                "web-{number} has {image} and {} instead of {replicas}",
                spec["replicas"]
            );
        }
        Ok(())
    })
    .await
}
