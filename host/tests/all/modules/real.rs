//! Shows on a real API server what only that can show: its schema, its size limits, and ConfigMaps that are replaced.

use crate::spec_on_real::on_bare;
use anyhow::ensure;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use windlass_testing::eventually;
use windlass_testing::product::{self, DEADLINE, NAMESPACE};

#[test]
fn the_schema_refuses_what_cannot_be_meant_in_a_sentence_and_fills_defaults_in() {
    on_bare(async |bare| {
        let tried = async |spec: Value| {
            let mut all = json!({"source": {"configMap": {"name": "x"}}, "serviceAccountName": "x"});
            for (key, value) in spec.as_object().into_iter().flatten() {
                all[key] = value.clone();
            }
            let reconciler = json!({
                "apiVersion": "windlass.dev/v1alpha1", "kind": "Reconciler",
                "metadata": {"namespace": NAMESPACE, "name": "tried"}, "spec": all,
            });
            let create = ["create", "--dry-run=server", "-o", "json", "-f", "-"];
            bare.cluster.kubectl_with_input(&create, &reconciler.to_string()).await
        };
        let parts = json!([{"name": "a"}]);
        for (spec, words) in [
            (json!({"source": {}}), "give exactly one source: configMap or oci"),
            (
                json!({"source": {"configMap": {"name": "x"}, "oci": {"image": "y"}}}),
                "give exactly one source",
            ),
            (json!({"source": {"configMap": {}}}), "give either name or parts"),
            (
                json!({"source": {"configMap": {"name": "x", "parts": parts}}}),
                "give either name or parts",
            ),
            (
                json!({"source": {"configMap": {"parts": parts}}}),
                "parts need the digest of the whole module",
            ),
            (json!({"digest": "abc"}), "spec.digest in body should match"),
            (
                json!({"approvedRights": "abc"}),
                "spec.approvedRights in body should match",
            ),
            (
                json!({"namespaces": ["*", "team"]}),
                "\"*\" means all namespaces: give it alone",
            ),
            (json!({"namespaces": ["Team"]}), "should match"),
            (json!({"limits": {"memoryMebibytes": 0}}), "greater than or equal to 1"),
            (
                json!({"onFinalizeFailure": "Retry"}),
                "supported values: \"Block\", \"Skip\"",
            ),
            (
                json!({"adoption": {"fromFieldManagers": []}}),
                "should have at least 1 items",
            ),
            (json!({"serviceAccountName": "No Name"}), "should match"),
        ] {
            let refused = tried(spec.clone()).await.err().map(|error| format!("{error:#}"));
            let said = refused.unwrap_or_else(|| format!("{spec} was taken"));
            ensure!(said.contains(words), "{spec}: {said}");
        }
        let taken: Value = serde_json::from_str(&tried(json!({})).await?)?;
        let spec = &taken["spec"];
        ensure!(
            spec["limits"]
                == json!({"memoryMebibytes": 64, "timeMilliseconds": 1000, "outputKibibytes": 4096, "children": 256}),
            "{spec}"
        );
        let defaults = [
            &spec["suspend"],
            &spec["secretValues"],
            &spec["onFinalizeFailure"],
            &spec["namespaces"],
        ];
        ensure!(
            defaults == [&json!(false), &json!(false), &json!("Block"), &json!([])],
            "{spec}"
        );
        tried(json!({"source": {"oci": {"image": "registry.test/x:1"}}})).await?;
        Ok(())
    });
}

#[test]
fn every_field_of_a_reconciler_is_explained() {
    on_bare(async |bare| {
        // The API server publishes what it can explain some time after it serves it.
        eventually(DEADLINE, "kubectl explains Reconcilers", async || {
            let said = bare.cluster.kubectl(&["explain", "reconciler"]).await?;
            ensure!(said.contains("Runs one module"), "{said}");
            Ok(())
        })
        .await?;
        let crd = std::fs::read_to_string(product::file("deploy/crds/reconcilers.yaml"))?;
        let crd: Value = serde_saphyr::from_str(&crd)?;
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        let mut silent = Vec::new();
        unexplained("spec", &schema["spec"], &mut silent);
        unexplained("status", &schema["status"], &mut silent);
        ensure!(silent.is_empty(), "no word about {silent:?}");
        for field in [
            "source",
            "digest",
            "namespaces",
            "approvedRights",
            "adoption",
            "onFinalizeFailure",
        ] {
            let said = bare
                .cluster
                .kubectl(&["explain", &format!("reconciler.spec.{field}")])
                .await?;
            ensure!(said.contains("DESCRIPTION:") && said.len() > 200, "{said}");
        }
        Ok(())
    });
}

/// Collects the paths of fields without a description.
fn unexplained(path: &str, schema: &Value, silent: &mut Vec<String>) {
    if schema["description"].as_str().is_none_or(str::is_empty) {
        silent.push(path.to_owned());
    }
    let fields = schema["properties"]
        .as_object()
        .or(schema["items"]["properties"].as_object());
    for (name, field) in fields.into_iter().flatten() {
        unexplained(&format!("{path}.{name}"), field, silent);
    }
}

#[test]
fn f_07_client_side_apply_of_a_module_fails_in_words_that_the_readme_quotes_and_the_documented_ways_work() {
    on_bare(async |bare| {
        let cluster = &bare.cluster;
        let module: Vec<u8> = (0..600_u32 << 10)
            .map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        let file = cluster.directory().join("large.wasm");
        std::fs::write(&file, module)?;
        let from = format!("--from-file=large.wasm={}", file.display());
        let large = [
            "create",
            "configmap",
            "large",
            "-n",
            "default",
            &from,
            "-o",
            "yaml",
            "--dry-run=client",
        ];
        let manifest = cluster.kubectl(&large).await?;
        let applied = cluster.kubectl_with_input(&["apply", "-f", "-"], &manifest).await;
        let said = format!("{:#}", applied.unwrap_err());
        let words = "metadata.annotations: Too long: may not be more than 262144 bytes";
        ensure!(said.contains(words), "{said}");
        let readme = std::fs::read_to_string(product::file("README.md"))?;
        ensure!(readme.contains(words), "the README quotes what kubectl says");
        cluster
            .kubectl_with_input(&["apply", "--server-side", "-f", "-"], &manifest)
            .await?;
        cluster
            .kubectl(&["delete", "configmap", "large", "-n", "default"])
            .await?;
        cluster.kubectl(&large[..6]).await?;
        Ok(())
    });
}

#[test]
fn f_11_a_module_in_an_immutable_config_map_is_taken_up_within_seconds_when_that_is_replaced() {
    on_bare(async |bare| {
        let spec = json!({});
        bare.take_up("replaced", windlass_artifacts::HOSTILE, &spec).await?;
        let mut began = Instant::now();
        for number in 1..=4_u8 {
            let bytes = crate::world::variant("hostile", number);
            let config_map = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": NAMESPACE, "name": "replaced"},
                "immutable": true, "binaryData": {"module.wasm": crate::world::base64(&bytes)},
            });
            let text = config_map.to_string();
            bare.cluster
                .kubectl_with_input(&["replace", "--force", "-f", "-"], &text)
                .await?;
            let reconciler = ["reconciler", "replaced", "-n", NAMESPACE];
            let digest = crate::world::digest(&bytes);
            product::await_value(&bare.cluster, &reconciler, "/status/active/digest", digest.as_str()).await?;
            ensure!(
                began.elapsed() < Duration::from_secs(45),
                "version {number} took {:?}",
                began.elapsed()
            );
            began = Instant::now();
        }
        Ok(())
    });
}
