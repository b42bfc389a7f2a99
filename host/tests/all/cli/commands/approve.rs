//! Approves rights that are new, and deletions that are held.

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

/// More than one status lists, so that the command has to come back for the rest.
const FLEET: usize = 55;

#[test]
fn n_01_deletions_that_are_held_are_shown_and_approved_however_many_there_are() {
    play(async || {
        let desk = with_host().await;
        let name = "prunes";
        desk.namespace(name).await?;
        std::fs::write(desk.files.join("good.yaml"), "behaviour: good\n")?;
        std::fs::write(desk.files.join("none.yaml"), "behaviour: none\n")?;
        desk.grant(name, HOSTILE).await?;
        let push = format!("push {HOSTILE} --name {name} --for-namespace {name}");
        desk.done(&format!("{push} --settings good.yaml")).await?;
        let reconciler = format!("reconciler {name} -n {NAMESPACE}");
        let guard = json!({"spec": {"pruneGuard": {"percent": 0, "minimum": 0}}}).to_string();
        let patch = [
            "patch",
            "reconciler",
            name,
            "-n",
            NAMESPACE,
            "--type=merge",
            "-p",
            &guard,
        ];
        desk.cluster.kubectl(&patch).await?;
        let primary = |number: usize| {
            json!({
                "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
                "metadata": {"namespace": name, "name": format!("p{number:02}")}, "spec": {},
            })
        };
        let all = json!({"apiVersion": "v1", "kind": "List", "items": (0..FLEET).map(primary).collect::<Vec<_>>()});
        desk.cluster.apply(&all.to_string()).await?;
        let is = async |what: &str, pointer: &str, wanted: Value| {
            windlass_testing::eventually(DEADLINE, what, async || {
                let object = desk.there(&reconciler).await?;
                let found = object.pointer(pointer).cloned().unwrap_or_default();
                ensure!(found == wanted, "{}", object["status"]);
                Ok(object)
            })
            .await
        };
        is("all are ready", "/status/primaries/ready", json!(FLEET)).await?;
        let nothing = desk.refused(&format!("approve prune {name} --yes")).await?;
        ensure!(nothing.contains("no deletion waits for an approval"), "{nothing}");

        desk.done(&format!("{push} --settings none.yaml")).await?;
        let held = is("all is held", "/status/pruneHeld/primaries", json!(FLEET)).await?;
        ensure!(held["status"]["pruneHeld"]["plans"].as_array().map(Vec::len) == Some(50));
        let described = desk
            .cluster
            .kubectl(&["describe", "hostile", "-n", name, "p07"])
            .await?;
        ensure!(
            described.contains("ConfigMap prunes/p07 would be deleted and is kept")
                && described.contains("windlass approve prune prunes -n windlass-system"),
            "{described}"
        );
        let unasked = desk.refused(&format!("approve prune {name}")).await?;
        ensure!(
            unasked.contains("55 children of 55 primaries are kept") && unasked.contains("no terminal"),
            "{unasked}"
        );
        let one = desk
            .done(&format!("approve prune {name} --primary {name}/p07 --yes"))
            .await?;
        ensure!(one.contains("1 deletions of 1 Hostile are approved"), "{one}");
        is("one is held less", "/status/pruneHeld/primaries", json!(FLEET - 1)).await?;
        let rest = desk.done(&format!("approve prune {name} --yes -o json")).await?;
        let rest: Value = serde_json::from_str(&rest)?;
        ensure!(rest["children"] == FLEET - 1, "{rest}");
        is("nothing is held", "/status/pruneHeld", Value::Null).await?;
        windlass_testing::eventually(DEADLINE, "the children are gone", async || {
            let left = desk
                .get(&format!("configmaps -n {name} -l windlass.dev/reconciler={name}"))
                .await?;
            let left = left.map(|left| left["items"].clone()).unwrap_or_default();
            ensure!(left.as_array().is_none_or(Vec::is_empty), "{left} are left");
            Ok(())
        })
        .await
    });
}
