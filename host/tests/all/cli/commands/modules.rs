//! Lists kept modules: those that a host keeps, and such as nobody needs any more.

use super::*;
use windlass_artifacts::NGINX;

#[test]
fn kept_modules_are_listed_with_who_uses_them() {
    play(async || {
        let desk = without_host().await;
        desk.namespace("keeps").await?;
        let said = desk.run("modules -n keeps").await?;
        ensure!(said.status.success() && said.stdout.is_empty(), "{said:?}");
        ensure!(
            err(&said).contains("no modules are kept in namespace keeps"),
            "{said:?}"
        );
        let (one, two) = ("a".repeat(64), "b".repeat(64));
        desk.cluster.apply(&kept(&one, "0.1.0", 0, 1).to_string()).await?;
        desk.cluster.apply(&kept(&two, "0.2.0", 1, 2).to_string()).await?;
        let user = reconciler("keeps", "nginx", json!({}));
        desk.cluster.apply(&user.to_string()).await?;
        let status = json!({"earlier": [{"digest": one, "name": "nginx", "version": "0.1.0"}]});
        desk.status("keeps", "nginx", &status).await?;
        let said = desk.done("modules -n keeps").await?;
        let columns: Vec<Vec<&str>> = said.lines().map(|line| line.split_whitespace().collect()).collect();
        ensure!(columns.len() == 3, "{said}");
        let row = |digest: &str| {
            let found = columns.iter().find(|columns| columns.get(2) == Some(&digest));
            found.map(|columns| columns.join(" ")).unwrap_or_default()
        };
        ensure!(
            row("aaaaaaaaaaaa").starts_with("nginx 0.1.0 aaaaaaaaaaaa 3 1 keeps/nginx (earlier) "),
            "{said}"
        );
        ensure!(
            row("bbbbbbbbbbbb").starts_with("nginx 0.2.0 bbbbbbbbbbbb 3 1 of 2, incomplete nobody "),
            "{said}"
        );
        Ok(())
    });
}

/// A ConfigMap as a host makes it, with three bytes.
fn kept(digest: &str, version: &str, part: usize, parts: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "namespace": "keeps", "name": windlass_core::names::kept_module(digest, part),
            "labels": {"windlass.dev/kept-module": "true"},
            "annotations": {
                "windlass.dev/digest": digest, "windlass.dev/parts": parts.to_string(),
                "windlass.dev/module-name": "nginx", "windlass.dev/module-version": version,
            },
        },
        "binaryData": {"module.wasm.gz": "AAAA"},
    })
}

#[test]
fn what_a_host_keeps_is_listed_as_active() {
    play(async || {
        let desk = with_host().await;
        desk.namespace("kept-one").await?;
        desk.grant("kept-one", NGINX).await?;
        desk.done(&format!("push {NGINX} --name kept-one --for-namespace kept-one"))
            .await?;
        let digest = windlass::guest::digest(&windlass_artifacts::bytes(NGINX)).unwrap();
        let uses = windlass_testing::eventually(DEADLINE, "it is kept", async || {
            let said: Value = serde_json::from_str(&desk.done("modules -o json").await?)?;
            let mut rows = said.as_array().context("no list")?.iter();
            let row = rows.find(|row| row["digest"] == digest.as_str()).context("not kept")?;
            ensure!(row["name"] == "nginx" && row["parts"]["complete"] == true, "{row}");
            ensure!(row["bytes"].as_u64() > Some(1000), "{row}");
            Ok(row["usedBy"].clone())
        });
        let uses = uses.await?;
        let wanted = json!({"reconciler": {"namespace": NAMESPACE, "name": "kept-one"}, "as": "active"});
        ensure!(uses.as_array().unwrap().contains(&wanted), "{uses}");
        Ok(())
    });
}
