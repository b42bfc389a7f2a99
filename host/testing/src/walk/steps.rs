//! The steps of the walk, in their order.

use super::Walk;
use crate::eventually;
use crate::product::{
    self, DEADLINE, HOST_USER, NAMESPACE, apply_file, await_gone, await_reconciler, await_running, await_value,
    condition, drop_in, get, grant,
};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::time::Duration;

/// Longest time in which a change by somebody else has to be put right ("at once", seen from a slow machine).
const AT_ONCE: Duration = Duration::from_secs(10);
/// How long the host is watched for writes that must not come.
const QUIET: Duration = Duration::from_secs(3);
/// The label of the pods of one Nginx.
const FIRST: &str = "underneathall-app=nginx-underneathall-nginx";
const SECOND: &str = "underneathall-app=nginx-underneathall-nginx-1";
const DEPLOYMENT: [&str; 2] = ["deployment", "underneathall-nginx-deploy"];
const SECOND_DEPLOYMENT: [&str; 2] = ["deployment", "underneathall-nginx-1-deploy"];

fn nginx(name: &str, replicas: u32) -> String {
    json!({
        "apiVersion": "stable.underneathall.com/v1", "kind": "Nginx",
        "metadata": {"namespace": "default", "name": name}, "spec": {"replicas": replicas},
    })
    .to_string()
}

fn text(value: &serde_json::Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn pod(name: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default", "name": name},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    })
    .to_string()
}

impl Walk<'_> {
    /// CRDs, accounts, roles and modules: both Reconcilers become Ready.
    pub async fn drop_in(&mut self) -> Result<()> {
        for path in [
            "deploy/crds/reconcilers.yaml",
            "deploy/samples/nginx/crd.yaml",
            "deploy/samples/friend/crd.yaml",
        ] {
            apply_file(self.cluster, path).await?;
        }
        for path in ["deploy/samples/nginx/rbac.yaml", "deploy/samples/friend/rbac.yaml"] {
            apply_file(self.cluster, path).await?;
        }
        self.tell("CRDs, ServiceAccounts and roles are there; now each module as a labelled ConfigMap");
        drop_in(self.cluster, "nginx", &std::fs::read(&self.modules.nginx)?, "").await?;
        drop_in(self.cluster, "friend", &std::fs::read(&self.modules.friend)?, "").await?;
        await_reconciler(self.cluster, "nginx", "Ready", "True").await?;
        await_reconciler(self.cluster, "friend", "Ready", "True").await?;
        self.show(&["get", "reconcilers", "-A"]).await?;
        Ok(())
    }

    /// Two Nginx: created, changed, deleted.
    pub async fn nginx(&mut self) -> Result<()> {
        self.title("2. An Nginx becomes a Deployment with running pods");
        let cluster = self.cluster;
        apply_file(cluster, "deploy/samples/nginx/nginx.yaml").await?;
        await_value(cluster, &DEPLOYMENT, "/status/readyReplicas", 2).await?;
        await_running(cluster, FIRST, 2).await?;
        self.tell("underneathall-nginx with 2 replicas: underneathall-nginx-deploy is 2/2");
        cluster.apply(&nginx("underneathall-nginx-1", 3)).await?;
        await_value(cluster, &SECOND_DEPLOYMENT, "/status/readyReplicas", 3).await?;
        await_running(cluster, "app=underneathall", 5).await?;
        self.show(&["get", "nginx,deployments,pods"]).await?;
        cluster.apply(&nginx("underneathall-nginx-1", 1)).await?;
        await_running(cluster, SECOND, 1).await?;
        await_value(cluster, &SECOND_DEPLOYMENT, "/status/readyReplicas", 1).await?;
        self.tell("underneathall-nginx-1 changed from 3 to 1: 1/1");
        let before = get(cluster, &DEPLOYMENT).await?;
        cluster.kubectl(&["delete", "nginx", "underneathall-nginx-1"]).await?;
        await_gone(cluster, &SECOND_DEPLOYMENT).await?;
        await_gone(cluster, &["pods", "-l", SECOND]).await?;
        let after = get(cluster, &DEPLOYMENT).await?;
        ensure!(
            before["metadata"]["generation"] == after["metadata"]["generation"],
            "the other one was touched"
        );
        ensure!(
            before["metadata"]["uid"] == after["metadata"]["uid"],
            "the other one was made again"
        );
        await_running(cluster, FIRST, 2).await?;
        self.tell("underneathall-nginx-1 deleted: Deployment and pods are gone, the other is untouched");
        Ok(())
    }

    /// Two friends: healthy exactly while their pod exists.
    pub async fn friends(&mut self) -> Result<()> {
        self.title("3. A MyCustomResource is healthy while the pod it names exists");
        apply_file(self.cluster, "deploy/samples/friend/mycustomresources.yaml").await?;
        let samples = get(self.cluster, &["mycustomresources"]).await?;
        let samples = samples["items"].as_array().cloned().unwrap_or_default();
        ensure!(samples.len() == 2, "there should be two samples");
        for (mine, other) in [(0, 1), (1, 0)] {
            let name = samples[mine]["metadata"]["name"]
                .as_str()
                .context("no name")?
                .to_owned();
            let other = samples[other]["metadata"]["name"]
                .as_str()
                .context("no name")?
                .to_owned();
            let friend = samples[mine]["spec"]["name"]
                .as_str()
                .context("no spec.name")?
                .to_owned();
            self.cluster.apply(&pod(&friend)).await?;
            await_value(self.cluster, &["mycustomresource", &name], "/status/Healthy", true).await?;
            await_value(
                self.cluster,
                &["mycustomresource", &other],
                "/status/Healthy",
                json!(null),
            )
            .await?;
            self.tell(&format!("pod {friend} created: {name} is healthy, {other} is not"));
            self.cluster.kubectl(&["delete", "pod", &friend]).await?;
            await_value(
                self.cluster,
                &["mycustomresource", &name],
                "/status/Healthy",
                json!(null),
            )
            .await?;
            self.tell(&format!("pod {friend} deleted: {name} is not healthy any more"));
        }
        Ok(())
    }

    /// Another version, junk, a module that never returns, and good bytes again.
    pub async fn swap(&mut self) -> Result<()> {
        self.title("4. A module is replaced while the host runs");
        let pid = self.host.pid();
        let cluster = self.cluster;
        let before = get(cluster, &["reconciler", "-n", NAMESPACE, "nginx"]).await?;
        let old = before["status"]["active"]["digest"].clone();
        let next = std::fs::read(&self.modules.nginx_next)?;
        drop_in(cluster, "nginx", &next, "").await?;
        let image = "/spec/template/spec/containers/0/image";
        await_value(cluster, &DEPLOYMENT, image, "nginx:1.9.1").await?;
        // The first child of the new version may be there before the status that says so.
        let new = eventually(DEADLINE, "the Reconciler shows another digest", async || {
            let after = await_reconciler(cluster, "nginx", "Ready", "True").await?;
            let new = after["status"]["active"]["digest"].clone();
            ensure!(new != old, "it still shows {old}");
            Ok(new)
        })
        .await?;
        self.tell("the second version is in: underneathall-nginx-deploy rolls to nginx:1.9.1");
        self.junk(&new).await?;
        self.never_returns().await?;
        drop_in(cluster, "nginx", &next, "").await?;
        let good = await_reconciler(cluster, "nginx", "Ready", "True").await?;
        ensure!(
            good["status"].get("refused").is_none(),
            "still refused: {}",
            good["status"]
        );
        self.tell("good bytes again: accepted");
        ensure!(
            self.host.exited()?.is_none() && self.host.pid() == pid,
            "the host was restarted"
        );
        self.show(&["get", "reconcilers", "-A"]).await?;
        Ok(())
    }

    async fn junk(&mut self, running: &serde_json::Value) -> Result<()> {
        let cluster = self.cluster;
        drop_in(cluster, "nginx", b"this is not a module", "").await?;
        let refused = await_reconciler(cluster, "nginx", "Loaded", "False").await?;
        let why = &refused["status"]["refused"];
        ensure!(
            refused["status"]["active"]["digest"] == *running,
            "the running version was lost: {}",
            refused["status"]
        );
        for field in ["digest", "step", "reason", "message"] {
            ensure!(
                why[field].as_str().is_some_and(|text| !text.is_empty()),
                "refused has no {field}: {why}"
            );
        }
        self.tell(&format!(
            "junk bytes: refused at {}, {}: {}",
            text(&why["step"]),
            text(&why["reason"]),
            text(&why["message"])
        ));
        cluster.apply(&nginx("made-meanwhile", 1)).await?;
        await_value(
            cluster,
            &["deployment", "made-meanwhile-deploy"],
            "/status/readyReplicas",
            1,
        )
        .await?;
        self.tell("the running version goes on: a new Nginx still gets its Deployment");
        Ok(())
    }

    async fn never_returns(&mut self) -> Result<()> {
        let cluster = self.cluster;
        apply_file(cluster, "guests/hostile/crd.yaml").await?;
        grant(cluster, &self.program, "hostile", &self.modules.hostile, "").await?;
        drop_in(
            cluster,
            "hostile",
            &std::fs::read(&self.modules.hostile)?,
            "behaviour: spin\n",
        )
        .await?;
        let hostile = json!({
            "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
            "metadata": {"namespace": "default", "name": "endless"}, "spec": {},
        });
        eventually(DEADLINE, "the Hostile kind is served", async || {
            cluster.apply(&hostile.to_string()).await
        })
        .await?;
        let told = eventually(DEADLINE, "the endless decision is reported", async || {
            let object = get(cluster, &["hostile", "endless"]).await?;
            ensure!(condition(&object, "Ready") == "False", "Ready is {} ", object["status"]);
            Ok(object)
        })
        .await?;
        let reason = told["status"]["conditions"][0]["reason"].clone();
        ensure!(reason == "GuestTimedOut", "the reason is {reason}");
        self.tell("a module whose reconcile never returns: stopped, reported as GuestTimedOut");
        cluster.apply(&nginx("made-meanwhile", 2)).await?;
        await_value(
            cluster,
            &["deployment", "made-meanwhile-deploy"],
            "/status/readyReplicas",
            2,
        )
        .await?;
        cluster.apply(&pod("funny-joe")).await?;
        await_value(
            cluster,
            &["mycustomresource", "my-custom-resource-01"],
            "/status/Healthy",
            true,
        )
        .await?;
        self.tell("both others go on meanwhile");
        cluster.kubectl(&["delete", "hostile", "endless"]).await?;
        cluster
            .kubectl(&["delete", "configmap", "-n", NAMESPACE, "hostile"])
            .await?;
        cluster
            .kubectl(&["delete", "reconciler", "-n", NAMESPACE, "hostile"])
            .await?;
        Ok(())
    }

    /// Killed and started again: nothing is written when nothing changed, and what changed meanwhile is put right.
    pub async fn restart(&mut self) -> Result<()> {
        self.title("5. The host is killed and started again");
        let audit = self.cluster.audit();
        let counted = audit.writes_by(HOST_USER)?.count();
        ensure!(counted > 0, "the audit log has not counted the writes of step 2");
        self.tell(&format!("so far the audit log counted {counted} writes by the host"));
        self.host.kill()?;
        let mark = audit.mark()?;
        self.start_again().await?;
        tokio::time::sleep(QUIET).await;
        let writes = audit.writes_since(mark)?.by(HOST_USER);
        ensure!(
            writes.is_empty(),
            "after a restart with nothing changed it wrote: {writes:?}"
        );
        self.tell("started again with nothing changed: it wrote nothing");
        self.host.kill()?;
        let cluster = self.cluster;
        cluster.apply(&nginx("underneathall-nginx", 4)).await?;
        cluster.kubectl(&["delete", "pod", "funny-joe", "--wait=true"]).await?;
        cluster
            .kubectl(&["delete", "deployment", "made-meanwhile-deploy", "--wait=true"])
            .await?;
        self.start_again().await?;
        await_value(cluster, &DEPLOYMENT, "/status/readyReplicas", 4).await?;
        await_value(
            cluster,
            &["mycustomresource", "my-custom-resource-01"],
            "/status/Healthy",
            json!(null),
        )
        .await?;
        await_value(
            cluster,
            &["deployment", "made-meanwhile-deploy"],
            "/status/readyReplicas",
            2,
        )
        .await?;
        self.tell("what changed while it was down is put right");
        Ok(())
    }

    async fn start_again(&mut self) -> Result<()> {
        self.host = product::host(&self.program, &self.environment, "host-again.log").start()?;
        self.host.ready(DEADLINE).await?;
        eventually(DEADLINE, "every primary was decided again", async || {
            let (nginx, friends) = (
                self.host.decisions("nginx").await?,
                self.host.decisions("friend").await?,
            );
            ensure!(
                nginx >= 2 && friends >= 2,
                "{nginx} Nginx and {friends} MyCustomResources so far"
            );
            Ok(())
        })
        .await
    }

    /// Somebody changes a Deployment: it is put right at once.
    pub async fn drift(&mut self) -> Result<()> {
        self.tell("now somebody else changes the Deployment");
        let cluster = self.cluster;
        let right = |what: &'static str, pointer: &'static str, wanted: serde_json::Value| async move {
            eventually(AT_ONCE, what, async || {
                let object = get(cluster, &DEPLOYMENT).await?;
                let found = object.pointer(pointer).cloned().unwrap_or_default();
                ensure!(found == wanted, "{pointer} is {found}");
                Ok(())
            })
            .await
        };
        cluster
            .kubectl(&["scale", "deployment", "underneathall-nginx-deploy", "--replicas=7"])
            .await?;
        right("kubectl scale is put right", "/spec/replicas", json!(4)).await?;
        let image = "/spec/template/spec/containers/0/image";
        cluster
            .kubectl(&[
                "set",
                "image",
                "deployment/underneathall-nginx-deploy",
                "nginx=nginx:0.0.1",
            ])
            .await?;
        right("an edit is put right", image, json!("nginx:1.9.1")).await?;
        let uid = get(cluster, &DEPLOYMENT).await?["metadata"]["uid"].clone();
        cluster
            .kubectl(&["delete", "deployment", "underneathall-nginx-deploy", "--wait=true"])
            .await?;
        eventually(AT_ONCE, "a deletion is put right", async || {
            let object = get(cluster, &DEPLOYMENT).await?;
            ensure!(object["metadata"]["uid"] != uid, "it is still the old one");
            Ok(())
        })
        .await?;
        self.tell("kubectl scale, set image and delete: each put right at once");
        Ok(())
    }

    /// What people run beside the host.
    pub async fn commands(&mut self) -> Result<()> {
        self.title("6. Looking at it");
        for arguments in [vec!["list", "nginx", "-A"], vec!["list", "pods", "-A"]] {
            let output = tokio::process::Command::new(&self.program)
                .args(&arguments)
                .env("KUBECONFIG", self.cluster.kubeconfig())
                .output()
                .await?;
            let text = String::from_utf8(output.stdout)?;
            ensure!(
                output.status.success(),
                "{arguments:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            ensure!(text.contains("underneathall-nginx"), "{arguments:?} printed {text}");
            self.tell(&format!("$ windlass {}", arguments.join(" ")));
            self.tell(&text);
        }
        self.watch().await
    }

    async fn watch(&mut self) -> Result<()> {
        let mut watch = tokio::process::Command::new(&self.program)
            .args(["watch", "nginx"])
            .env("KUBECONFIG", self.cluster.kubeconfig())
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = watch.stdout.take().context("no output")?;
        let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(output));
        let mut seen = Vec::new();
        let mut told = async |wanted: &str, name: &str| -> Result<()> {
            let found = tokio::time::timeout(DEADLINE, async {
                while let Some(line) = lines.next_line().await? {
                    seen.push(line.clone());
                    if line.contains(wanted) && line.contains(name) {
                        return Ok(());
                    }
                }
                anyhow::bail!("windlass watch ended")
            });
            found.await.with_context(|| format!("no {wanted} {name}"))?
        };
        told("ADDED", "underneathall-nginx").await?;
        self.cluster.apply(&nginx("looked-at", 1)).await?;
        told("ADDED", "looked-at").await?;
        self.cluster.apply(&nginx("looked-at", 2)).await?;
        told("MODIFIED", "looked-at").await?;
        self.cluster.kubectl(&["delete", "nginx", "looked-at"]).await?;
        told("DELETED", "looked-at").await?;
        self.tell("$ windlass watch nginx");
        self.tell(&seen.join("\n"));
        Ok(())
    }

    /// Shows what kubectl prints.
    async fn show(&mut self, arguments: &[&str]) -> Result<()> {
        let text = self.cluster.kubectl(arguments).await?;
        self.tell(&format!("$ kubectl {}", arguments.join(" ")));
        self.tell(&text);
        Ok(())
    }
}
