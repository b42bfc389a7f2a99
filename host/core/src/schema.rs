//! Reads from a CRD what the host may write to the status of its objects.

use crate::kind::KindInfo;
use crate::object::Object;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a kind's schema holds `status.conditions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ConditionsSchema {
    /// Not at all: failures are Events and counts on the Reconciler instead.
    Absent,
    /// As a list keyed by `type`, where several writers own entries of their own.
    Keyed,
    /// As a plain list, which is one value: read, change, write back.
    Plain,
}

/// A kind as the cluster serves it now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Served {
    /// The kind with its path.
    pub kind: KindInfo,
    /// Whether `/status` is a subresource.
    pub status_subresource: bool,
    /// How conditions are held.
    pub conditions: ConditionsSchema,
    /// Whether the schema has `status.observedGeneration`.
    pub observed_generation: bool,
}

/// How a CustomResourceDefinition serves one version of its kind; none if it does not serve it, or not yet.
///
/// A status that takes unknown fields and does not name conditions counts as having none: nothing says what an entry
/// looks like there, and whoever reads the field may mean something else by it.
pub fn served_from_crd(crd: &Object, version: &str) -> Option<Served> {
    if !is_established(crd) {
        return None;
    }
    let names = ["group", "scope"].map(|field| crd.text_at(&["spec", field]));
    let [Some(group), Some(scope)] = names else { return None };
    let kind = crd.text_at(&["spec", "names", "kind"])?;
    let plural = crd.text_at(&["spec", "names", "plural"])?;
    let versions = crd.at(&["spec", "versions"])?.as_array()?;
    let served = versions
        .iter()
        .find(|served| served["name"] == version && served["served"] == true)?;
    let status = &served["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"];
    let kind = match scope {
        "Namespaced" => KindInfo::namespaced(group, version, kind, plural),
        _ => KindInfo::cluster_scoped(group, version, kind, plural),
    };
    Some(Served {
        kind,
        status_subresource: served["subresources"]["status"].is_object(),
        conditions: conditions(&status["conditions"]),
        observed_generation: status["observedGeneration"].is_object(),
    })
}

/// How a kind that is built into the API server is served. Its status belongs to the cluster's own controllers, so
/// nothing of ours is written there.
pub fn served_builtin(kind: KindInfo, status_subresource: bool) -> Served {
    Served {
        kind,
        status_subresource,
        conditions: ConditionsSchema::Absent,
        observed_generation: false,
    }
}

fn is_established(crd: &Object) -> bool {
    let conditions = crd.at(&["status", "conditions"]).and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}

fn conditions(schema: &Value) -> ConditionsSchema {
    let is_keyed = schema["x-kubernetes-list-type"] == "map"
        && schema["x-kubernetes-list-map-keys"]
            .as_array()
            .is_some_and(|keys| keys.len() == 1 && keys[0] == "type");
    match schema["type"] == "array" {
        true if is_keyed => ConditionsSchema::Keyed,
        true => ConditionsSchema::Plain,
        false => ConditionsSchema::Absent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn crd(status_schema: &Value) -> Value {
        json!({
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": {"kind": "Nginx", "plural": "nginxes"},
                "versions": [
                    {"name": "v1", "served": true, "subresources": {"status": {}},
                     "schema": {"openAPIV3Schema": {"type": "object", "properties": {"status": status_schema}}}},
                    {"name": "v0", "served": false},
                    {"name": "v2", "served": true},
                ],
            },
            "status": {"conditions": [
                {"type": "NamesAccepted", "status": "True"}, {"type": "Established", "status": "True"},
            ]},
        })
    }

    fn served(crd: &Value, version: &str) -> Option<Served> {
        served_from_crd(&Object::from_value(crd.clone()).unwrap(), version)
    }

    #[test]
    fn conditions_are_held_as_the_schema_says() {
        let keyed = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]});
        let by_two =
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type", "x"]});
        let cases = [
            (json!({"properties": {"conditions": keyed}}), ConditionsSchema::Keyed),
            (json!({"properties": {"conditions": by_two}}), ConditionsSchema::Plain),
            (
                json!({"properties": {"conditions": {"type": "array"}}}),
                ConditionsSchema::Plain,
            ),
            (
                json!({"properties": {"conditions": {"type": "array", "x-kubernetes-list-type": "atomic"}}}),
                ConditionsSchema::Plain,
            ),
            (
                json!({"properties": {"conditions": {"type": "object"}}}),
                ConditionsSchema::Absent,
            ),
            (
                json!({"properties": {"phase": {"type": "string"}}}),
                ConditionsSchema::Absent,
            ),
            (
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
                ConditionsSchema::Absent,
            ),
            (json!(null), ConditionsSchema::Absent),
        ];
        for (schema, expected) in cases {
            assert_eq!(served(&crd(&schema), "v1").unwrap().conditions, expected, "{schema}");
        }
    }

    #[test]
    fn the_rest_is_read_from_the_version_that_was_asked_for() {
        let crd = crd(&json!({"properties": {"observedGeneration": {"type": "integer"}}}));
        let v1 = served(&crd, "v1").unwrap();
        assert_eq!(v1.kind, KindInfo::namespaced("example.com", "v1", "Nginx", "nginxes"));
        assert!(v1.status_subresource && v1.observed_generation);
        let v2 = served(&crd, "v2").unwrap();
        assert!(!v2.status_subresource && !v2.observed_generation);
    }

    #[test]
    fn a_version_or_crd_that_is_not_served_gives_nothing() {
        let good = crd(&json!(null));
        assert!(served(&good, "v0").is_none());
        assert!(served(&good, "v9").is_none());
        let mut pending = good;
        pending["status"]["conditions"][1]["status"] = json!("False");
        assert!(served(&pending, "v1").is_none());
        pending["status"] = json!(null);
        assert!(served(&pending, "v1").is_none());
        assert!(served(&json!({}), "v1").is_none());
    }

    #[test]
    fn a_cluster_scoped_kind_is_seen_as_that() {
        let mut crd = crd(&json!(null));
        crd["spec"]["scope"] = json!("Cluster");
        assert!(!served(&crd, "v1").unwrap().kind.namespaced);
    }

    #[test]
    fn nothing_of_ours_goes_into_the_status_of_builtin_kinds() {
        let served = served_builtin(KindInfo::namespaced("", "v1", "Pod", "pods"), true);
        assert_eq!(
            (served.conditions, served.observed_generation),
            (ConditionsSchema::Absent, false)
        );
    }
}
