//! Puts the fault proxy before a real API server, and does to kubectl what each kind of rule says.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;
use windlass_testing::fault_proxy::Credentials;
use windlass_testing::{ControlPlane, FaultProxy};

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;

const SOON: Duration = Duration::from_secs(20);

/// A client with the admin's token that is told nothing but another port.
async fn client(control_plane: &ControlPlane, proxy: &FaultProxy) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(control_plane.kubeconfig())?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.cluster_url = proxy.url().parse()?;
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

fn named(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).expect("this is a ConfigMap")
}

fn code(result: kube::Result<ConfigMap>) -> u16 {
    match result {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(_) => 0,
    }
}

#[tokio::test]
async fn the_proxy_does_what_its_rules_say_and_nothing_without_them() -> Result<()> {
    let control_plane = ControlPlane::start_api_only().await?;
    let proxy = control_plane.fault_proxy().await?;
    let api: Api<ConfigMap> = Api::namespaced(client(&control_plane, &proxy).await?, "default");
    let create = async |name: &str| code(api.create(&PostParams::default(), &named(name)).await);
    ensure!(create("free").await == 200, "nothing is in the way");

    writes_are_answered_lost_held_and_repeated(&proxy, &api).await?;
    watches_are_passed_on_frozen_ended_and_broken(&proxy, &api).await?;
    impersonation_is_passed_on(&control_plane, &proxy).await?;
    let counts = proxy.counts().to_string();
    ensure!(
        counts
            .lines()
            .any(|line| line.contains("create") && line.contains("503")),
        "{counts}"
    );
    by_hand_it_leads_kubectl_through_and_says_what_came(&control_plane).await
}

async fn writes_are_answered_lost_held_and_repeated(proxy: &FaultProxy, api: &Api<ConfigMap>) -> Result<()> {
    let create = async |name: &str| code(api.create(&PostParams::default(), &named(name)).await);
    let is_there = async |name: &str| Ok::<_, kube::Error>(api.get_opt(name).await?.is_some());

    let answered = proxy.rule("code=503 verb=create kind=configmaps namespace=default count=2")?;
    let codes = [
        create("answered").await,
        create("answered").await,
        create("answered").await,
    ];
    ensure!(codes == [503, 503, 200] && answered.hits() == 2, "{codes:?}");
    drop(answered);

    let dropped = proxy.rule("drop verb=create name=dropped")?;
    ensure!(
        create("dropped").await == 0 && !is_there("dropped").await?,
        "it came through"
    );
    drop(dropped);
    let lost = proxy.rule("drop-answer verb=create name=lost")?;
    ensure!(
        create("lost").await == 0 && is_there("lost").await?,
        "only its answer is lost"
    );
    drop(lost);
    let silent = proxy.rule("silent verb=create name=silent")?;
    let waited = tokio::time::timeout(Duration::from_secs(2), create("silent")).await;
    ensure!(
        waited.is_err() && is_there("silent").await?,
        "it was answered: {waited:?}"
    );
    drop(silent);

    let held = proxy.rule("hold verb=apply name=free")?;
    let (patch, parameters) = (
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}),
        PatchParams::apply("me"),
    );
    let patch = Patch::Apply(&patch);
    let apply = api.patch("free", &parameters, &patch);
    let released = async {
        held.until_hits(1, SOON).await?;
        ensure!(api.get("free").await?.data.is_none(), "it was not held");
        held.release();
        Ok(())
    };
    let (applied, released) = tokio::join!(apply, released);
    released?;
    ensure!(applied?.data.is_some(), "it was lost");

    let mark = proxy.mark();
    let repeated = proxy.rule("replay verb=create name=twice")?;
    ensure!(create("twice").await == 200, "the first answer counts");
    drop(repeated);
    let codes: Vec<_> = proxy.passed_since(mark).iter().map(|passed| passed.code).collect();
    ensure!(codes == [Some(201), Some(409)], "{codes:?}");
    Ok(())
}

async fn watches_are_passed_on_frozen_ended_and_broken(proxy: &FaultProxy, api: &Api<ConfigMap>) -> Result<()> {
    let change = async |value: &str| {
        let patch = json!({"data": {"seen": value}});
        api.patch("free", &PatchParams::default(), &Patch::Merge(&patch)).await
    };
    let version = api
        .list(&ListParams::default())
        .await?
        .metadata
        .resource_version
        .unwrap_or_default();
    let parameters = WatchParams::default().fields("metadata.name=free");
    let mut events = api.watch(&parameters, &version).await?.boxed();
    change("first").await?;
    let first = tokio::time::timeout(SOON, events.try_next()).await??;
    ensure!(matches!(first, Some(WatchEvent::Modified(_))), "{first:?}");

    let later = proxy.rule("freeze kind=configmaps after=5")?;
    change("meanwhile").await?;
    let meanwhile = tokio::time::timeout(SOON, events.try_next()).await??;
    ensure!(
        matches!(meanwhile, Some(WatchEvent::Modified(_))) && later.hits() == 0,
        "it lets five requests pass first: {meanwhile:?}"
    );
    drop(later);

    let frozen = proxy.rule("freeze kind=configmaps")?;
    change("second").await?;
    let nothing = tokio::time::timeout(Duration::from_millis(500), events.try_next()).await;
    ensure!(nothing.is_err(), "it came all the same: {nothing:?}");
    ensure!(frozen.hits() == 1, "{} watches are frozen", frozen.hits());
    ensure!(
        api.watch(&parameters, &version).await.is_err(),
        "a new one was not refused"
    );
    drop(frozen);
    let second = tokio::time::timeout(SOON, events.try_next()).await??;
    ensure!(matches!(second, Some(WatchEvent::Modified(_))), "{second:?}");

    let expired = proxy.rule("watch-error=410 kind=configmaps count=1")?;
    let error = tokio::time::timeout(SOON, events.try_next()).await??;
    ensure!(
        matches!(&error, Some(WatchEvent::Error(status)) if status.code == 410),
        "{error:?}"
    );
    ensure!(events.try_next().await?.is_none(), "it went on");
    drop(expired);

    let mut events = api.watch(&parameters, &version).await?.boxed();
    events.try_next().await?.context("what was missed")?;
    let ended = proxy.rule("end-watch kind=configmaps count=1")?;
    while tokio::time::timeout(SOON, events.try_next()).await??.is_some() {}
    ensure!(ended.hits() == 1, "it ended by itself");
    drop(ended);

    let mut events = api.watch(&parameters, &version).await?.boxed();
    let _broken = proxy.rule("drop kind=configmaps verb=watch")?;
    let broken = tokio::time::timeout(SOON, async { while let Some(Ok(_)) = events.next().await {} }).await;
    ensure!(broken.is_ok(), "it stands");
    Ok(())
}

async fn impersonation_is_passed_on(control_plane: &ControlPlane, proxy: &FaultProxy) -> Result<()> {
    let kubeconfig = Kubeconfig::read_from(control_plane.kubeconfig())?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.cluster_url = proxy.url().parse()?;
    config.auth_info.impersonate = Some("system:serviceaccount:default:nobody".into());
    let api: Api<ConfigMap> = Api::namespaced(Client::try_from(config)?, "default");
    let mark = proxy.mark();
    ensure!(code(api.get("free").await) == 403, "the admin's rights were used");
    let passed = proxy.passed_since(mark);
    ensure!(
        passed[0].call.user == "system:serviceaccount:default:nobody",
        "{passed:?}"
    );
    Ok(())
}

async fn by_hand_it_leads_kubectl_through_and_says_what_came(control_plane: &ControlPlane) -> Result<()> {
    let written = control_plane.directory().join("proxied.kubeconfig");
    let process = Command::new(env!("CARGO_BIN_EXE_windlass-fault-proxy"))
        .args(["--rule", "code=418 verb=get name=teapot message=I am one"])
        .arg("--kubeconfig")
        .arg(control_plane.kubeconfig())
        .arg("--write")
        .arg(&written)
        .stdout(Stdio::piped())
        .spawn()?;
    windlass_testing::eventually(SOON, "kubectl gets through", async || {
        ensure!(written.exists(), "there is no kubeconfig yet");
        control_plane
            .kubectl_with(&written, &["get", "configmap", "free", "-n", "default"])
            .await
    })
    .await?;
    let refused = control_plane
        .kubectl_with(&written, &["get", "configmap", "teapot", "-n", "default"])
        .await;
    let words = refused.err().map(|error| format!("{error:#}")).unwrap_or_default();
    ensure!(words.contains("I am one"), "{words}");
    let pid = process.id();
    Command::new("sh").args(["-c", &format!("kill -TERM {pid}")]).status()?;
    let output = process.wait_with_output()?;
    let said = String::from_utf8(output.stdout)?;
    ensure!(
        said.contains("rule 1: 1 concerned") && said.contains("418") && output.status.success(),
        "{said}"
    );
    Ok(())
}

#[tokio::test]
async fn without_a_cluster_the_address_is_served_and_every_request_is_cut() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let kubeconfig = directory.path().join("kubeconfig");
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {}}],
    });
    std::fs::write(&kubeconfig, config.to_string())?;
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let proxy = FaultProxy::start(&kubeconfig, listen, Credentials::None).await?;
    let mut config = Config::new(proxy.url().parse()?);
    config.default_retry = false;
    let api: Api<ConfigMap> = Api::namespaced(Client::try_from(config)?, "default");
    ensure!(code(api.get("free").await) == 0, "it was answered");
    let address = proxy.url();
    drop(proxy);
    let mut config = Config::new(address.parse()?);
    config.default_retry = false;
    let api: Api<ConfigMap> = Api::namespaced(Client::try_from(config)?, "default");
    ensure!(code(api.get("free").await) == 0, "it outlived its value");
    Ok(())
}
