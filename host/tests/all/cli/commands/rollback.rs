//! Goes back to a module that ran before, and follows the source again.

use super::*;
use windlass_artifacts::{NGINX, NGINX_NEXT};
use windlass_testing::eventually;

fn digest(module: &str) -> String {
    windlass::guest::digest(&windlass_artifacts::bytes(module)).unwrap()
}

async fn runs(desk: &Desk, name: &str, module: &str) -> Result<()> {
    eventually(DEADLINE, "the module runs", async || {
        let object = desk.there(&format!("reconciler {name} -n {NAMESPACE}")).await?;
        let status = &object["status"];
        ensure!(status["active"]["digest"] == digest(module), "{status}");
        Ok(())
    })
    .await
}

#[test]
fn a_module_that_ran_before_runs_again_until_the_source_is_followed() {
    play(async || {
        let desk = with_host().await;
        let name = "rolled";
        desk.namespace(name).await?;
        desk.grant(name, NGINX).await?;
        desk.done(&format!("push {NGINX} --name {name} --for-namespace {name}"))
            .await?;
        let nothing = desk.refused(&format!("rollback {name}")).await?;
        ensure!(
            nothing.contains("Reconciler windlass-system/rolled: there is nothing to go back to"),
            "{nothing}"
        );
        // It is kept when the next one has come.
        eventually(DEADLINE, "the first one is kept", async || {
            let kept = format!(
                "configmap {} -n {NAMESPACE}",
                windlass_core::names::kept_module(&digest(NGINX), 0)
            );
            desk.there(&kept).await
        })
        .await?;
        desk.done(&format!("push {NGINX_NEXT} --name {name}")).await?;

        let output = desk.run(&format!("rollback {name}")).await?;
        ensure!(output.status.success(), "{}", err(&output));
        ensure!(
            err(&output).contains("what its source holds is not taken up (SourceMismatch) until"),
            "{}",
            err(&output)
        );
        ensure!(
            String::from_utf8_lossy(&output.stdout).starts_with("nginx 0.1.0 ("),
            "{output:?}"
        );
        runs(desk, name, NGINX).await?;
        let unknown = desk.refused(&format!("rollback {name} --to 0000")).await?;
        ensure!(
            unknown.contains("none that ran before begins with \"0000\"; there are nginx "),
            "{unknown}"
        );

        let said = desk.done(&format!("rollback {name} --follow-source")).await?;
        ensure!(said.contains("is no longer pinned"), "{said}");
        runs(desk, name, NGINX_NEXT).await?;
        let said = desk.done(&format!("rollback {name} --follow-source")).await?;
        ensure!(said.contains("is not pinned"), "{said}");

        let to = &digest(NGINX)[..8];
        let said = desk.done(&format!("rollback {name} --to {to} -o json")).await?;
        let said: Value = serde_json::from_str(&said)?;
        ensure!(said["runs"] == true && said["digest"] == digest(NGINX), "{said}");
        let output = desk.run(&format!("push {NGINX_NEXT} --name {name}")).await?;
        ensure!(
            output.status.success() && err(&output).contains("is removed"),
            "{}",
            err(&output)
        );
        runs(desk, name, NGINX_NEXT).await?;
        Ok(())
    });
}

#[test]
fn a_reconciler_that_is_not_there_is_named() {
    play(async || {
        let desk = without_host().await;
        for line in ["rollback nobody", "approve rights nobody"] {
            let said = desk.refused(line).await?;
            ensure!(said.contains("there is no Reconciler windlass-system/nobody"), "{said}");
        }
        Ok(())
    });
}
