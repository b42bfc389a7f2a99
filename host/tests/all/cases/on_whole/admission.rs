//! Groups I and L: quotas and webhooks that refuse, and a webhook that does not answer.

use super::{canary, config_map, put, says, told, wants, writes};
use crate::spec_on_real::{Bare, on_whole};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use windlass_testing::product::{self, DEADLINE};
use windlass_testing::{Says, eventually};

/// ConfigMaps of one namespace that are made or changed.
fn written() -> Value {
    json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]})
}

/// Waits until admission refuses a ConfigMap in a namespace, as somebody else would find.
async fn refuses(bare: &Bare, namespace: &str) -> Result<()> {
    eventually(DEADLINE, "it is refused", async || {
        let tried = ["create", "configmap", "tried", "-n", namespace, "--dry-run=server"];
        ensure!(bare.cluster.kubectl(&tried).await.is_err(), "it is allowed");
        Ok(())
    })
    .await
}

#[test]
fn i_03_a_child_that_a_webhook_or_a_quota_refuses_is_told_and_made_once_it_is_let_in() {
    on_whole(async |bare| {
        let cluster = &bare.cluster;
        bare.take_up("i03", windlass_artifacts::HOSTILE, &json!({})).await?;
        let webhook = cluster.webhook().await?;
        let configuration = webhook.configuration("i03", &written(), &json!({}));
        // Webhooks answer with whatever they like: none of these is taken for content that is refused for good.
        for code in [400, 403, 422] {
            webhook.say(Says::No(code, format!("not today: {}", "x".repeat(3000))));
            cluster.apply(&configuration.to_string()).await?;
            refuses(bare, "i03").await?;
            let name = format!("denied-{code}");
            put(bare, &[told("i03", &name, &wants(&[config_map(&name, "1")]))]).await?;
            let began = Instant::now();
            let said = says(bare, "i03", &name, "ApplyRejected").await?;
            ensure!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
            let message = said["message"].as_str().unwrap_or_default();
            ensure!(
                said["status"] == "False" && message.contains(&format!("i03/{name}")) && message.contains("not today"),
                "{said}"
            );
            ensure!(message.len() <= 1024, "{} bytes", message.len());
            webhook.say(Says::Yes);
            let lifted = Instant::now();
            says(bare, "i03", &name, "Reconciled").await?;
            ensure!(lifted.elapsed() < Duration::from_secs(60), "{:?}", lifted.elapsed());
        }
        cluster
            .kubectl(&["delete", "validatingwebhookconfiguration", "i03"])
            .await?;

        let quota = json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"namespace": "i03", "name": "none"},
            "spec": {"hard": {"count/configmaps": "0"}},
        });
        cluster.apply(&quota.to_string()).await?;
        refuses(bare, "i03").await?;
        put(bare, &[told("i03", "over", &wants(&[config_map("over", "1")]))]).await?;
        let said = says(bare, "i03", "over", "ApplyRejected").await?;
        ensure!(said["message"].to_string().contains("exceeded quota: none"), "{said}");
        cluster
            .kubectl(&["delete", "resourcequota", "none", "-n", "i03"])
            .await?;
        says(bare, "i03", "over", "Reconciled").await?;
        Ok(())
    });
}

/// The Deployment is let in and its pods are not: that is the guest's to judge, and its `Ready` is what people wait for.
#[test]
fn i_03_pods_that_are_refused_are_told_by_the_guest_that_looks_at_its_deployment() {
    on_whole(async |bare| {
        let cluster = &bare.cluster;
        let deployments = json!({"group": "apps", "version": "v1", "kind": "Deployment", "plural": "deployments"});
        let settings = json!({"describe": "told", "manifest": {"children": [deployments]}});
        bare.take_up("i03-pods", windlass_artifacts::HOSTILE, &json!({"settings": settings}))
            .await?;
        let level = async |level: &str| {
            let level = format!("pod-security.kubernetes.io/enforce={level}");
            cluster
                .kubectl(&["label", "namespace", "i03-pods", "--overwrite", &level])
                .await
        };
        level("restricted").await?;
        let labels = json!({"app": "web"});
        let template =
            json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}});
        let deployment = json!({"object": {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
        }});
        put(
            bare,
            &[told(
                "i03-pods",
                "web",
                &json!({"children": [deployment], "judges": true}),
            )],
        )
        .await?;
        let ready = async |status: &str, words: &str| {
            eventually(DEADLINE, &format!("Ready is {status}"), async || {
                let web = product::get(cluster, &[super::HOSTILES, "web", "-n", "i03-pods"]).await?;
                let conditions = web["status"]["conditions"].as_array().cloned().unwrap_or_default();
                let ready = conditions
                    .into_iter()
                    .find(|one| one["type"] == "Ready")
                    .unwrap_or_default();
                ensure!(
                    ready["status"] == status && ready.to_string().contains(words),
                    "{ready}"
                );
                Ok(())
            })
            .await
        };
        ready("False", "violates PodSecurity").await?;
        says(bare, "i03-pods", "web", "Reconciled").await?;
        level("privileged").await?;
        ready("True", "Reconciled").await
    });
}

#[test]
fn l_07_a_webhook_that_never_answers_holds_up_its_own_and_nobody_else() {
    on_whole(async |bare| {
        let cluster = &bare.cluster;
        bare.take_up("l07", windlass_artifacts::HOSTILE, &json!({})).await?;
        bare.take_up("l07-others", windlass_artifacts::HOSTILE, &json!({}))
            .await?;
        let names: Vec<String> = (0..30).map(|number| format!("one-{number}")).collect();
        let all = |value: &str| -> Vec<Value> {
            let of = |name: &String| told("l07", name, &wants(&[config_map(name, value)]));
            names.iter().map(of).collect()
        };
        put(bare, &all("1")).await?;
        for name in &names {
            says(bare, "l07", name, "Reconciled").await?;
        }
        let pid = bare.host.pid();
        let webhook = cluster.webhook().await?;
        webhook.say(Says::Nothing);
        let everything = json!({"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]});
        // The API server's own storage of the Hostiles' specs is let through: they are what is edited.
        let but_edits = json!({"matchConditions": [
            {"name": "not-people", "expression": "request.userInfo.username.startsWith('system:serviceaccount:windlass-system')"},
        ]});
        let configuration = webhook.configuration("l07", &everything, &but_edits);
        cluster.apply(&configuration.to_string()).await?;
        let mark = bare.proxy().mark();
        eventually(DEADLINE, "the webhook is asked", async || {
            put(bare, &all(&format!("{}", webhook.asked()))).await?;
            ensure!(webhook.asked() > 0, "nobody asks it");
            Ok(())
        })
        .await?;
        put(bare, &all("2")).await?;
        canary(bare, "l07-others").await?;
        let live = bare.host.ask("/livez").await?;
        ensure!(live.contains("200 OK"), "{live}");
        // Its 16 workers, and the Events.
        ensure!(webhook.most_waiting() <= 20, "{} at once", webhook.most_waiting());
        let refused = writes(bare, mark, "l07", "configmaps");
        ensure!(refused.iter().all(|write| write.code != Some(200)), "{refused:?}");
        cluster
            .kubectl(&["delete", "validatingwebhookconfiguration", "l07"])
            .await?;
        let removed = Instant::now();
        for name in &names {
            says(bare, "l07", name, "Reconciled").await?;
            product::await_value(cluster, &["configmap", name, "-n", "l07"], "/data/value", "2").await?;
        }
        ensure!(removed.elapsed() < Duration::from_secs(90), "{:?}", removed.elapsed());
        ensure!(bare.host.pid() == pid, "it is another process");
        let shipped = product::get(
            cluster,
            &["validatingwebhookconfigurations,mutatingwebhookconfigurations"],
        )
        .await?;
        let shipped = shipped["items"].as_array().cloned().unwrap_or_default();
        let ours = |one: &&Value| {
            one["metadata"]["name"]
                .as_str()
                .is_some_and(|name| name.contains("windlass"))
        };
        ensure!(
            shipped.iter().filter(ours).count() == 0,
            "the product brings a webhook: {shipped:?}"
        );
        Ok(())
    });
}

#[test]
fn l_01_an_overloaded_server_is_asked_no_sooner_than_it_says() {
    on_whole(async |bare| {
        let proxy = bare.proxy();
        bare.take_up("l01", windlass_artifacts::HOSTILE, &json!({})).await?;
        let mark = proxy.mark();
        let busy = proxy.rule("code=429 retry-after=3 verb=create kind=configmaps namespace=l01 count=1")?;
        put(bare, &[told("l01", "one", &wants(&[config_map("one", "1")]))]).await?;
        says(bare, "l01", "one", "Reconciled").await?;
        ensure!(busy.hits() == 1, "nothing was refused");
        let creates = writes(bare, mark, "l01", "configmaps");
        ensure!(creates.len() == 2, "{creates:?}");
        let waited = creates[1].came - creates[0].came;
        ensure!(waited >= Duration::from_secs(3), "again after {waited:?}");
        Ok(())
    });
}
