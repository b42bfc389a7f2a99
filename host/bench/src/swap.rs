//! Measures a swap on a real control plane: a module written, until what the new one decides is there.
//!
//! Beside each swap primaries are created, until their Deployments are there: the same way through API server and host,
//! with a write of one object in the place of the module.

use crate::cluster::Cluster;
use crate::comparison::{Comparison, Target};
use crate::effort::Effort;
use crate::follow::Following;
use crate::modules::Guest;
use crate::quantity::Sample;
use anyhow::{Context, Result};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};
use windlass::guest::digest;

/// What a swap to compiled code may take, as a multiple of a Deployment for a new primary.
const TARGET: Target = Target::Times(3.0);
/// Between two measurements, so that one does not pay for what the other set off.
const PACE: Duration = Duration::from_millis(100);
/// Where the primaries are.
const PRIMARIES: &str = "default";
/// Name of module, account and Reconciler.
const NAME: &str = "nginx";

/// Times of one kind of change: from its write's beginning and from its answer, until the Deployment is seen.
struct Times {
    called: Sample,
    answered: Sample,
}

/// The cluster with one host and one primary whose Deployment shows which module decided.
struct Swapping<'a> {
    cluster: &'a Cluster,
    following: Following,
    primaries: Api<DynamicObject>,
    kind: ApiResource,
    /// What the running module wants.
    image: String,
}

/// Measures swaps in turn: to a module that was never seen, back to one whose code is kept, and primaries after both.
///
/// # Errors
/// If anything of it does not happen.
pub(crate) async fn measure(effort: &Effort, windlass: &Path) -> Result<Vec<Comparison>> {
    let cluster = Cluster::start(windlass).await?;
    cluster.grant(&[NAME.to_owned()], &Guest::Nginx.module()).await?;
    let host = cluster.host().await?;
    let measured = measure_on(effort, &cluster).await;
    measured.with_context(|| format!("the host's log is {}", host.log_path().display()))
}

async fn measure_on(effort: &Effort, cluster: &Cluster) -> Result<Vec<Comparison>> {
    let mut swapping = Swapping::begin(cluster).await?;
    let (mut cold, mut cached, mut created) = (Times::new(), Times::new(), Times::new());
    for number in 0..effort.swaps {
        swapping.swap(Guest::NginxNext.variant(number), &mut cold).await?;
        swapping.swap(Guest::Nginx.module(), &mut cached).await?;
        for primary in 0..effort.creations {
            swapping
                .create(&format!("new-{number}-{primary}"), &mut created)
                .await?;
        }
    }
    let reference = |line: Comparison, of: &Sample| line.against("Nginx created -> Deployment seen", of.quantity());
    let line = |what: &str, times: &Sample| Comparison::of(what, times.quantity());
    Ok(vec![
        reference(
            line("module written -> its decision seen, code kept", &cached.answered),
            &created.answered,
        )
        .target(TARGET),
        reference(
            line("module written -> its decision seen, never seen before", &cold.answered),
            &created.answered,
        ),
        reference(
            line("the same from the write's beginning, code kept", &cached.called),
            &created.called,
        ),
        reference(
            line("the same from the write's beginning, never seen before", &cold.called),
            &created.called,
        ),
    ])
}

impl Times {
    fn new() -> Self {
        Self {
            called: Sample::new(),
            answered: Sample::new(),
        }
    }

    fn add(&mut self, (called, answered): (Instant, Instant), seen: Instant) {
        // An event may overtake the answer to the write that caused it.
        self.called.add(seen.saturating_duration_since(called));
        self.answered.add(seen.saturating_duration_since(answered));
    }
}

impl<'a> Swapping<'a> {
    /// Takes the first module up, has a primary decided by it, and by the other one, so that the code of both is kept.
    async fn begin(cluster: &'a Cluster) -> Result<Self> {
        let kind = ApiResource::from_gvk_with_plural(
            &GroupVersionKind::gvk("stable.underneathall.com", "v1", "Nginx"),
            "nginx",
        );
        let mut swapping = Self {
            cluster,
            following: Following::begin(cluster.client.clone(), PRIMARIES),
            primaries: Api::namespaced_with(cluster.client.clone(), PRIMARIES, &kind),
            kind,
            image: String::new(),
        };
        cluster.drop_in(NAME, Guest::Nginx.module()).await?;
        cluster.all_ready(1).await?;
        swapping.write("one").await?;
        swapping.image = swapping.following.first(|_| true).await?.1.image;
        let mut unmeasured = Times::new();
        swapping.swap(Guest::NginxNext.module(), &mut unmeasured).await?;
        swapping.swap(Guest::Nginx.module(), &mut unmeasured).await?;
        Ok(swapping)
    }

    /// Replaces the module by one that wants another image.
    async fn swap(&mut self, module: Vec<u8>, times: &mut Times) -> Result<()> {
        let wanted = digest(&module).map_err(|refusal| anyhow::anyhow!("{refusal}"))?;
        tokio::time::sleep(PACE).await;
        let written = self.cluster.drop_in(NAME, module).await?;
        let before = std::mem::take(&mut self.image);
        let (at, seen) = self.following.first(|seen| seen.image != before).await?;
        times.add(written, at);
        self.image = seen.image;
        self.cluster.runs(NAME, &wanted).await
    }

    /// Creates a primary, and takes it and its Deployment away again.
    async fn create(&mut self, name: &str, times: &mut Times) -> Result<()> {
        tokio::time::sleep(PACE).await;
        let written = self.write(name).await?;
        let (at, deployment) = self
            .following
            .first(|seen| seen.name.starts_with(&format!("{name}-")))
            .await?;
        times.add(written, at);
        let deployments: Api<Deployment> = Api::namespaced(self.cluster.client.clone(), PRIMARIES);
        self.primaries.delete(name, &DeleteParams::default()).await?;
        deployments.delete(&deployment.name, &DeleteParams::default()).await?;
        Ok(())
    }

    async fn write(&self, name: &str) -> Result<(Instant, Instant)> {
        let primary = DynamicObject::new(name, &self.kind).data(json!({"spec": {"replicas": 1}}));
        let began = Instant::now();
        self.primaries.create(&PostParams::default(), &primary).await?;
        Ok((began, Instant::now()))
    }
}
