//! Records ownership of whatever lists and maps a kind has as Kubernetes 1.37.2 did: the records are those of the core.

use super::*;
use std::path::Path;

const OURS: &str = "windlass:team-a:nginx";

/// Of these the poster also owns what only a real server fills in. After the apply that is nobody's here, and the rest the same.
const FILLED_IN: [&str; 9] = [
    "cronjobs",
    "daemonsets-with-lists",
    "deployments",
    "horizontalpodautoscalers",
    "networkpolicies",
    "persistentvolumeclaims",
    "poddisruptionbudgets",
    "services-with-ports",
    "statefulsets",
];

fn read(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("a readable record");
    serde_saphyr::from_str(&text).expect("JSON or YAML")
}

/// Every path of a field tree that is missing in another.
fn missing(of: &Value, from: &Value, path: &str, found: &mut Vec<String>) {
    for (key, below) in of.as_object().into_iter().flatten() {
        let here = format!("{path}/{key}");
        match from.get(key) {
            None => found.push(here),
            Some(there) => missing(below, there, &here, found),
        }
    }
}

#[tokio::test]
async fn a_post_and_an_apply_are_owned_as_on_the_api_server_whatever_the_lists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut compared = 0;
    let mut wrong = Vec::new();
    for file in std::fs::read_dir(root.join("core/tests/records")).expect("the records") {
        let path = file.expect("a file").path();
        let name = path
            .file_stem()
            .and_then(|name| name.to_str())
            .expect("a name")
            .to_owned();
        let record = read(&path);
        let cluster = cluster();
        let things = object(read(&root.join("tests/kinds/things.yaml")));
        cluster.create(&things).expect("the CRD is taken");
        // Whose owner is not there is collected.
        let mut owner = config_map("own", json!({}));
        owner
            .metadata_mut()
            .insert("uid".into(), json!("11111111-1111-1111-1111-111111111111"));
        cluster.load(vec![owner]).expect("the owner is there");
        let intent = object(record["intent"].clone());
        let plural = match name.split('-').next().unwrap_or_default() {
            "custom" => "things",
            plural => plural,
        };
        let of = intent.kind();
        let kind = KindInfo::namespaced(&of.group, &of.version, &of.kind, plural);
        let send_it = async |request| send(&cluster, write(&kind, intent.name(), OURS, request)).await;
        let posted = send_it(Request::Create(intent.clone()))
            .await
            .expect("created")
            .expect("there");
        let mut compare = |what: &str, object: &Object| {
            let ours = &object.0["metadata"]["managedFields"][0]["fieldsV1"];
            let recorded = &record[what][0]["fieldsV1"];
            let mut paths = Vec::new();
            if what == "applied" || !FILLED_IN.contains(&name.as_str()) {
                missing(ours, recorded, "", &mut paths);
                missing(recorded, ours, "", &mut paths);
            }
            wrong.extend(paths.into_iter().map(|path| format!("{name} {what}: {path}")));
            compared += 1;
        };
        compare("posted", &posted);
        let take_over = json!({"op": "replace", "path": "/metadata/managedFields/0/operation", "value": "Apply"});
        send_it(Request::JsonPatch(vec![take_over])).await.expect("taken over");
        let apply = Request::Apply {
            object: intent.clone(),
            force: true,
        };
        let applied = send_it(apply).await.expect("applied").expect("there");
        compare("applied", &applied);
    }
    assert_eq!(wrong, [""; 0]);
    assert!(compared > 30, "{compared}");
}
