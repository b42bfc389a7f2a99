//! Checks natively that the guest wants exactly what it is told to.

use serde_json::{Value, json};
use windlass_hostile::Hostile;
use windlass_sdk::testing::{Harness, compact};

fn primary(spec: &Value) -> Value {
    json!({
        "apiVersion": "hostile.windlass.test/v1", "kind": "Hostile",
        "metadata": {"name": "web", "namespace": "team-a", "uid": "u"}, "spec": spec,
    })
}

fn decided(spec: &Value, settings: &Value) -> Value {
    let report = Harness::<Hostile>::new().settings(settings.clone()).run(&primary(spec));
    compact(&json!(report.decided))
}

#[test]
fn children_are_wanted_as_told_with_the_primarys_names_in_them() {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{name}-config"}});
    let told = json!({
        "children": [
            {"object": object, "mode": "createOnce", "propagation": "Orphan", "retain": true},
            {"hold": {"group": "", "version": "v1", "kind": "ConfigMap", "namespace": "{namespace}", "name": "other"}},
        ],
        "status": {"told": {"of": "{uid}"}}, "requeueAfterSeconds": 5,
    });
    let outcome = decided(&json!({"told": told}), &json!({}));
    let children = &outcome["outcome"]["children"]["exactly"];
    assert_eq!(
        children[0]["want"]["object"]["metadata"]["name"], "web-config",
        "{outcome}"
    );
    assert_eq!(
        (
            &children[0]["want"]["mode"],
            &children[0]["want"]["propagation"],
            &children[0]["want"]["retain"]
        ),
        (&json!("createOnce"), &json!("Orphan"), &json!(true))
    );
    assert_eq!(children[1]["hold"]["namespace"], "team-a", "{outcome}");
    assert_eq!(outcome["outcome"]["status"]["told"]["of"], "u");
}

#[test]
fn the_settings_tell_where_the_primary_does_not() {
    let settings = json!({"told": {"noneWanted": true}});
    assert_eq!(decided(&json!({}), &settings)["outcome"]["children"], "noneWanted");
    let own = json!({"told": {"invalid": "spec: so"}});
    assert_eq!(decided(&own, &settings)["failed"]["message"], "spec: so");
    let mistaken = decided(&json!({"told": {"child": []}}), &settings);
    assert!(mistaken.to_string().contains("unknown field `child`"), "{mistaken}");
}
