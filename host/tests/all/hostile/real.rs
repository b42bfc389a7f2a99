//! Plays the table on a real API server, with the host as a process: it stays the same process, and gets no bigger.

use super::table::{GUESTS, Guest, Module, REFUSED, primary};
use super::{ended, modules};
use crate::scenarios::RUNTIME;
use crate::spec_on_real::Bare;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use windlass_testing::product::{self, DEADLINE, NAMESPACE};
use windlass_testing::{ControlPlane, HostProcess, eventually};

/// How long it may take until everything has ended: two modules spin for ten seconds each before they are refused.
const ENDED: Duration = Duration::from_secs(120);
/// How much bigger the host may be afterwards, in KiB: buffers that it will use again.
const MARGIN: u64 = 32 << 10;
/// How soon an Nginx that is made among all that has its Deployment.
const CANARY: Duration = Duration::from_secs(10);

fn play(test: impl AsyncFnOnce() -> Result<()>) {
    RUNTIME.block_on(async { test().await.unwrap_or_else(|error| panic!("{error:#}")) });
}

/// The modules as files.
fn files(bare: &Bare) -> Result<HashMap<Module, String>> {
    let mut files = HashMap::new();
    for module in [Module::Rust, Module::Wasi, Module::Handmade, Module::Endless] {
        let file = bare.cluster.directory().join(format!("{module:?}.wasm"));
        std::fs::write(&file, modules::bytes(module))?;
        files.insert(module, file.to_string_lossy().into_owned());
    }
    Ok(files)
}

async fn all(bare: &Bare, kind: &str, namespace: &str) -> Result<Vec<Value>> {
    let list = product::get(&bare.cluster, &[kind, "-n", namespace]).await?;
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}

async fn apply(bare: &Bare, objects: Vec<Value>) -> Result<()> {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    bare.cluster.apply(&list.to_string()).await?;
    Ok(())
}

/// Makes an Nginx, and waits for its Deployment.
async fn canary(bare: &Bare, name: &str) -> Result<()> {
    let nginx = json!({
        "apiVersion": "stable.underneathall.com/v1", "kind": "Nginx",
        "metadata": {"namespace": "nginx", "name": name}, "spec": {"replicas": 1},
    });
    apply(bare, vec![nginx]).await?;
    eventually(CANARY, &format!("the canary {name} has its Deployment"), async || {
        let deployment = format!("{name}-deploy");
        product::get(&bare.cluster, &["deployment", "-n", "nginx", &deployment]).await
    })
    .await?;
    Ok(())
}

async fn metrics(host: &HostProcess) -> Result<String> {
    let answer = host.ask("/metrics").await?;
    let (_, body) = answer.split_once("\r\n\r\n").context("no body")?;
    Ok(body.to_owned())
}

/// Resident memory of the host when it has nothing to do, in KiB.
async fn resident_at_rest(host: &HostProcess) -> Result<u64> {
    eventually(DEADLINE, "the host has nothing to do", async || {
        let text = metrics(host).await?;
        for name in ["windlass_guest_calls_in_flight", "windlass_queue_depth"] {
            ensure!(
                ended::value(&text, name) == 0,
                "{name} is {}",
                ended::value(&text, name)
            );
        }
        Ok(())
    })
    .await?;
    let status = std::fs::read_to_string(format!("/proc/{}/status", host.pid()))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .context("Linux")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse()?)
}

#[test]
fn whatever_a_hostile_guest_does_the_host_stays_the_same_process_and_gets_no_bigger() {
    play(async || {
        let mut bare = Bare::new(ControlPlane::start_api_only().await?, "host-of-hostiles.log", &[]).await?;
        let files = files(&bare)?;
        bare.take_up("nginx", windlass_artifacts::NGINX, &json!({})).await?;
        for guest in &GUESTS {
            bare.take_up(guest.name, &files[&guest.module], &(guest.spec)()).await?;
        }
        canary(&bare, "before").await?;
        let before = resident_at_rest(&bare.host).await?;
        for (name, module, settings, ..) in REFUSED {
            bare.reconciler(name, &files[&module], &json!({"settings": settings()}))
                .await?;
        }
        let primaries =
            |guest: &'static Guest| guest.behaviours.iter().map(|(behaviour, ..)| primary(guest, behaviour));
        apply(&bare, GUESTS.iter().flat_map(primaries).collect()).await?;
        canary(&bare, "among").await?;
        eventually(ENDED, "everything ends as the table says", async || left(&bare).await).await?;
        ensure!(
            bare.host.exited()?.is_none(),
            "the host has ended: {}",
            bare.host.logs()?
        );

        for guest in &GUESTS {
            let delete = ["delete", "hostiles.hostile.windlass.test", "--all", "-n", guest.name];
            bare.cluster.kubectl(&delete).await?;
        }
        for (name, ..) in REFUSED {
            bare.cluster
                .kubectl(&["delete", "reconciler", name, "-n", NAMESPACE])
                .await?;
        }
        canary(&bare, "after").await?;
        let after = resident_at_rest(&bare.host).await?;
        println!("{before} KiB before, {after} KiB after");
        ensure!(
            after <= before + MARGIN,
            "the host has {before} KiB before, and {after} KiB after"
        );
        ensure!(
            bare.host.exited()?.is_none(),
            "the host has ended: {}",
            bare.host.logs()?
        );
        Ok(())
    });
}

/// What is not yet as the table says.
async fn left(bare: &Bare) -> Result<()> {
    let mut left = ended::refusals(&all(bare, "reconcilers", NAMESPACE).await?);
    for guest in &GUESTS {
        let primaries = all(bare, "hostiles.hostile.windlass.test", guest.name).await?;
        let children = all(bare, "configmaps", guest.name).await?;
        left.extend(ended::primaries(guest, &primaries, &children));
        left.extend(
            ended::strays(guest, &children)
                .into_iter()
                .map(|child| format!("{child} was written")),
        );
    }
    left.extend(ended::uncounted(&metrics(&bare.host).await?));
    ensure!(left.is_empty(), "{left:#?}");
    Ok(())
}

/// How soon the host answers its probe, whatever its guests do.
const ANSWERS: Duration = Duration::from_millis(500);

#[test]
fn e_03_a_host_with_one_thread_answers_its_probe_while_four_guests_spin() {
    play(async || {
        let bare = Bare::new(
            ControlPlane::start_api_only().await?,
            "host-of-one-thread.log",
            &[("TOKIO_WORKER_THREADS", "1")],
        )
        .await?;
        bare.take_up("nginx", windlass_artifacts::NGINX, &json!({})).await?;
        bare.take_up("hostile", windlass_artifacts::HOSTILE, &json!({})).await?;
        let spinning = |number| {
            json!({
                "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
                "metadata": {"namespace": "hostile", "name": format!("spin-{number}")}, "spec": {"behaviour": "spin"},
            })
        };
        apply(&bare, (0..4).map(spinning).collect()).await?;
        let (mut longest, mut count) = (Duration::ZERO, 0);
        let probes = eventually(DEADLINE, "each guest has spun", async || {
            let began = Instant::now();
            ensure!(bare.host.ask("/livez").await?.ends_with("ok"), "/livez is not well");
            (longest, count) = (longest.max(began.elapsed()), count + 1);
            let labels = "reconciler=\"windlass-system/hostile\",result=\"GuestTimedOut\"";
            let spun = ended::value(
                &metrics(&bare.host).await?,
                &format!("windlass_decisions_total{{{labels}}}"),
            );
            ensure!(spun >= 4, "{spun} so far");
            Ok(())
        });
        let (probes, canary) = tokio::join!(probes, canary(&bare, "among"));
        canary?;
        probes?;
        println!("{count} probes, the longest took {longest:?}");
        ensure!(
            count >= 20 && longest <= ANSWERS,
            "{count} probes, the longest took {longest:?}"
        );
        Ok(())
    });
}
