//! Group D: what goes, and what is in its way.

use super::{HOSTILES, canary, config_map, delete, gone, put, says, told, uid, wants, writes};
use crate::spec_on_real::{on_whole, on_whole_alone};
use anyhow::ensure;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use windlass_testing::Says;
use windlass_testing::eventually;
use windlass_testing::product::{self, DEADLINE};

#[test]
fn d_02_no_child_is_written_before_the_finalizer_is_stored_and_none_is_left() {
    on_whole(async |bare| {
        let (cluster, proxy) = (&bare.cluster, bare.proxy());
        let settings = json!({"settings": {"finalizes": true, "finalize": "done"}});
        bare.take_up("d02", windlass_artifacts::HOSTILE, &settings).await?;
        let mark = proxy.mark();
        let late = proxy.rule("delay=800ms verb=patch kind=hostiles namespace=d02")?;
        let names: Vec<String> = (0..12).map(|number| format!("one-{number}")).collect();
        let primaries: Vec<Value> = names
            .iter()
            .map(|name| told("d02", name, &wants(&[config_map(name, "1")])))
            .collect();
        put(bare, &primaries).await?;
        late.until_hits(6, DEADLINE).await?;
        // Some of them before their finalizer is stored, some after.
        cluster
            .kubectl(&["delete", HOSTILES, "-n", "d02", "--all", "--wait=false"])
            .await?;
        for name in &names {
            gone(bare, HOSTILES, "d02", name).await?;
        }
        drop(late);
        canary(bare, "d02").await?;
        let stored = writes(bare, mark, "d02", "hostiles");
        let children = writes(bare, mark, "d02", "configmaps");
        for child in children.iter().filter(|child| child.call.verb == "create") {
            let before = stored.iter().any(|patch| {
                let is_before = patch.answered.is_some_and(|answered| answered <= child.came);
                patch.call.name == child.call.name && patch.code == Some(200) && is_before
            });
            ensure!(before, "{} was made before its primary was held", child.call.name);
        }
        let left = [
            "get",
            "configmaps",
            "-n",
            "d02",
            "-l",
            "windlass.dev/reconciler=d02",
            "-o=name",
        ];
        eventually(Duration::from_secs(90), "no child is left", async || {
            let left = cluster.kubectl(&left).await?;
            ensure!(left.trim() == "configmap/canary", "{left}");
            Ok(())
        })
        .await
    });
}

#[test]
fn d_10_a_primary_that_is_made_again_waits_for_the_child_of_its_former_self() {
    on_whole_alone(async |bare| {
        let proxy = bare.proxy();
        bare.take_up("d10", windlass_artifacts::HOSTILE, &json!({})).await?;
        let web = told("d10", "web", &wants(&[config_map("web", "1")]));
        put(bare, std::slice::from_ref(&web)).await?;
        says(bare, "d10", "web", "Reconciled").await?;
        let old = uid(bare, "configmap", "d10", "web").await?;
        let paused = bare.cluster.pause("kube-controller-manager")?;
        delete(bare, "d10", "web").await?;
        gone(bare, HOSTILES, "d10", "web").await?;
        let mark = proxy.mark();
        put(bare, std::slice::from_ref(&web)).await?;
        says(bare, "d10", "web", "WaitingForOldChild").await?;
        canary(bare, "d10").await?;
        let touched = writes(bare, mark, "d10", "configmaps");
        let refused = |code| code == Some(409);
        ensure!(
            touched
                .iter()
                .all(|write| write.call.name == "canary" || refused(write.code)),
            "{touched:?}"
        );
        ensure!(
            uid(bare, "configmap", "d10", "web").await? == old,
            "the old one is another"
        );
        drop(paused);
        let owner = uid(bare, HOSTILES, "d10", "web").await?;
        // The garbage collector looks for new kinds every 30 s, and it stood still.
        eventually(Duration::from_secs(90), "there is a child of the new one", async || {
            let child = product::get(&bare.cluster, &["configmap", "web", "-n", "d10"]).await?;
            ensure!(
                child["metadata"]["ownerReferences"][0]["uid"] == owner.as_str(),
                "{child}"
            );
            Ok(())
        })
        .await?;
        let new = uid(bare, "configmap", "d10", "web").await?;
        says(bare, "d10", "web", "Reconciled").await?;
        canary(bare, "d10").await?;
        ensure!(
            new != old && uid(bare, "configmap", "d10", "web").await? == new,
            "it was deleted"
        );
        Ok(())
    });
}

#[test]
fn d_08_a_webhook_that_denies_the_cleanup_is_named_on_the_primary_until_it_goes() {
    on_whole(async |bare| {
        let (cluster, proxy) = (&bare.cluster, bare.proxy());
        let settings = json!({"settings": {"finalizes": true, "finalize": "told"}});
        bare.take_up("d08", windlass_artifacts::HOSTILE, &settings).await?;
        let mut keep = config_map("keep", "1");
        keep["object"]["metadata"]["labels"] = json!({"keep": "yes"});
        let mut one = told("d08", "one", &wants(&[keep]));
        // Its cleanup is the host's own: first the child, then the object.
        one["spec"]["farewell"] = json!({"noneWanted": true});
        put(bare, &[one]).await?;
        says(bare, "d08", "one", "Reconciled").await?;
        let webhook = cluster.webhook().await?;
        webhook.say(Says::No(403, "it is to be kept".into()));
        let rule = json!({
            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["configmaps"],
        });
        let only_kept = json!({"objectSelector": {"matchLabels": {"keep": "yes"}}});
        let configuration = webhook.configuration("d08", &rule, &only_kept);
        cluster.apply(&configuration.to_string()).await?;
        eventually(DEADLINE, "the webhook is asked", async || {
            let tried = ["delete", "configmap", "keep", "-n", "d08", "--dry-run=server"];
            ensure!(cluster.kubectl(&tried).await.is_err(), "the delete is allowed");
            Ok(())
        })
        .await?;
        let mark = proxy.mark();
        delete(bare, "d08", "one").await?;
        let began = Instant::now();
        let told = says(bare, "d08", "one", "Deleting").await?;
        ensure!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        let message = told["message"].to_string();
        ensure!(
            told["status"] == "False" && message.contains("d08/keep") && message.contains("it is to be kept"),
            "{told}"
        );
        // At 0, 1, 3 and 7 seconds or a little sooner, and then later and later up to every 30 s.
        tokio::time::sleep_until((began + Duration::from_secs(6)).into()).await;
        let tries = writes(bare, mark, "d08", "configmaps").len();
        ensure!((1..=5).contains(&tries), "{tries} tries in 6 s");
        cluster
            .kubectl(&["delete", "validatingwebhookconfiguration", "d08"])
            .await?;
        let removed = Instant::now();
        gone(bare, "configmap", "d08", "keep").await?;
        // That was the cleanup that its guest asked for; now it is told to let go.
        let done = [
            "patch",
            HOSTILES,
            "one",
            "-n",
            "d08",
            "--type=merge",
            "-p",
            r#"{"spec":{"farewell":null}}"#,
        ];
        cluster.kubectl(&done).await?;
        gone(bare, HOSTILES, "d08", "one").await?;
        ensure!(removed.elapsed() < Duration::from_secs(60), "{:?}", removed.elapsed());
        Ok(())
    });
}
