//! Follows Deployments, and says when each was seen with which image.

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Client;
use kube::api::{Api, WatchEvent, WatchParams};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Longest time in which something has to be seen.
const DEADLINE: Duration = Duration::from_secs(60);

/// A Deployment as it was seen.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Its name.
    pub(crate) name: String,
    /// The image of its first container.
    pub(crate) image: String,
    /// When the event came in.
    at: Instant,
}

/// What is seen from the moment on at which this was made.
pub(crate) struct Following {
    seen: mpsc::UnboundedReceiver<Seen>,
    task: JoinHandle<()>,
}

impl Following {
    /// Begins to follow the Deployments of a namespace.
    pub(crate) fn begin(client: Client, namespace: &str) -> Self {
        let deployments = Api::namespaced(client, namespace);
        let (sender, seen) = mpsc::unbounded_channel();
        let task = tokio::spawn(follow(deployments, sender));
        Self { seen, task }
    }

    /// When the first one came in that is looked for; what comes before it is forgotten.
    ///
    /// # Errors
    /// If none comes in time.
    pub(crate) async fn first(&mut self, is_it: impl Fn(&Seen) -> bool) -> anyhow::Result<(Instant, Seen)> {
        let found = tokio::time::timeout(DEADLINE, async {
            while let Some(seen) = self.seen.recv().await {
                if is_it(&seen) {
                    return Some((seen.at, seen));
                }
            }
            None
        });
        found
            .await
            .ok()
            .flatten()
            .ok_or_else(|| anyhow::anyhow!("the Deployment was not seen in {DEADLINE:?}"))
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Ends when nobody listens any more. A server ends every watch after a while; the next goes on from where it was.
async fn follow(deployments: Api<Deployment>, sender: mpsc::UnboundedSender<Seen>) {
    let mut version = "0".to_owned();
    while !sender.is_closed() {
        let Ok(events) = deployments.watch(&WatchParams::default(), &version).await else {
            version = "0".to_owned();
            continue;
        };
        let mut events = events.boxed();
        while let Some(Ok(event)) = events.next().await {
            let at = Instant::now();
            if let WatchEvent::Added(deployment) | WatchEvent::Modified(deployment) = event {
                version = deployment.metadata.resource_version.clone().unwrap_or(version);
                let _ = sender.send(seen(deployment, at));
            }
        }
    }
}

fn seen(deployment: Deployment, at: Instant) -> Seen {
    let pod = deployment.spec.template.spec;
    let image = pod.and_then(|pod| pod.containers.into_iter().next()?.image);
    Seen {
        name: deployment.metadata.name.unwrap_or_default(),
        image: image.unwrap_or_default(),
        at,
    }
}
