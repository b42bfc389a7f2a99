//! Secrets on an API server of its own: what a guest is shown, and that no value gets into any word of the host (I-06).

use super::assert_untold;
use crate::scenarios::RUNTIME;
use crate::spec_on_real::{Bare, on_bare};
use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use windlass_core::key::ReconcilerId;
use windlass_testing::product::{self, DEADLINE, NAMESPACE};
use windlass_testing::{ControlPlane, eventually};

/// Everything that anything in the host has to say.
const LOG: [(&str, &str); 1] = [("WINDLASS_LOG", "trace")];
const KIND: &str = "hostiles.hostile.windlass.test";

fn hostile(namespace: &str, behaviour: &str) -> String {
    let hostile = json!({
        "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
        "metadata": {"namespace": namespace, "name": "one"}, "spec": {"behaviour": behaviour},
    });
    hostile.to_string()
}

async fn secret(cluster: &ControlPlane, namespace: &str, name: &str) -> Result<Value> {
    product::get(cluster, &["secret", name, "-n", namespace]).await
}

async fn until_reason(cluster: &ControlPlane, namespace: &str, behaviour: &str, reason: &str) -> Result<Value> {
    cluster.apply(&hostile(namespace, behaviour)).await?;
    let of = [KIND, "one", "-n", namespace];
    eventually(DEADLINE, &format!("{behaviour} ends in {reason}"), async || {
        let object = product::get(cluster, &of).await?;
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let now = conditions.iter().find(|condition| condition["type"] == "Reconciled");
        let now = now.context("no condition")?;
        ensure!(
            now["reason"] == reason && now["observedGeneration"] == object["metadata"]["generation"],
            "{now}"
        );
        Ok(object)
    })
    .await
}

/// A policy of the API server whose words quote the value.
async fn quote_on_refusal(cluster: &ControlPlane) -> Result<()> {
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "weak"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["secrets"]},
            ]},
            "validations": [{
                "expression": "!has(object.data) || !('token' in object.data)",
                "messageExpression": "'the token ' + string(object.data['token']) + ' is weak'",
            }],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "weak"}, "spec": {"policyName": "weak", "validationActions": ["Deny"]},
    });
    cluster.apply(&policy.to_string()).await?;
    cluster.apply(&binding.to_string()).await?;
    let probe = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "default", "name": "probe"},
        "stringData": {"token": "S3CR3T-42"},
    });
    eventually(DEADLINE, "the policy quotes what it refuses", async || {
        let refused = cluster.apply(&probe.to_string()).await.err().context("it was taken")?;
        ensure!(format!("{refused:#}").contains("UzNDUjNULTQy is weak"), "{refused:#}");
        Ok(())
    })
    .await?;
    Ok(())
}

#[test]
fn i_06_no_value_password_or_seed_is_in_any_word_of_a_host_that_says_all() {
    RUNTIME.block_on(async { untold().await.unwrap_or_else(|error| panic!("{error:#}")) });
}

async fn untold() -> Result<()> {
    let mut bare = Bare::new(ControlPlane::start_api_only().await?, "host-that-says-all.log", &LOG).await?;
    let spec = json!({"settings": {"describe": "seed"}});
    bare.take_up("untold", windlass_artifacts::HOSTILE, &spec).await?;
    let cluster = &bare.cluster;
    until_reason(cluster, "untold", "tell-secret", "Reconciled").await?;
    let made = secret(cluster, "untold", "one").await?;
    ensure!(made["data"]["token"] == STANDARD.encode("S3CR3T-42"), "{made}");
    until_reason(cluster, "untold", "tell-another-secret", "Reconciled").await?;
    // Refused by the rules of the API server, and by a policy that quotes what it refuses.
    let told = until_reason(cluster, "untold", "tell-refused-secret", "ApplyRejected").await?;
    ensure!(told.to_string().contains("data[not a key!]"), "{}", told["status"]);
    quote_on_refusal(cluster).await?;
    let told = until_reason(cluster, "untold", "tell-secret", "ApplyRejected").await?;
    ensure!(told.to_string().contains("denied request ("), "{}", told["status"]);

    until_reason(cluster, "untold", "password", "Reconciled").await?;
    let derived = secret(cluster, "untold", "one").await?["data"].clone();
    // Another host: it has the same key, and derives the same.
    let another = [LOG[0], ("WINDLASS_INSTANCE", "another")];
    bare.replace_host("host-that-says-all.log", &another).await?;
    let cluster = &bare.cluster;
    cluster.kubectl(&["delete", "secret", "one", "-n", "untold"]).await?;
    eventually(DEADLINE, "the Secret is made again, as it was", async || {
        let again = secret(cluster, "untold", "one").await?["data"].clone();
        ensure!(again == derived, "another password");
        Ok(())
    })
    .await?;
    assert_nothing_is_told(&bare, &derived).await
}

async fn assert_nothing_is_told(bare: &Bare, derived: &Value) -> Result<()> {
    let cluster = &bare.cluster;
    let decoded = |value: &Value| STANDARD.decode(value.as_str().unwrap_or_default());
    let key = secret(cluster, NAMESPACE, windlass::seed::KEY_SECRET).await?;
    let key = decoded(&key["data"]["key"])?;
    let primary = product::get(cluster, &[KIND, "one", "-n", "untold"]).await?;
    let uid = primary["metadata"]["uid"].as_str().context("no uid")?;
    let seed = windlass::seed::seed(&key, &ReconcilerId::new(NAMESPACE, "untold"), uid);
    ensure!(
        key.len() == 32 && derived["password"].is_string(),
        "there is nothing to look for"
    );
    let log = bare.host.logs()?;
    let all = [
        log.clone(),
        primary.to_string(),
        bare.host.ask("/metrics").await?,
        cluster.kubectl(&["get", "events", "-A", "-o", "json"]).await?,
        cluster.kubectl(&["get", "reconcilers", "-A", "-o", "json"]).await?,
    ];
    for text in &all {
        assert_untold("the value", b"S3CR3T-42", text);
        assert_untold("the password", &decoded(&derived["password"])?, text);
        assert_untold("the derived key", &decoded(&derived["key"])?, text);
        assert_untold("the seed", seed.bytes(), text);
        assert_untold("the host's key", &key, text);
    }
    ensure!(
        all[3].contains("ApplyRejected"),
        "no Event tells that it was refused: {}",
        all[3]
    );
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("windlass::guest")).collect();
    let tagged = |line: &&str| {
        line.contains("hostile 0.1.0")
            && line.contains("primary=untold/one")
            && line.contains("reconciler=windlass-system/untold")
    };
    ensure!(!lines.is_empty() && lines.iter().all(tagged), "{lines:#?}");
    ensure!(lines.iter().all(|line| line.len() < 1600), "a line is not cut");
    ensure!(
        lines.iter().any(|line| line.contains("hmac-sha256:")),
        "what stands in for values is in no line"
    );
    ensure!(
        log.contains(" TRACE ") && log.contains("hyper"),
        "not everything was said"
    );
    Ok(())
}

#[test]
fn a_guest_sees_values_only_where_the_spec_allows_it_and_nobody_writes_a_stand_in() {
    on_bare(async |bare| {
        let cluster = &bare.cluster;
        let spec = json!({"settings": {"describe": "secrets"}});
        bare.take_up("shown", windlass_artifacts::HOSTILE, &spec).await?;
        let given = |name: &str, value: &str| {
            json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "shown", "name": name},
                "data": {"password": value},
            })
        };
        cluster.apply(&given("one", "aHVzaA==").to_string()).await?;
        until_reason(cluster, "shown", "show-secret", "Reconciled").await?;
        let seen = ["configmap", "one", "-n", "shown"];
        let stand_in = product::get(cluster, &seen).await?["data"]["text"].clone();
        let stand_in = stand_in.as_str().unwrap_or_default();
        ensure!(stand_in.starts_with("hmac-sha256:"), "{stand_in}");
        // A guest that copies it is refused by the rules of the host, and whoever else does by the API server.
        until_reason(cluster, "shown", "copy-secret", "GuestOutputRejected").await?;
        let refused = cluster
            .apply(&given("copy", stand_in).to_string())
            .await
            .err()
            .context("it was taken")?;
        ensure!(format!("{refused:#}").contains("illegal base64"), "{refused:#}");
        bare.change("shown", &json!({"secretValues": true})).await?;
        until_reason(cluster, "shown", "show-secret", "Reconciled").await?;
        product::await_value(cluster, &seen, "/data/text", "aHVzaA==").await?;
        bare.change("shown", &json!({"secretValues": false})).await?;
        product::await_value(cluster, &seen, "/data/text", stand_in).await?;
        let missing = cluster
            .kubectl(&["get", "secret", "one-copy", "-n", "shown", "--ignore-not-found"])
            .await?;
        ensure!(missing.is_empty(), "{missing}");
        Ok(())
    });
}
