//! What `kubectl apply` without `--server-side` made is taken over, with a real kubectl.

use crate::cases::settle::{child, config_map};
use crate::spec_on_real::on_bare;
use anyhow::ensure;
use serde_json::{Value, json};
use windlass_testing::product;

#[test]
fn b_07_of_what_a_client_side_apply_made_only_its_own_fields_go() {
    on_bare(async |bare| {
        bare.take_up("b07", windlass_artifacts::HOSTILE, &json!({"settings": {}}))
            .await?;
        let cluster = &bare.cluster;
        let theirs = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "b07", "name": "c"},
            "data": {"key": "1", "legacy": "1"},
        });
        cluster
            .kubectl_with_input(&["apply", "-f", "-"], &theirs.to_string())
            .await?;
        let annotate = [
            "annotate",
            "configmap",
            "c",
            "-n",
            "b07",
            "other/x=1",
            "--field-manager=other",
        ];
        cluster.kubectl(&annotate).await?;
        let before = product::get(cluster, &["configmap", "c", "-n", "b07"]).await?;
        let primary = json!({
            "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile", "metadata": {"namespace": "b07", "name": "web"},
            "spec": {"told": {"children": [child(config_map("c", "2"))]}},
        });
        cluster.apply(&primary.to_string()).await?;
        let web = ["hostiles.hostile.windlass.test", "web", "-n", "b07"];
        let reason = "/status/conditions/0/reason";
        product::await_value(cluster, &web, reason, "OwnershipConflict").await?;
        let untouched = product::get(cluster, &["configmap", "c", "-n", "b07"]).await?;
        ensure!(
            untouched["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"],
            "{untouched}"
        );
        bare.change(
            "b07",
            &json!({"adoption": {"fromFieldManagers": ["kubectl-client-side-apply"]}}),
        )
        .await?;
        product::await_value(cluster, &web, reason, "Reconciled").await?;
        let taken = product::get(cluster, &["configmap", "c", "-n", "b07"]).await?;
        ensure!(taken["data"] == json!({"key": "2"}), "{taken}");
        let metadata = &taken["metadata"];
        ensure!(metadata["uid"] == before["metadata"]["uid"], "it was made again");
        ensure!(metadata["annotations"]["other/x"] == "1", "{metadata}");
        ensure!(metadata["ownerReferences"][0]["name"] == "web", "{metadata}");
        let last_applied = &metadata["annotations"]["kubectl.kubernetes.io/last-applied-configuration"];
        ensure!(*last_applied == Value::Null, "{metadata}");
        Ok(())
    });
}
