//! Group I: what probes and status say while the host is cut off.

use super::{canary, config_map, put, says, told, wants};
use crate::spec_on_real::{on_whole, on_whole_alone};
use anyhow::ensure;
use serde_json::json;
use std::time::Duration;
use windlass_testing::eventually;
use windlass_testing::product::{self, DEADLINE};

/// One kind of one Reconciler cannot be watched: its status says so, and the host is ready for all others. Readiness does not
/// follow what whoever owns a namespace can do to one Reconciler (F-01).
#[test]
fn i_07_a_kind_that_cannot_be_watched_is_named_by_its_reconciler_alone() {
    on_whole(async |bare| {
        let (cluster, proxy) = (&bare.cluster, bare.proxy());
        bare.take_up("i07", windlass_artifacts::HOSTILE, &json!({})).await?;
        bare.take_up("i07-others", windlass_artifacts::HOSTILE, &json!({}))
            .await?;
        let refused =
            proxy.rule("code=403 verb=list,watch kind=hostiles namespace=i07 message=hostiles is forbidden")?;
        let ended = proxy.rule("drop verb=watch kind=hostiles namespace=i07")?;
        let blind = product::await_reconciler(cluster, "i07", "Synced", "False").await?;
        ensure!(blind["status"].to_string().contains("Hostile"), "{}", blind["status"]);
        canary(bare, "i07-others").await?;
        for probe in ["/readyz", "/livez"] {
            let said = bare.host.ask(probe).await?;
            ensure!(said.contains("200 OK"), "{said}");
            ensure!(
                said.contains("Hostile.hostile.windlass.test/v1 cannot be watched") == (probe == "/readyz"),
                "{said}"
            );
        }
        put(bare, &[told("i07", "unseen", &wants(&[config_map("unseen", "1")]))]).await?;
        drop((refused, ended));
        product::await_reconciler(cluster, "i07", "Synced", "True").await?;
        says(bare, "i07", "unseen", "Reconciled").await?;
        Ok(())
    });
}

#[test]
fn i_07_a_host_that_is_cut_off_is_alive_and_not_ready_and_ready_again_when_it_is_not() {
    on_whole_alone(async |bare| {
        let (cluster, proxy) = (&bare.cluster, bare.proxy());
        bare.take_up("i07-cut", windlass_artifacts::HOSTILE, &json!({})).await?;
        let cut = proxy.rule("drop")?;
        eventually(
            DEADLINE,
            "the host is not ready, and says what it cannot see",
            async || {
                let said = bare.host.ask("/readyz").await?;
                ensure!(said.contains("503") && said.contains("Reconciler"), "{said}");
                Ok(())
            },
        )
        .await?;
        let live = bare.host.ask("/livez").await?;
        ensure!(live.contains("200 OK"), "{live}");
        put(bare, &[told("i07-cut", "missed", &wants(&[config_map("missed", "1")]))]).await?;
        let pid = bare.host.pid();
        cut.until_hits(20, DEADLINE).await?;
        drop(cut);
        // The last delay of a watch that broke again and again is 28 s.
        eventually(Duration::from_secs(35), "the host is ready again", async || {
            let said = bare.host.ask("/readyz").await?;
            ensure!(said.contains("200 OK"), "{said}");
            Ok(())
        })
        .await?;
        says(bare, "i07-cut", "missed", "Reconciled").await?;
        ensure!(bare.host.pid() == pid, "it is another process");
        // Everything else is watched again too, before others go on.
        product::await_reconciler(cluster, "i07-cut", "Synced", "True").await?;
        canary(bare, "i07-cut").await?;
        Ok(())
    });
}
