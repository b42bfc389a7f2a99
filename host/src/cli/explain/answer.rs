//! Is what `windlass explain` answers: the same for people and for programs.

use serde::Serialize;
use serde_json::Value;
use windlass_core::key::ReconcilerId;
use windlass_core::kind::ObjectRef;

/// Why an object is as it is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    /// Which object.
    pub object: ObjectRef,
    /// Its generation: how often its spec changed.
    pub generation: Option<i64>,
    /// Whether it is being deleted.
    pub is_being_deleted: bool,
    /// What its status says, `Reconciled` and `Ready` first.
    pub conditions: Vec<Said>,
    /// The Reconcilers that are about objects of its kind, those that take care of it first.
    pub reconcilers: Vec<OfReconciler>,
    /// What cannot be told with the rights at hand, and which right is missing.
    pub cannot_tell: Vec<String>,
}

/// A condition of the object.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Said {
    /// Its type.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in a word.
    pub reason: String,
    /// Why, in a sentence.
    pub message: String,
    /// When the status changed last.
    pub since: String,
    /// Generation that it is about.
    pub observed_generation: Option<i64>,
}

/// One Reconciler, and the same decision again.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfReconciler {
    /// Which.
    pub reconciler: ReconcilerId,
    /// Whether it takes care of the object.
    pub takes_care: bool,
    /// Why it does not.
    pub why_not: Option<String>,
    /// The module that runs for it.
    pub module: Option<RunningModule>,
    /// What its own condition `Ready` says.
    pub ready: String,
    /// The same decision again.
    pub decision: Option<Decision>,
    /// What cannot be told with the rights at hand, and which right is missing.
    pub cannot_tell: Vec<String>,
    /// What was taken for granted, or is a stand-in.
    pub assumed: Vec<String>,
}

/// A module that runs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunningModule {
    /// Name that it gives itself.
    pub name: String,
    /// Version that it gives itself.
    pub version: String,
    /// sha256 of its bytes, in hex.
    pub digest: String,
}

/// A decision, before anything of it is written.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// What the module asked, and what was answered.
    pub asked: Vec<Asked>,
    /// What it said of all children, where that is not a list: that it leaves them as they are, or wants none.
    pub children_in_all: Option<String>,
    /// Each child.
    pub children: Vec<OfChild>,
    /// What else would be written: to the object itself.
    pub writes: Vec<String>,
    /// Fields of the status that it gave.
    pub status: Option<Value>,
    /// Conditions that it gave: type, status, reason and message.
    pub conditions: Vec<Said>,
    /// What it comes to, in a word, once all of that is written.
    pub reason: String,
    /// The same in a sentence.
    pub message: String,
    /// When it is decided again.
    pub next: NextTime,
}

/// One question.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// Kind and place, such as `Pod in namespace team-a`.
    pub about: String,
    /// Which objects.
    pub selection: String,
    /// `found`, `truncated`, `forbidden`, `notServed` or `unanswered`.
    pub answer: &'static str,
    /// How many objects were answered.
    pub count: Option<usize>,
    /// What is missing, where it is forbidden.
    pub missing: Option<String>,
}

/// One child.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfChild {
    /// Which object.
    pub object: ObjectRef,
    /// How it stands.
    pub state: ChildState,
    /// Fields that differ, with the value that is there and the one that is wanted.
    pub fields: Vec<String>,
    /// Why, where that needs to be said.
    pub why: Option<String>,
}

/// How a child stands to what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ChildState {
    /// Nothing is to be written.
    AsWanted,
    /// It would be created.
    Created,
    /// It would be changed.
    Changed,
    /// It would be deleted and made again.
    Recreated,
    /// The module wants it left alone this time.
    Held,
    /// It cannot be written now.
    Blocked,
    /// It would be deleted.
    Pruned,
    /// It is left as it is.
    Untouched,
    /// Cannot be told here.
    Unknown,
}

/// When an object is decided about again.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NextTime {
    /// What wakes it when it changes.
    pub on_change_of: Vec<String>,
    /// After this many seconds in any case.
    pub after_seconds: Option<u64>,
    /// Whether it is tried again with a growing delay.
    pub is_retried: bool,
}
