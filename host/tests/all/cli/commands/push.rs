//! Pushes modules: to a host that takes them up, to one that waits for something, and where no host is.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use windlass_artifacts::{NGINX, NGINX_NEXT};
use windlass_testing::eventually;

fn digest(module: &str) -> String {
    windlass::guest::digest(&windlass_artifacts::bytes(module)).unwrap()
}

#[test]
fn a_pushed_module_is_waited_for_until_it_runs_and_so_is_the_next() {
    play(async || {
        let desk = with_host().await;
        desk.namespace("push-runs").await?;
        desk.grant("push-runs", NGINX).await?;
        let push = "--name push-runs --for-namespace push-runs";
        let said = desk.done(&format!("push {NGINX} {push}")).await?;
        ensure!(
            said.starts_with("nginx 0.1.0 (")
                && said.ends_with("runs for Reconciler windlass-system/push-runs: 0/0 Nginx ready\n"),
            "{said}"
        );
        let config_map = desk.there("configmap push-runs -n windlass-system").await?;
        let bytes = STANDARD.decode(config_map["binaryData"]["module.wasm.gz"].as_str().unwrap())?;
        ensure!(windlass::guest::digest(&bytes).unwrap() == digest(NGINX));
        let object = desk.there("reconciler push-runs -n windlass-system").await?;
        ensure!(
            object["spec"]["namespaces"] == json!(["push-runs"]),
            "{}",
            object["spec"]
        );
        let managers = object["metadata"]["managedFields"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let ours = |entry: &Value| entry["manager"] == "windlass-cli" && entry["operation"] == "Apply";
        ensure!(managers.iter().any(ours), "{managers:?}");

        let said = desk
            .done(&format!("push {NGINX_NEXT} --name push-runs -o json"))
            .await?;
        let said: Value = serde_json::from_str(&said)?;
        ensure!(said["runs"] == true && said["digest"] == digest(NGINX_NEXT), "{said}");
        ensure!(said["configMaps"] == json!(["push-runs"]), "{said}");
        ensure!(said["active"]["version"] != "0.1.0", "{said}");
        let kept = desk.there("reconciler push-runs -n windlass-system").await?;
        ensure!(kept["spec"]["namespaces"] == json!(["push-runs"]), "{}", kept["spec"]);
        ensure!(
            kept["status"]["active"]["digest"] == digest(NGINX_NEXT),
            "{}",
            kept["status"]
        );
        // Nothing changes when it is pushed again.
        desk.done(&format!("push {NGINX_NEXT} --name push-runs")).await?;
        let same = desk.there("reconciler push-runs -n windlass-system").await?;
        ensure!(same["metadata"]["generation"] == kept["metadata"]["generation"]);
        let one = |object: &Value| object["metadata"]["resourceVersion"].clone();
        let before = desk.there("configmap push-runs -n windlass-system").await?;
        desk.done(&format!("push {NGINX_NEXT} --name push-runs")).await?;
        ensure!(one(&before) == one(&desk.there("configmap push-runs -n windlass-system").await?));
        Ok(())
    });
}

#[test]
fn what_a_pushed_module_waits_for_is_said_and_it_goes_on_when_it_comes() {
    play(async || {
        let desk = with_host().await;
        desk.namespace("push-poor").await?;
        let line = format!("push {NGINX} --name push-poor --for-namespace push-poor");
        let said = desk.refused(&format!("{line} --timeout 5s")).await?;
        ensure!(said.contains("Permitted: "), "{said}");
        ensure!(
            said.contains("waits at Permitted: ")
                && said.contains("ServiceAccount windlass-system/push-poor does not exist"),
            "{said}"
        );
        ensure!(said.contains("Nothing runs."), "{said}");
        let (pushed, granted) = tokio::join!(desk.done(&line), async {
            eventually(DEADLINE, "the push waits", async || {
                desk.there("reconciler push-poor -n windlass-system").await
            })
            .await?;
            desk.grant("push-poor", NGINX).await
        });
        granted?;
        ensure!(pushed?.contains("runs for Reconciler windlass-system/push-poor"));
        Ok(())
    });
}

#[test]
fn a_module_that_is_no_module_is_refused_before_the_cluster_is_touched() {
    play(async || {
        let desk = without_host().await;
        std::fs::write(desk.files.join("junk.wasm"), b"this is not a module")?;
        let said = desk.refused("push junk.wasm --name junk").await?;
        ensure!(
            said.contains("the module junk.wasm is refused: ") && said.contains("not WebAssembly"),
            "{said}"
        );
        ensure!(desk.get("configmap junk -n windlass-system").await?.is_none());
        ensure!(desk.get("reconciler junk -n windlass-system").await?.is_none());
        Ok(())
    });
}

#[test]
fn without_a_host_the_end_of_the_time_says_so() {
    play(async || {
        let desk = without_host().await;
        let said = desk
            .refused(&format!("push {NGINX} --name lonely --timeout 2s"))
            .await?;
        ensure!(said.contains("NoHost: no host has answered within 2 s"), "{said}");
        let output = desk
            .run(&format!("push {NGINX} --name lonely --timeout 1s -o json"))
            .await?;
        let said: Value = serde_json::from_slice(&output.stdout)?;
        ensure!(
            output.status.code() == Some(1) && said["runs"] == false && said["reason"] == "NoHost",
            "{said}"
        );
        Ok(())
    });
}

#[test]
fn a_refusal_of_the_module_ends_the_waiting_at_once() {
    play(async || {
        let desk = without_host().await;
        let line = format!("push {NGINX} --name bad --timeout 1h");
        let (said, written) = tokio::join!(desk.refused(&line), async {
            let there = eventually(DEADLINE, "it is pushed", async || {
                desk.there("reconciler bad -n windlass-system").await
            });
            there.await?;
            let refused =
                json!({"digest": digest(NGINX), "step": "Compile", "reason": "TooMuchMemory", "message": "Smaller."});
            desk.status(NAMESPACE, "bad", &json!({"observedGeneration": 1, "refused": refused}))
                .await
        });
        written?;
        let said = said?;
        ensure!(
            said.contains("is refused at Compile: TooMuchMemory: Smaller. Nothing runs."),
            "{said}"
        );
        Ok(())
    });
}

#[test]
fn what_kubectl_made_is_replaced_and_what_a_rollback_left_is_removed() {
    play(async || {
        let desk = without_host().await;
        let (name, namespace) = ("by-hand", NAMESPACE);
        let file = format!("--from-file=nginx.wasm={NGINX}");
        let create = [
            "create",
            "configmap",
            name,
            "-n",
            namespace,
            &file,
            "--from-literal=settings.yaml={}",
        ];
        desk.cluster.kubectl(&create).await?;
        let label = ["label", "configmap", name, "-n", namespace, "windlass.dev/module=true"];
        desk.cluster.kubectl(&label).await?;
        let made = reconciler(
            namespace,
            name,
            json!({
                "namespaces": ["*"], "settings": {"a": 1}, "digest": "0".repeat(64), "limits": {"memoryMebibytes": 32},
            }),
        );
        desk.cluster
            .kubectl_with_input(&["create", "-f", "-"], &made.to_string())
            .await?;

        let line = format!("push {NGINX_NEXT} --name {name} --for-namespace team-a --timeout 1s");
        let said = desk.refused(&line).await?;
        ensure!(
            said.contains("nginx.wasm, which kubectl-create put there, is removed"),
            "{said}"
        );
        ensure!(said.contains("the pin to 000000000000 is removed"), "{said}");
        let config_map = desk.there("configmap by-hand -n windlass-system").await?;
        let keys: Vec<&String> = config_map["binaryData"].as_object().unwrap().keys().collect();
        ensure!(keys == ["module.wasm.gz"], "{keys:?}");
        ensure!(
            config_map["data"]["settings.yaml"] == "{}"
                && config_map["metadata"]["labels"]["windlass.dev/module"] == "true"
        );
        let spec = desk.there("reconciler by-hand -n windlass-system").await?["spec"].clone();
        ensure!(
            spec["digest"].is_null() && spec["namespaces"] == json!(["team-a"]),
            "{spec}"
        );
        ensure!(
            spec["settings"] == json!({"a": 1}) && spec["limits"]["memoryMebibytes"] == 32,
            "{spec}"
        );

        // It is ours now: the next push is an apply and says nothing.
        let said = desk
            .refused(&format!("push {NGINX} --name {name} --timeout 1s"))
            .await?;
        ensure!(!said.contains("put there"), "{said}");
        let spec = desk.there("reconciler by-hand -n windlass-system").await?["spec"].clone();
        ensure!(
            spec["namespaces"] == json!(["team-a"]) && spec["settings"] == json!({"a": 1}),
            "{spec}"
        );
        Ok(())
    });
}

#[test]
fn a_config_map_that_is_no_module_is_left_alone() {
    play(async || {
        let desk = without_host().await;
        let create = [
            "create",
            "configmap",
            "other",
            "-n",
            NAMESPACE,
            "--from-literal=app.toml=a",
        ];
        desk.cluster.kubectl(&create).await?;
        let said = desk.refused(&format!("push {NGINX} --name other")).await?;
        ensure!(
            said.contains("ConfigMap windlass-system/other is there and holds no module, but app.toml"),
            "{said}"
        );
        ensure!(desk.get("reconciler other -n windlass-system").await?.is_none());
        Ok(())
    });
}

/// A module that is this large once it is packed: a custom section that does not get smaller.
fn bulky(bytes: usize) -> Vec<u8> {
    let mut module = windlass_artifacts::bytes(NGINX);
    let mut state: u64 = 1;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8
    };
    let content: Vec<u8> = [4, b'b', b'u', b'l', b'k']
        .into_iter()
        .chain((0..bytes).map(|_| noise()))
        .collect();
    module.push(0);
    let mut left = content.len();
    while left >= 0x80 {
        module.push((left & 0x7f) as u8 | 0x80);
        left >>= 7;
    }
    module.push(left as u8);
    module.extend(content);
    module
}

/// Puts the parts together as the index says.
async fn joined(desk: &Desk, name: &str) -> Result<Vec<u8>> {
    let config_map = desk.there(&format!("configmap {name} -n {NAMESPACE}")).await?;
    if let Some(whole) = config_map["binaryData"]["module.wasm.gz"].as_str() {
        ensure!(config_map["data"]["index.yaml"].is_null(), "both a module and an index");
        return Ok(STANDARD.decode(whole)?);
    }
    ensure!(config_map["binaryData"].is_null(), "both an index and a module");
    let index: windlass::api::Index =
        serde_saphyr::from_str(config_map["data"]["index.yaml"].as_str().context("no index")?)?;
    let mut bytes = Vec::new();
    for part in index.parts {
        let object = desk.there(&format!("configmap {} -n {NAMESPACE}", part.name)).await?;
        ensure!(
            object["metadata"]["labels"]["windlass.dev/part-of"] == name,
            "{}",
            object["metadata"]
        );
        ensure!(object["metadata"]["annotations"]["windlass.dev/digest"] == index.digest.as_str());
        bytes.extend(STANDARD.decode(object["binaryData"][part.key.unwrap()].as_str().context("no part")?)?);
    }
    ensure!(windlass::guest::digest(&bytes).unwrap() == index.digest);
    Ok(bytes)
}

#[test]
fn a_module_that_does_not_fit_one_config_map_is_split_and_comes_back_together() {
    play(async || {
        let desk = without_host().await;
        let (two, three) = (bulky(1_200_000), bulky(2_200_000));
        std::fs::write(desk.files.join("two.wasm"), &two)?;
        std::fs::write(desk.files.join("three.wasm"), &three)?;
        let is = |bytes: Vec<u8>, module: &[u8]| windlass::guest::digest(&bytes) == windlass::guest::digest(module);
        let said = desk.refused("push three.wasm --name bulky --timeout 1s").await?;
        ensure!(said.contains("it is split into 3 parts"), "{said}");
        ensure!(is(joined(desk, "bulky").await?, &three));
        desk.refused("push two.wasm --name bulky --timeout 1s").await?;
        ensure!(is(joined(desk, "bulky").await?, &two));
        let surplus = "configmap bulky-part-2 -n windlass-system";
        ensure!(desk.get(surplus).await?.is_some(), "it is not taken up yet");

        // As soon as it is taken up, what is left of the larger one goes.
        let ready =
            json!([{"type": "Ready", "status": "True", "reason": "Running", "message": "", "lastTransitionTime": "t"}]);
        let small = windlass_artifacts::bytes(NGINX);
        let active = |module: &[u8]| {
            json!({
                "digest": windlass::guest::digest(module).unwrap(), "shortDigest": "", "name": "nginx", "version": "1",
                "kind": "Nginx", "strict": true, "rightsHash": "",
            })
        };
        let status = |module: &[u8]| json!({"observedGeneration": 1, "active": active(module), "conditions": ready});
        desk.status(NAMESPACE, "bulky", &status(&two)).await?;
        desk.done("push two.wasm --name bulky").await?;
        ensure!(desk.get(surplus).await?.is_none(), "the surplus part stayed");
        ensure!(is(joined(desk, "bulky").await?, &two));
        desk.status(NAMESPACE, "bulky", &status(&small)).await?;
        desk.done(&format!("push {NGINX} --name bulky")).await?;
        ensure!(is(joined(desk, "bulky").await?, &small));
        ensure!(desk.get("configmap bulky-part-0 -n windlass-system").await?.is_none());
        Ok(())
    });
}

#[test]
fn a_missing_crd_is_named_with_the_command_that_installs_it() {
    play(async || {
        let desk = Desk::empty().await?;
        let said = desk.refused(&format!("push {NGINX} --name nginx")).await?;
        ensure!(
            said.contains("`windlass crds | kubectl apply --server-side -f -`"),
            "{said}"
        );
        ensure!(desk.get("configmap nginx -n windlass-system").await?.is_none());
        Ok(())
    });
}

#[test]
fn a_module_in_parts_is_taken_up_and_the_parts_go_with_the_next_that_fits_one() {
    play(async || {
        let desk = with_host().await;
        let name = "push-bulky";
        desk.namespace(name).await?;
        desk.grant(name, NGINX).await?;
        let large = bulky(2_500_000);
        std::fs::write(desk.files.join("large.wasm"), &large)?;
        let said = desk
            .done(&format!("push large.wasm --name {name} --for-namespace {name} -o json"))
            .await?;
        let said: Value = serde_json::from_str(&said)?;
        let digest = windlass::guest::digest(&large).unwrap();
        ensure!(said["runs"] == true && said["digest"] == digest.as_str(), "{said}");
        let parts = [
            "push-bulky",
            "push-bulky-part-0",
            "push-bulky-part-1",
            "push-bulky-part-2",
        ];
        ensure!(said["configMaps"] == json!(parts), "{said}");
        desk.done(&format!("push {NGINX} --name {name}")).await?;
        for part in &parts[1..] {
            ensure!(
                desk.get(&format!("configmap {part} -n {NAMESPACE}")).await?.is_none(),
                "{part} stayed"
            );
        }
        let said = desk.done(&format!("rollback {name}")).await?;
        ensure!(said.contains(&digest[..12]), "{said}");
        Ok(())
    });
}

#[test]
fn a_module_that_no_host_takes_is_refused_with_what_to_do() {
    play(async || {
        let desk = without_host().await;
        std::fs::write(desk.files.join("huge.wasm"), bulky(17 << 20))?;
        let said = desk.refused("push huge.wasm --name huge").await?;
        ensure!(
            said.contains("a host takes at most 16777216") && said.contains("opt-level = \"z\""),
            "{said}"
        );
        ensure!(desk.get("configmap huge-part-0 -n windlass-system").await?.is_none());
        Ok(())
    });
}
