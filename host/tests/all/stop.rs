//! Stops a host while decisions run, after asking it all that its pod's probes and its logs are asked.

use crate::scenarios::real::PROGRAM;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use windlass_testing::product::{self, DEADLINE};
use windlass_testing::{ControlPlane, HostProcess, eventually};

/// What the pod has, less what the kubelet needs.
const GRACE: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_is_told_to_stop_ends_well_while_decisions_run() {
    play().await.unwrap_or_else(|error| panic!("{error:#}"));
}

/// On a control plane of its own, as only one host may run on one.
async fn play() -> Result<()> {
    let cluster = ControlPlane::start_api_only().await?;
    let environment = product::account(&cluster).await?;
    for path in ["deploy/crds/reconcilers.yaml", "guests/hostile/crd.yaml"] {
        product::apply_file(&cluster, path).await?;
    }
    let module = Path::new(windlass_artifacts::HOSTILE);
    let settings = "behaviour: spin\n";
    product::grant(&cluster, Path::new(PROGRAM), "hostile", module, settings).await?;
    product::drop_in(&cluster, "hostile", &std::fs::read(module)?, settings).await?;
    let mut host = product::host(Path::new(PROGRAM), &environment, "host-that-stops.log")
        .variable("WINDLASS_LOG_FORMAT", "json")
        .start()?;
    host.ready(DEADLINE).await?;
    product::await_reconciler(&cluster, "hostile", "Ready", "True").await?;
    for number in 0..8 {
        let endless = json!({
            "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
            "metadata": {"namespace": "default", "name": format!("endless-{number}")}, "spec": {},
        });
        cluster.apply(&endless.to_string()).await?;
    }
    eventually(DEADLINE, "decisions have run", async || {
        ensure!(host.decisions("hostile").await? > 0, "none so far");
        Ok(())
    })
    .await?;
    probes(&host).await?;
    let status = host.terminate(GRACE).await?;
    ensure!(status.success(), "it ended with {status}: {}", host.logs()?);
    logs(&host.logs()?)
}

async fn probes(host: &HostProcess) -> Result<()> {
    for path in ["/livez", "/readyz"] {
        let answer = host.ask(path).await?;
        ensure!(
            answer.starts_with("HTTP/1.1 200 ") && answer.trim_end().ends_with("ok"),
            "{path}: {answer}"
        );
    }
    let metrics = host.ask("/metrics").await?;
    let (_, body) = metrics.split_once("\r\n\r\n").context("no body")?;
    for line in body.lines().filter(|line| !line.starts_with('#')) {
        let value = line.rsplit(' ').next().unwrap_or_default();
        ensure!(line.starts_with("windlass_") && value.parse::<f64>().is_ok(), "{line}");
    }
    ensure!(body.contains("windlass_decisions_total{"), "{body}");
    let missing = host.ask("/nothing").await?;
    ensure!(missing.starts_with("HTTP/1.1 404 "), "{missing}");
    Ok(())
}

/// Every line is one JSON object with a time, a level and a message; the last says that it is done.
fn logs(text: &str) -> Result<()> {
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("not JSON: {line}")))
        .collect::<Result<_>>()?;
    for line in &lines {
        for field in ["timestamp", "level", "message"] {
            ensure!(line[field].is_string(), "no {field} in {line}");
        }
    }
    ensure!(
        lines
            .iter()
            .any(|line| line["message"] == "told to stop: what runs comes to its end"),
        "{text}"
    );
    ensure!(lines.last().is_some_and(|line| line["message"] == "stopped"), "{text}");
    Ok(())
}
