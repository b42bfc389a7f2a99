//! Approves rights that are new.

use super::*;
use windlass_artifacts::HOSTILE;

#[test]
fn rights_that_are_new_are_shown_and_approved_and_the_module_gets_in() {
    play(async || {
        let desk = with_host().await;
        let name = "grows";
        desk.namespace(name).await?;
        let (few, more) = ("describe: ''\n", "describe: more-rights\n");
        std::fs::write(desk.files.join("few.yaml"), few)?;
        std::fs::write(desk.files.join("more.yaml"), more)?;
        product::grant(&desk.cluster, Path::new(PROGRAM), name, Path::new(HOSTILE), more).await?;
        let push = format!("push {HOSTILE} --name {name} --for-namespace {name}");
        desk.done(&format!("{push} --settings few.yaml")).await?;
        let nothing = desk.refused(&format!("approve rights {name}")).await?;
        ensure!(nothing.contains("nothing waits for an approval of rights"), "{nothing}");

        let grow = format!("{push} --settings more.yaml");
        let (pushed, approved) = tokio::join!(desk.done(&grow), async {
            windlass_testing::eventually(DEADLINE, "it is held", async || {
                let object = desk.there(&format!("reconciler {name} -n {NAMESPACE}")).await?;
                ensure!(
                    object["status"]["refused"]["reason"] == "RightsGrow",
                    "{}",
                    object["status"]
                );
                Ok(())
            })
            .await?;
            desk.run(&format!("approve rights {name}")).await
        });
        let approved = approved?;
        let said = err(&approved);
        ensure!(approved.status.success() && said.contains("secrets"), "{said}");
        ensure!(said.contains("needs more than was approved"), "{said}");
        ensure!(String::from_utf8_lossy(&approved.stdout).contains("of Reconciler windlass-system/grows are approved"));
        ensure!(pushed?.contains("runs for Reconciler windlass-system/grows"));
        Ok(())
    });
}
