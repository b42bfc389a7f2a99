//! Tries taking over on objects of many owners: only what is allowed is touched, and nothing by force.

use crate::fields::fields_of;
use crate::golden::Case;
use crate::world::World;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use windlass_core::decision::Decided;
use windlass_core::managed_fields::{hand_over, owned_by_others};
use windlass_core::object::Object;
use windlass_core::write::Request;

const OURS: &str = "windlass:team-a:nginx";

/// Parts that somebody may own; the guest wants those whose names are in [`WANTED`].
const PARTS: [&str; 5] = ["image", "replicas", "app", "tier", "note"];
const WANTED: [&str; 3] = ["image", "replicas", "app"];

/// A Deployment of these parts alone.
fn with(parts: &[&str], number: u8) -> Object {
    let mut value =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "team-a"}});
    for part in parts {
        match *part {
            "replicas" => value["spec"]["replicas"] = json!(number),
            "image" => {
                let image = format!("image:{number}");
                value["spec"]["template"]["spec"]["containers"] = json!([{"name": "main", "image": image}]);
            }
            "note" => value["metadata"]["annotations"]["note"] = json!("x"),
            label => value["metadata"]["labels"][label] = json!(number.to_string()),
        }
    }
    Object::from_value(value).unwrap()
}

/// Who owns which parts: each part one manager, as updater or applier.
fn owners() -> impl Strategy<Value = Vec<(&'static str, &'static str, &'static str)>> {
    let owner = (
        select(vec!["helm", "kubectl", "other"]),
        select(vec!["Update", "Apply"]),
    );
    proptest::collection::vec(owner, PARTS.len()).prop_map(|owners| {
        let each = PARTS.into_iter().zip(owners);
        each.map(|(part, (manager, operation))| (part, manager, operation))
            .collect()
    })
}

fn there(owners: &[(&str, &str, &str)], controller: Option<&str>) -> Object {
    let mut object = with(&PARTS, 9);
    let kinds: BTreeSet<(&str, &str)> = owners
        .iter()
        .map(|(_, manager, operation)| (*manager, *operation))
        .collect();
    let entries = kinds.into_iter().map(|(manager, operation)| {
        let parts = owners.iter().filter(|owner| (owner.1, owner.2) == (manager, operation));
        let parts: Vec<&str> = parts.map(|owner| owner.0).collect();
        json!({
            "manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "fieldsV1": fields_of(&with(&parts, 9), operation),
        })
    });
    let entries: Vec<Value> = entries.collect();
    let metadata = object.metadata_mut();
    metadata.insert("uid".into(), json!("uid-there"));
    metadata.insert("resourceVersion".into(), json!("9"));
    metadata.insert("managedFields".into(), json!(entries));
    if let Some(uid) = controller {
        let owner = json!({"apiVersion": "v1", "kind": "Some", "name": "some", "uid": uid, "controller": true});
        metadata.insert("ownerReferences".into(), json!([owner]));
    }
    object
}

fn wanted() -> Decided {
    let child = json!({"want": {
        "object": with(&WANTED, 1).into_value(), "mode": "apply", "propagation": "Background", "retain": false,
    }});
    let outcome = json!({"outcome": {
        "children": {"exactly": [child]}, "primary": null, "status": null, "conditions": [], "events": [],
        "requeueAfter": null,
    }});
    serde_json::from_value(outcome).unwrap()
}

proptest! {
    #[test]
    fn only_what_is_the_listed_managers_alone_is_taken_over_and_nothing_by_force(
        owners in owners(),
        listed in subsequence(vec!["helm", "kubectl", "nobody"], 0..=3),
        controller in select(vec![None, Some("uid-other")]),
    ) {
        let mut case = Case::new(&json!({"policy": {"adoptsFrom": listed}}));
        case.in_the_way = vec![there(&owners, controller)];
        let plan = case.plan(&wanted());
        let is_listed = |owner: &&(&str, &str, &str)| listed.contains(&owner.1);
        let is_wanted = |owner: &&(&str, &str, &str)| WANTED.contains(&owner.0);
        let may = controller.is_none()
            && owners.iter().any(|owner| is_listed(&owner))
            && owners.iter().filter(is_wanted).all(|owner| is_listed(&owner));
        prop_assert_eq!(plan.writes().count() > 0, may, "{:?}", plan);
        prop_assert_eq!(plan.blocked.is_empty(), may);
        for write in plan.writes() {
            match &write.request {
                Request::JsonPatch(_) => {}
                Request::Apply { object, force } => prop_assert!(!force && object.uid() == "uid-there"),
                other => prop_assert!(false, "{other:?}"),
            }
        }
        if may {
            let mut world = World::with(case.in_the_way.clone());
            plan.writes().for_each(|write| assert!(world.carry_out(write), "{write:#?}"));
            let taken = &world.objects[0];
            for (part, manager, _) in &owners {
                let path: &[&str] = match *part {
                    "tier" => &["metadata", "labels", "tier"],
                    "note" => &["metadata", "annotations", "note"],
                    _ => continue,
                };
                prop_assert_eq!(taken.at(path).is_some(), !listed.contains(manager), "{} of {}", part, manager);
            }
            case.in_the_way.clear();
            case.children = vec![taken.clone()];
            prop_assert!(case.plan(&wanted()).is_empty(), "{:#?}", case.plan(&wanted()));
        }
    }

    #[test]
    fn what_is_handed_over_is_all_theirs_and_nobody_elses(owners in owners(), listed in subsequence(vec!["helm", "kubectl"], 0..=2)) {
        let object = there(&owners, None);
        let patch = hand_over(&object, &listed, OURS).unwrap();
        prop_assert_eq!(patch.is_some(), owners.iter().any(|owner| listed.contains(&owner.1)));
        let Some(patch) = patch else { return Ok(()) };
        let mut after = object;
        after.metadata_mut().insert("managedFields".into(), patch[2]["value"].clone());
        for (part, manager, _) in &owners {
            let others = owned_by_others(&with(&[part], 9), &after, &[OURS]);
            prop_assert_eq!(others.contains_key(*manager), !listed.contains(manager), "{} of {}", part, manager);
        }
        prop_assert_eq!(hand_over(&after, &listed, OURS), Ok(None));
    }
}
