//! Reads test cases from data files, so that the same ones run natively and as wasm.
//!
//! A case is one JSON file. Only `why`, `primary` and `expect` are required:
//!
//! ```json
//! {
//!   "why": "a sentence: what this shows",
//!   "settings": {},
//!   "primary": {"apiVersion": "..", "kind": "..", "metadata": {}, "spec": {}},
//!   "children": ["what the guest owns already, as objects"],
//!   "world": ["all other objects of the cluster; queries are answered from these"],
//!   "notServed": [{"group": "", "version": "v1", "kind": "Pod"}],
//!   "forbidden": [{"of": {"group": "", "version": "v1", "kind": "Pod"}, "rule": "text of the answer"}],
//!   "expect": {
//!     "rounds": 2,
//!     "decided": {"outcome": {"children": "noneWanted", "status": {}}}
//!   }
//! }
//! ```
//!
//! `decided` is one of `{"outcome": ..}`, `{"failed": {"kind": "invalid" or "waiting", "message": ..}}`,
//! `{"proceed": ..}`, `"done"` and `{"describeError": ..}`. It is compared without nulls and empty lists
//! ([`compact`]). `children` of an outcome is `"unchanged"`, `"noneWanted"`, or `{"exactly": [..]}` with
//! `{"want": {"object": .., "mode": "apply", "propagation": "Background", "retain": false}}` in it. A primary
//! with a `deletionTimestamp` is finalized, if the guest does that.
//!
//! With `BLESS=1` in the environment [`Case::check_folder`] writes `expect` instead of comparing it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Harness, Report};
use crate::manifest::KindRef;
use crate::reconciler::Reconciler;

/// One case: what there is, and what the guest must make of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    /// The file, for messages.
    #[serde(skip)]
    pub path: PathBuf,
    /// What it shows.
    pub why: String,
    /// `spec.settings` of the `Reconciler`; null if it has none.
    #[serde(default)]
    pub settings: Value,
    /// The object to decide about.
    pub primary: Value,
    /// What the guest owns already.
    #[serde(default)]
    pub children: Vec<Value>,
    /// All other objects of the cluster.
    #[serde(default)]
    pub world: Vec<Value>,
    /// Kinds that the cluster does not serve.
    #[serde(default)]
    pub not_served: Vec<KindRef>,
    /// Kinds that may not be read.
    #[serde(default)]
    pub forbidden: Vec<Forbidden>,
    /// What must come of it.
    #[serde(default)]
    pub expect: Expectation,
}

/// A kind that may not be read.
#[derive(Debug, Clone, Deserialize)]
pub struct Forbidden {
    /// The kind.
    pub of: KindRef,
    /// The text of the answer.
    pub rule: String,
}

/// What must come of a case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// How often the guest is called.
    pub rounds: usize,
    /// What it comes to.
    pub decided: Value,
}

impl Case {
    /// All cases of a folder, ordered by file name.
    ///
    /// # Panics
    /// When the folder is empty or a file is not a case.
    pub fn load_folder(folder: impl AsRef<Path>) -> Vec<Case> {
        let folder = folder.as_ref();
        let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        assert!(!paths.is_empty(), "{} holds no case", folder.display());
        paths.into_iter().map(Case::load).collect()
    }

    /// Runs all cases of a folder natively.
    ///
    /// # Panics
    /// When one of them does not come out as expected.
    pub fn check_folder<R: Reconciler>(folder: impl AsRef<Path>) {
        for case in Case::load_folder(folder) {
            let actual = Expectation::of(&case.run::<R>());
            if std::env::var_os("BLESS").is_some() {
                case.bless(&actual);
            } else {
                assert_eq!(
                    compact(&case.expect.decided),
                    actual.decided,
                    "{}: {}",
                    case.path.display(),
                    case.why
                );
                assert_eq!(
                    case.expect.rounds,
                    actual.rounds,
                    "{}: {}",
                    case.path.display(),
                    case.why
                );
            }
        }
    }

    /// Runs the case natively.
    pub fn run<R: Reconciler>(&self) -> Report {
        let harness = Harness::<R>::new()
            .settings(self.settings.clone())
            .children(self.children.clone())
            .world(self.world.clone());
        let harness = self.not_served.iter().cloned().fold(harness, Harness::not_served);
        let forbidden = self.forbidden.iter().cloned();
        forbidden
            .fold(harness, |harness, Forbidden { of, rule }| harness.forbidden(of, rule))
            .run(&self.primary)
    }

    fn load(path: PathBuf) -> Case {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let case = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Case { path, ..case }
    }

    fn bless(&self, actual: &Expectation) {
        let text = std::fs::read_to_string(&self.path).expect("it was read before");
        let mut whole: Value = serde_json::from_str(&text).expect("it was decoded before");
        whole["expect"] = json!(actual);
        let pretty = serde_json::to_string_pretty(&whole).expect("a tree has a text");
        std::fs::write(&self.path, pretty + "\n").unwrap_or_else(|error| panic!("{}: {error}", self.path.display()));
    }
}

impl Expectation {
    fn of(report: &Report) -> Self {
        Expectation {
            rounds: report.rounds,
            decided: compact(&json!(report.decided)),
        }
    }
}

/// The value without nulls and empty lists, which say the same as nothing.
pub fn compact(value: &Value) -> Value {
    let says_something = |value: &Value| !value.is_null() && value.as_array().is_none_or(|items| !items.is_empty());
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, field)| says_something(field));
            fields.map(|(key, field)| (key.clone(), compact(field))).collect()
        }
        Value::Array(items) => items.iter().map(compact).collect(),
        other => other.clone(),
    }
}
