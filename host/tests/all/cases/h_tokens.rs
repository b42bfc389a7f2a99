//! Group H: tokens that end under a running host, and an API server that checks who may own whom.

use super::h_identity::owner_of;
use crate::scenarios::RUNTIME;
use crate::scenarios::real::PROGRAM;
use anyhow::{Result, ensure};
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use windlass_testing::product::{self, DEADLINE, HOST_USER, NAMESPACE};
use windlass_testing::{ControlPlane, InClusterEnvironment, eventually};

/// How long a token that was read is used before it is read again, and a bit.
const READ_AGAIN: Duration = Duration::from_secs(75);

/// An API server with the reference guest's kinds, account and roles; the host is started by the caller.
async fn prepared(cluster: &ControlPlane) -> Result<InClusterEnvironment> {
    let environment = product::account(cluster).await?;
    for path in ["deploy/crds/reconcilers.yaml", "deploy/samples/nginx/crd.yaml"] {
        product::apply_file(cluster, path).await?;
    }
    let module = Path::new(windlass_artifacts::NGINX);
    product::grant(cluster, Path::new(PROGRAM), "nginx", module, "").await?;
    product::drop_in(cluster, "nginx", &std::fs::read(module)?, "").await?;
    Ok(environment)
}

async fn nginx(cluster: &ControlPlane, replicas: u32) -> Result<()> {
    let nginx = json!({
        "apiVersion": "stable.underneathall.com/v1", "kind": "Nginx",
        "metadata": {"namespace": "default", "name": "web"}, "spec": {"replicas": replicas},
    });
    cluster.apply(&nginx.to_string()).await?;
    let deployment = ["deployment", "web-deploy", "-n", "default"];
    product::await_value(cluster, &deployment, "/spec/replicas", replicas).await?;
    Ok(())
}

#[test]
fn h_01_children_are_made_where_owners_that_block_deletion_need_a_right_of_their_own() {
    RUNTIME.block_on(async {
        let played = async {
            let cluster = ControlPlane::start_api_only_with("OwnerReferencesPermissionEnforcement").await?;
            let environment = prepared(&cluster).await?;
            let mut host = product::host(Path::new(PROGRAM), &environment, "host-of-owners.log").start()?;
            host.ready(DEADLINE).await?;
            nginx(&cluster, 2).await?;
            let child = product::get(&cluster, &["deployment", "web-deploy", "-n", "default"]).await?;
            let owner = owner_of(&child);
            ensure!(
                owner["controller"] == true && owner["blockOwnerDeletion"].is_null(),
                "{owner}"
            );
            // The plugin is on: whoever asks for it as the account is refused.
            let block = json!({"metadata": {"ownerReferences": [{
                "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["name"], "uid": owner["uid"],
                "controller": true, "blockOwnerDeletion": true,
            }]}});
            let account = format!("system:serviceaccount:{NAMESPACE}:nginx");
            let patch = block.to_string();
            let patch = [
                "patch",
                "deployment",
                "web-deploy",
                "--as",
                &account,
                "--type=merge",
                "-p",
                &patch,
            ];
            let refused = cluster.kubectl(&patch).await;
            let words = format!("{:#}", refused.unwrap_err());
            ensure!(words.contains("cannot set blockOwnerDeletion"), "{words}");
            anyhow::Ok(())
        };
        played.await.unwrap_or_else(|error| panic!("{error:#}"));
    });
}

/// Puts a token in the host's file that ends when the Secret of this name goes.
async fn put_token(cluster: &ControlPlane, environment: &InClusterEnvironment, secret: &str) -> Result<String> {
    cluster
        .kubectl(&["create", "secret", "generic", secret, "-n", NAMESPACE])
        .await?;
    let create = [
        "create",
        "token",
        "windlass",
        "-n",
        NAMESPACE,
        "--bound-object-kind",
        "Secret",
        "--bound-object-name",
        secret,
    ];
    let token = cluster.kubectl(&create).await?.trim().to_owned();
    std::fs::write(environment.files().join("token"), &token)?;
    Ok(token)
}

#[test]
fn h_06_a_token_is_read_again_before_it_ends_and_no_request_is_sent_with_the_one_before() {
    RUNTIME.block_on(async {
        h_06().await.unwrap_or_else(|error| panic!("{error:#}"));
    });
}

async fn h_06() -> Result<()> {
    let cluster = &ControlPlane::start_api_only().await?;
    let environment = prepared(cluster).await?;
    let first = put_token(cluster, &environment, "first-token").await?;
    let mut host = product::host(Path::new(PROGRAM), &environment, "host-of-tokens.log").start()?;
    host.ready(DEADLINE).await?;
    nginx(cluster, 1).await?;
    let used = |since| -> Result<Vec<String>> {
        let requests = cluster.audit().requests_since(since)?.by(HOST_USER);
        let mut used: Vec<String> = requests.iter().map(|request| request.credential.clone()).collect();
        used.dedup();
        Ok(used)
    };
    let before = used(windlass_testing::Mark::BEGINNING)?;
    ensure!(before.len() == 1 && !before[0].is_empty(), "{before:?}");
    put_token(cluster, &environment, "second-token").await?;
    let mut replicas = 1;
    eventually(READ_AGAIN, "the second token is in use", async || {
        replicas += 1;
        let mark = cluster.audit().mark()?;
        nginx(cluster, replicas).await?;
        let now = used(mark)?;
        ensure!(!now.is_empty() && !now.contains(&before[0]), "{now:?}");
        Ok(())
    })
    .await?;

    cluster
        .kubectl(&["delete", "secret", "first-token", "-n", NAMESPACE])
        .await?;
    eventually(DEADLINE, "the first token is not accepted any more", async || {
        let whoami = ["--token", &first, "auth", "whoami"];
        let Err(refused) = cluster.kubectl(&whoami).await else {
            anyhow::bail!("it is");
        };
        ensure!(format!("{refused:#}").contains("must be logged in"), "{refused:#}");
        Ok(())
    })
    .await?;
    let refused = unauthorized(cluster).await?;
    let mark = cluster.audit().mark()?;
    for _ in 0..5 {
        replicas += 1;
        nginx(cluster, replicas).await?;
    }
    let now = cluster.audit().requests_since(mark)?.by(HOST_USER);
    ensure!(
        !now.impersonating(&format!("system:serviceaccount:{NAMESPACE}:nginx"))
            .is_empty(),
        "{now}"
    );
    ensure!(unauthorized(cluster).await? == refused, "a request was answered 401");
    ensure!(!host.logs()?.contains("Unauthorized"), "{}", host.logs()?);
    Ok(())
}

/// How many requests the API server has not known the sender of. Its audit log does not have them.
async fn unauthorized(cluster: &ControlPlane) -> Result<u64> {
    let metrics = cluster.kubectl(&["get", "--raw", "/metrics"]).await?;
    let attempts = metrics
        .lines()
        .filter(|line| line.starts_with("authentication_attempts{") && line.contains("result=\"failure\""));
    Ok(attempts
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum())
}
