//! Compares plans and reports with files: a new case is a new folder in `tests/cases`, and `BLESS=1` writes what comes out.
//!
//! `situation.json` is laid over `tests/defaults.json` (as a merge patch). Besides the parts of a situation it may hold
//! `earlier`, a decision that was carried out before, `edits`, merge patches by `Kind name` of what that made, and
//! `failed`, errors of this plan's writes by `Kind namespace/name`.

use crate::world::World;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;
use windlass_core::canonical::IntentKey;
use windlass_core::contest::Contested;
use windlass_core::decision::Decided;
use windlass_core::key::ReconcilerId;
use windlass_core::kind::ObjectRef;
use windlass_core::manifest::Manifest;
use windlass_core::object::Object;
use windlass_core::plan::{Adoption, Plan, Situation, plan};
use windlass_core::policy::Policy;
use windlass_core::report::{Ended, Report, report};
use windlass_core::schema::Served;
use windlass_core::write::{Actor, Applied, WriteError};

/// All that a plan and a report depend on, owned.
pub(crate) struct Case {
    pub(crate) actor: Actor,
    pub(crate) manifest: Manifest,
    pub(crate) policy: Policy,
    pub(crate) served: Served,
    pub(crate) primary: Object,
    pub(crate) children: Vec<Object>,
    pub(crate) in_the_way: Vec<Object>,
    pub(crate) immutable: Vec<ObjectRef>,
    pub(crate) contested: BTreeMap<String, Contested>,
    pub(crate) predecessors: Vec<ReconcilerId>,
    pub(crate) now: String,
    failed: Map<String, Value>,
}

impl Case {
    /// The defaults with a situation laid over them.
    pub(crate) fn new(situation: &Value) -> Self {
        let mut all = read(&root().join("defaults.json"));
        merge_patch(&mut all, situation);
        let mut case = Self {
            actor: part(&all, "actor"),
            manifest: part(&all, "manifest"),
            policy: part(&all, "policy"),
            served: part(&all, "served"),
            primary: part(&all, "primary"),
            children: part(&all, "children"),
            in_the_way: part(&all, "inTheWay"),
            immutable: part(&all, "immutable"),
            contested: part(&all, "contested"),
            predecessors: part(&all, "predecessors"),
            now: part(&all, "now"),
            failed: part(&all, "failed"),
        };
        if let Some(earlier) = all.get("earlier") {
            // Not from `all`: laying it over has taken the nulls out, which say what an edit removes.
            case.carry_out_earlier(earlier, &situation["edits"]);
        }
        case
    }

    pub(crate) fn plan(&self, decided: &Decided) -> Plan {
        let situation = Situation {
            actor: &self.actor,
            manifest: &self.manifest,
            primary: &self.primary,
            children: &self.children,
            in_the_way: &self.in_the_way,
            immutable: &self.immutable,
            contested: &self.contested,
            adoption: Adoption {
                from_field_managers: &self.policy.adopts_from,
                predecessors: &self.predecessors,
            },
            intent_key: &IntentKey::derive(b"the host's key"),
        };
        plan(&situation, decided)
    }

    /// The report after the plan was carried out, but for what `failed` names.
    pub(crate) fn report(&self, decided: &Decided, plan: &Plan) -> Report {
        let applied: Vec<Applied> = plan.writes().map(|write| self.applied(write.target.clone())).collect();
        let ended = Ended {
            actor: &self.actor,
            manifest: &self.manifest,
            policy: &self.policy,
            served: &self.served,
            primary: &self.primary,
            decided,
            blocked: &plan.blocked,
            applied: &applied,
            now: &self.now,
        };
        report(&ended)
    }

    fn applied(&self, target: windlass_core::write::Target) -> Applied {
        let error = self.failed.get(&target.reference().to_string());
        let error = error.map(|error| serde_json::from_value::<WriteError>(error.clone()).unwrap());
        Applied { target, error }
    }

    fn carry_out_earlier(&mut self, earlier: &Value, edits: &Value) {
        let decided: Decided = serde_json::from_value(earlier.clone()).unwrap();
        let mut living = self.primary.clone();
        living.metadata_mut().remove("deletionTimestamp");
        let deleted = std::mem::replace(&mut self.primary, living);
        let plan = self.plan(&decided);
        self.primary = deleted;
        let mut world = World::with(Vec::new());
        plan.children.iter().for_each(|write| assert!(world.carry_out(write)));
        for mut object in world.objects {
            let name = format!("{} {}", object.kind().kind, object.name());
            if let Some(edit) = edits.get(&name) {
                let mut value = object.into_value();
                merge_patch(&mut value, edit);
                object = Object::from_value(value).unwrap();
            }
            self.children.push(object);
        }
    }
}

#[test]
fn every_case_comes_out_as_written() {
    let mut cases: Vec<_> = std::fs::read_dir(root().join("cases"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    let wrong: Vec<String> = cases.iter().flat_map(|case| check(case)).collect();
    assert!(
        wrong.is_empty(),
        "{}\n\nBLESS=1 writes what comes out",
        wrong.join("\n\n")
    );
}

fn check(case: &Path) -> Vec<String> {
    let decided: Decided = serde_json::from_value(read(&case.join("decided.json"))).unwrap();
    let given = Case::new(&read(&case.join("situation.json")));
    let plan = given.plan(&decided);
    let report = given.report(&decided, &plan);
    let plan = serde_json::to_value(&plan).unwrap();
    let report = serde_json::to_value(&report).unwrap();
    [("plan.json", plan), ("report.json", report)]
        .into_iter()
        .filter_map(|(name, value)| compare(case, name, &value))
        .collect()
}

fn compare(case: &Path, name: &str, value: &Value) -> Option<String> {
    let path = case.join(name);
    let text = serde_json::to_string_pretty(value).unwrap() + "\n";
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
        return None;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    // Compared as values: the order of keys in the text depends on which features serde_json was built with.
    let same = serde_json::from_str::<Value>(&expected).is_ok_and(|expected| &expected == value);
    (!same).then(|| format!("{} differs:\n{text}", path.display()))
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn read(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn part<T: serde::de::DeserializeOwned>(all: &Value, name: &str) -> T {
    serde_json::from_value(all[name].clone()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn merge_patch(value: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        return *value = patch.clone();
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let map = value.as_object_mut().unwrap();
    for (key, patch) in patch {
        match patch {
            Value::Null => drop(map.remove(key)),
            patch => merge_patch(map.entry(key.as_str()).or_insert(Value::Null), patch),
        }
    }
}
