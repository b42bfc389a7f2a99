//! Turns the texts of a guest's answer into values of the core, checks them, and plans what passed.

use serde_json::{Value, json};
use windlass::guest::read_answer;
use windlass_core::canonical::IntentKey;
use windlass_core::check::{OutcomeLimits, check, rejected};
use windlass_core::decision::{Decided, Reply};
use windlass_core::key::ReconcilerId;
use windlass_core::kind::KindInfo;
use windlass_core::manifest::{ChildKind, Manifest, Primary, Projection};
use windlass_core::object::Object;
use windlass_core::plan::{Adoption, Situation, plan};
use windlass_core::write::{Actor, Identity};

/// Lines: the status, the fields of the primary, a word for conditions, Events and failures, and then the children.
pub fn outcome_conversion(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split('\n');
    let mut line = || lines.next().filter(|line| !line.is_empty());
    let (status, primary, word) = (line(), line(), line());
    let children: Vec<&str> = std::iter::from_fn(line).collect();
    let decided = match read_answer(status, primary, word.unwrap_or_default(), &children) {
        Ok(Reply::Decided(decided)) => decided,
        Ok(Reply::Ask(_)) => unreachable!("nothing was asked"),
        Err(why) => return assert!(why.starts_with('`'), "no field is named: {why}"),
    };
    let (manifest, primary) = (
        manifest(),
        object(json!({
            "apiVersion": "example.com/v1", "kind": "Thing",
            "metadata": {"namespace": "team-a", "name": "one", "uid": "u1", "generation": 1},
        })),
    );
    let findings = check(&manifest, &primary, &decided, &OutcomeLimits::default());
    match rejected(&findings) {
        Some(fault) => assert!(!fault.message.contains('\n'), "a line that could be forged: {fault:?}"),
        None => planned(&manifest, &primary, &decided),
    }
}

/// What passed the check is planned: the same twice, and only where it may be.
fn planned(manifest: &Manifest, primary: &Object, decided: &Decided) {
    let actor = Actor {
        reconciler: ReconcilerId::new("windlass-system", "fuzzed"),
        identity: Identity::Host,
    };
    let contested = std::collections::BTreeMap::new();
    let situation = Situation {
        contested: &contested,
        actor: &actor,
        manifest,
        primary,
        children: &[],
        in_the_way: &[],
        immutable: &[],
        adoption: Adoption::default(),
        intent_key: &IntentKey::derive(b"key"),
    };
    let first = plan(&situation, decided);
    assert_eq!(first, plan(&situation, decided));
    for write in first.children {
        assert_eq!(write.target.namespace.as_deref(), Some("team-a"), "{:?}", write.target);
    }
}

fn manifest() -> Manifest {
    let child = |kind, plural| ChildKind {
        kind: KindInfo::namespaced("", "v1", kind, plural),
        projection: Projection::Metadata,
        optional: false,
    };
    Manifest {
        name: "fuzzed".into(),
        version: "1".into(),
        primary: Primary {
            kind: KindInfo::namespaced("example.com", "v1", "Thing", "things"),
            projection: Projection::Full,
            selector: String::new(),
        },
        children: vec![child("ConfigMap", "configmaps"), child("Secret", "secrets")],
        reads: Vec::new(),
        writes_status: true,
        writes_primary: vec![".metadata.annotations".into(), ".spec.suspend".into()],
        finalizes: false,
        needs_clock: false,
        needs_seed: false,
    }
}

fn object(value: Value) -> Object {
    Object::from_value(value).expect("a map")
}
