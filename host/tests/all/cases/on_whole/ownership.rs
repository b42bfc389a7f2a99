//! Group B: answers and requests that come late, twice, or not at all.

use super::{HOSTILES, canary, config_map, delete, gone, put, says, told, uid, wants, writes};
use crate::spec_on_real::on_whole;
use anyhow::{Context, ensure};
use serde_json::{Value, json};
use std::time::Duration;
use windlass_testing::eventually;
use windlass_testing::product::{self, DEADLINE};

#[test]
fn b_05_a_delete_that_comes_late_spares_whoever_has_the_name_by_then() {
    on_whole(async |bare| {
        let (cluster, proxy) = (&bare.cluster, bare.proxy());
        bare.take_up("b05", windlass_artifacts::HOSTILE, &json!({})).await?;
        let both = wants(&[config_map("c", "1"), config_map("d", "1")]);
        put(bare, &[told("b05", "one", &both)]).await?;
        says(bare, "b05", "one", "Reconciled").await?;
        let old = uid(bare, "configmap", "b05", "c").await?;
        let mark = proxy.mark();
        let held = proxy.rule("hold verb=delete kind=configmaps namespace=b05")?;
        put(bare, &[told("b05", "one", &wants(&[config_map("d", "1")]))]).await?;
        held.until_hits(1, DEADLINE).await?;
        cluster.kubectl(&["delete", "configmap", "c", "-n", "b05"]).await?;
        cluster
            .kubectl(&["create", "configmap", "c", "-n", "b05", "--from-literal=by=hand"])
            .await?;
        let new = uid(bare, "configmap", "b05", "c").await?;
        canary(bare, "b05").await?;
        held.release();
        says(bare, "b05", "one", "Reconciled").await?;
        let deletes = writes(bare, mark, "b05", "configmaps");
        let delete = deletes
            .iter()
            .find(|passed| passed.call.verb == "delete")
            .context("no delete")?;
        let options: Value = serde_json::from_slice(&delete.body)?;
        ensure!(options["preconditions"]["uid"] == old.as_str(), "{options}");
        ensure!(delete.code == Some(409), "{:?}", delete.code);
        ensure!(uid(bare, "configmap", "b05", "c").await? == new, "the new one is gone");
        Ok(())
    });
}

#[test]
fn b_09_an_apply_that_comes_late_brings_nothing_back() {
    on_whole(async |bare| {
        let (cluster, proxy) = (&bare.cluster, bare.proxy());
        bare.take_up("b09", windlass_artifacts::HOSTILE, &json!({})).await?;
        for round in 0..3 {
            let name = format!("round-{round}");
            put(bare, &[told("b09", &name, &wants(&[config_map(&name, "1")]))]).await?;
            says(bare, "b09", &name, "Reconciled").await?;
            let mark = proxy.mark();
            let child = uid(bare, "configmap", "b09", &name).await?;
            let held = proxy.rule(&format!("hold verb=apply kind=configmaps namespace=b09 name={name}"))?;
            put(bare, &[told("b09", &name, &wants(&[config_map(&name, "2")]))]).await?;
            held.until_hits(1, DEADLINE).await?;
            delete(bare, "b09", &name).await?;
            gone(bare, HOSTILES, "b09", &name).await?;
            cluster
                .kubectl(&["delete", "configmap", &name, "-n", "b09", "--ignore-not-found"])
                .await?;
            held.release();
            let late = eventually(DEADLINE, "the late apply is answered", async || {
                let late = writes(bare, mark, "b09", "configmaps");
                let late = late
                    .into_iter()
                    .find(|passed| passed.call.verb == "apply" && passed.code.is_some());
                late.context("there is none yet")
            });
            let late = late.await?;
            let sent: Value = serde_json::from_slice(&late.body)?;
            ensure!(sent["metadata"]["uid"] == child.as_str(), "{sent}");
            ensure!(late.code == Some(409), "{:?}", late.code);
        }
        canary(bare, "b09").await?;
        let left = [
            "configmaps",
            "-n",
            "b09",
            "-l",
            "windlass.dev/reconciler=b09",
            "-o=name",
        ];
        let get: Vec<&str> = ["get"].into_iter().chain(left).collect();
        let left = cluster.kubectl(&get).await?;
        ensure!(left.trim() == "configmap/canary", "{left}");
        Ok(())
    });
}

#[test]
fn b_09_a_release_that_is_sent_twice_brings_no_primary_back() {
    on_whole(async |bare| {
        let proxy = bare.proxy();
        let settings = json!({"settings": {"finalizes": true, "finalize": "done"}});
        bare.take_up("b09-twice", windlass_artifacts::HOSTILE, &settings)
            .await?;
        let names = ["one", "two", "three", "four", "five"];
        let primaries: Vec<Value> = names
            .iter()
            .map(|name| told("b09-twice", name, &wants(&[config_map(name, "1")])))
            .collect();
        put(bare, &primaries).await?;
        for name in names {
            says(bare, "b09-twice", name, "Reconciled").await?;
        }
        let mark = proxy.mark();
        let twice = proxy.rule("replay verb=patch kind=hostiles namespace=b09-twice")?;
        for name in names {
            delete(bare, "b09-twice", name).await?;
        }
        for name in names {
            gone(bare, HOSTILES, "b09-twice", name).await?;
        }
        drop(twice);
        let releases = eventually(DEADLINE, "each release was answered twice", async || {
            let releases = writes(bare, mark, "b09-twice", "hostiles");
            let codes: Vec<_> = releases.iter().map(|passed| passed.code).collect();
            let done = codes.iter().filter(|code| **code == Some(200)).count();
            let late = codes.iter().filter(|code| **code == Some(404)).count();
            ensure!(done >= names.len() && late >= names.len(), "{codes:?}");
            Ok(releases)
        })
        .await?;
        ensure!(
            releases.iter().all(|passed| passed.call.verb == "patch"),
            "an apply would create"
        );
        canary(bare, "b09-twice").await?;
        let left = bare
            .cluster
            .kubectl(&["get", HOSTILES, "-n", "b09-twice", "-o=name"])
            .await?;
        ensure!(left.trim() == "hostile.hostile.windlass.test/canary", "{left}");
        Ok(())
    });
}

#[test]
fn b_11_a_conflict_of_the_status_costs_no_second_decision() {
    on_whole(async |bare| {
        let proxy = bare.proxy();
        bare.take_up("b11", windlass_artifacts::HOSTILE, &json!({})).await?;
        put(bare, &[told("b11", "one", &wants(&[config_map("one", "1")]))]).await?;
        says(bare, "b11", "one", "Reconciled").await?;
        let (mark, before) = (proxy.mark(), bare.host.decisions("b11").await?);
        let conflicts = proxy.rule("code=409 verb=write kind=hostiles/status namespace=b11 count=3")?;
        put(bare, &[told("b11", "one", &wants(&[config_map("one", "2")]))]).await?;
        says(bare, "b11", "one", "Reconciled").await?;
        ensure!(conflicts.hits() == 3, "{} conflicts", conflicts.hits());
        let statuses = writes(bare, mark, "b11", "hostiles/status");
        let took = statuses
            .last()
            .zip(statuses.first())
            .map(|(last, first)| last.came - first.came);
        ensure!(took < Some(Duration::from_secs(5)), "it took {took:?}");
        let children = writes(bare, mark, "b11", "configmaps");
        // Taken over at its first change, and applied.
        ensure!(children.len() == 2, "{children:?}");
        ensure!(
            bare.host.decisions("b11").await? == before + 1,
            "the guest was called again"
        );
        product::await_value(&bare.cluster, &["configmap", "one", "-n", "b11"], "/data/value", "2").await?;
        Ok(())
    });
}

#[test]
fn an_answer_that_never_comes_is_followed_by_a_look_and_not_by_a_second_write() {
    on_whole(async |bare| {
        let proxy = bare.proxy();
        bare.take_up("unanswered", windlass_artifacts::HOSTILE, &json!({}))
            .await?;
        let mark = proxy.mark();
        let lost = proxy.rule("drop-answer verb=create kind=configmaps namespace=unanswered count=1")?;
        put(bare, &[told("unanswered", "one", &wants(&[config_map("one", "1")]))]).await?;
        says(bare, "unanswered", "one", "Reconciled").await?;
        ensure!(lost.hits() == 1, "nothing was lost");
        let passed = proxy.passed_since(mark);
        let of_child: Vec<&str> = passed
            .iter()
            .filter(|passed| passed.call.resource == "configmaps" && passed.call.name == "one")
            .filter(|passed| passed.call.namespace == "unanswered")
            .map(|passed| passed.call.verb)
            .collect();
        ensure!(of_child == ["create", "get"], "{of_child:?}");
        Ok(())
    });
}
