//! Decides exactly what it is told to, so that a test can say in one place what a guest wants.
//!
//! `spec.told` of the primary says it, else `settings.told`. In all texts `{name}`, `{namespace}` and `{uid}` stand for those of
//! the primary, and `{found}` for how many objects were found.
//!
//! ```yaml
//! told:
//!   children:              # left out: unchanged
//!     - object: {apiVersion: v1, kind: ConfigMap, metadata: {name: "{name}"}}
//!       mode: apply        # or applyOrRecreate, createOnce
//!       propagation: Background
//!       retain: false
//!     - hold: {group: "", version: v1, kind: ConfigMap, name: other}
//!   noneWanted: false
//!   primary: {metadata: {labels: {a: b}}}
//!   status: {told: {any: thing}}
//!   conditions: [{type: Healthy, status: "True", reason: Fine, message: So it is.}]
//!   events: [{reason: Told, note: So it is., warning: false}]
//!   requeueAfterSeconds: 5
//!   ask: [{group: "", version: v1, kind: ConfigMap, name: one}]   # or labels: a selector
//!   judges: false        # whether Ready is False where a Deployment of its says ReplicaFailure
//!   waiting: for this      # instead of all that
//!   invalid: because of this
//! ```

use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use windlass_sdk::{
    Answer, Child, Condition, ConditionStatus, Context, Event, Kind, KindRef, Manifest, Outcome, Projection,
    Propagation, Query, Read, Scope, Stop,
};

use crate::{Primary, Settings};

/// What a guest wants.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Told {
    children: Option<Vec<ToldChild>>,
    none_wanted: bool,
    primary: Option<Value>,
    status: Option<Value>,
    conditions: Vec<ToldCondition>,
    events: Vec<ToldEvent>,
    requeue_after_seconds: Option<u64>,
    ask: Vec<ToldQuery>,
    judges: bool,
    waiting: String,
    invalid: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ToldChild {
    object: Value,
    mode: String,
    propagation: String,
    retain: bool,
    hold: Option<ToldReference>,
}

#[derive(Debug, Deserialize)]
struct ToldReference {
    #[serde(flatten)]
    of: KindRef,
    namespace: Option<String>,
    name: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToldCondition {
    r#type: String,
    status: String,
    reason: String,
    message: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToldEvent {
    reason: String,
    note: String,
    #[serde(default)]
    warning: bool,
}

#[derive(Debug, Deserialize)]
struct ToldQuery {
    #[serde(flatten)]
    of: KindRef,
    #[serde(default)]
    name: String,
    #[serde(default)]
    labels: String,
}

/// The kinds of a guest that is told what it is about; what is left out is as in the honest description.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct ToldManifest {
    primary: Option<ToldKind>,
    children: Vec<ToldKind>,
    reads: Vec<ToldKind>,
    writes_primary: Vec<String>,
    no_status: bool,
    finalizes: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToldKind {
    #[serde(flatten)]
    of: KindRef,
    plural: String,
    #[serde(default)]
    cluster_scoped: bool,
    /// Whether no more than its metadata is shown.
    #[serde(default)]
    metadata: bool,
}

impl ToldKind {
    fn kind(&self) -> Kind {
        Kind {
            of: self.of.clone(),
            plural: self.plural.clone().into(),
            scope: if self.cluster_scoped {
                Scope::Cluster
            } else {
                Scope::Namespaced
            },
        }
    }

    fn projection(&self) -> Projection {
        if self.metadata {
            Projection::Metadata
        } else {
            Projection::Full
        }
    }
}

/// The manifest that the settings tell.
pub(crate) fn manifest(told: &ToldManifest, usual: Kind) -> Manifest {
    let primary = told.primary.as_ref().map_or(usual, ToldKind::kind);
    let manifest = Manifest::new("told", env!("CARGO_PKG_VERSION"), primary).writes_primary(told.writes_primary.iter());
    let with_children = told.children.iter().fold(manifest, |manifest, child| {
        manifest.child(child.kind(), child.projection())
    });
    let manifest = told.reads.iter().fold(with_children, |manifest, read| {
        manifest.read(Read::new(read.kind(), read.projection()))
    });
    let manifest = if told.finalizes { manifest.finalizes() } else { manifest };
    if told.no_status {
        manifest
    } else {
        manifest.writes_status()
    }
}

/// What `spec.told`, or else `settings.told`, says.
pub(crate) fn decide(context: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let told = [&primary.spec.told, &context.settings.told];
    let told = told.into_iter().find(|told| !told.is_null());
    outcome(context, primary, told.unwrap_or(&Value::Null))
}

/// What `spec.farewell` says; none if it says nothing.
pub(crate) fn farewell(context: &Context<Settings>, primary: &Primary) -> Result<Option<Outcome>, Stop> {
    if primary.spec.farewell.is_null() {
        return Ok(None);
    }
    outcome(context, primary, &primary.spec.farewell).map(Some)
}

fn outcome(context: &Context<Settings>, primary: &Primary, told: &Value) -> Result<Outcome, Stop> {
    let metadata = &primary.metadata;
    let mut names = vec![
        ("{name}", metadata.name.clone()),
        ("{namespace}", metadata.namespace.clone()),
        ("{uid}", metadata.uid.clone()),
    ];
    let questions: Told = parsed(filled(told, &names))?;
    let found = found(context, primary, &questions.ask)?;
    names.push(("{found}", found.to_string()));
    let told: Told = parsed(filled(told, &names))?;
    if !told.waiting.is_empty() {
        return Err(Stop::waiting(told.waiting));
    }
    if !told.invalid.is_empty() {
        return Err(Stop::invalid(told.invalid));
    }
    let mut outcome = match (told.children, told.none_wanted) {
        (_, true) => Outcome::none_wanted(),
        (None, false) => Outcome::unchanged(),
        (Some(children), false) => Outcome::exactly(children.into_iter().map(child)),
    };
    if let Some(fields) = &told.primary {
        outcome = outcome.primary(fields);
    }
    if let Some(status) = &told.status {
        outcome = outcome.status(status);
    }
    for condition in told.conditions {
        let status = match condition.status.as_str() {
            "True" => ConditionStatus::True,
            "False" => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        };
        outcome = outcome.condition(Condition::new(
            condition.r#type,
            status,
            condition.reason,
            condition.message,
        ));
    }
    for event in told.events {
        outcome = outcome.event(match event.warning {
            true => Event::warning(event.reason, event.note),
            false => Event::normal(event.reason, event.note),
        });
    }
    if let Some(failure) = replica_failure(context).filter(|_| told.judges) {
        outcome = outcome.condition(failure);
    }
    Ok(match told.requeue_after_seconds {
        Some(seconds) => outcome.requeue_after(Duration::from_secs(seconds)),
        None => outcome,
    })
}

fn parsed(told: Value) -> Result<Told, Stop> {
    if told.is_null() {
        return Ok(Told::default());
    }
    serde_json::from_value(told).map_err(|error| Stop::invalid(format!("spec.told: {error}")))
}

fn found(context: &Context<Settings>, primary: &Primary, questions: &[ToldQuery]) -> Result<usize, Stop> {
    let queries: Vec<Query> = questions
        .iter()
        .map(|question| {
            let kind = Kind {
                of: question.of.clone(),
                plural: "".into(),
                scope: Scope::Namespaced,
            };
            let query = match question.name.is_empty() {
                true => Query::labels(&kind, question.labels.clone()),
                false => Query::name(&kind, question.name.clone()),
            };
            query.namespace(&primary.metadata.namespace)
        })
        .collect();
    let answers = context.ask_each(&queries)?;
    Ok(answers.iter().map(count).sum())
}

fn count(answer: &Answer) -> usize {
    match answer {
        Answer::Found(objects) | Answer::Truncated(objects) => objects.len(),
        _ => 0,
    }
}

/// What a Deployment among the children says of pods that it cannot make.
fn replica_failure(context: &Context<Settings>) -> Option<Condition> {
    let children = context
        .children
        .iter()
        .filter_map(|child| serde_json::from_str::<Value>(child).ok());
    let text = |condition: &Value, key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    children
        .filter_map(|child| child["status"]["conditions"].as_array().cloned())
        .flatten()
        .find(|condition| condition["type"] == "ReplicaFailure" && condition["status"] == "True")
        .map(|failure| {
            Condition::new(
                "Ready",
                ConditionStatus::False,
                text(&failure, "reason"),
                text(&failure, "message"),
            )
        })
}

fn child(told: ToldChild) -> Child {
    if let Some(ToldReference { of, namespace, name }) = told.hold {
        let kind = Kind {
            of,
            plural: "".into(),
            scope: Scope::Namespaced,
        };
        return Child::hold(&kind, namespace.as_deref(), name);
    }
    let child = Child::new(&told.object);
    let child = match told.mode.as_str() {
        "applyOrRecreate" => child.or_recreate(),
        "createOnce" => child.create_once(),
        _ => child,
    };
    let child = match told.propagation.as_str() {
        "Foreground" => child.propagation(Propagation::Foreground),
        "Orphan" => child.propagation(Propagation::Orphan),
        _ => child,
    };
    if told.retain { child.retain() } else { child }
}

fn filled(told: &Value, names: &[(&str, String)]) -> Value {
    match told {
        Value::String(text) => {
            let text = names
                .iter()
                .fold(text.clone(), |text, (name, value)| text.replace(name, value));
            Value::String(text)
        }
        Value::Array(list) => list.iter().map(|value| filled(value, names)).collect(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| {
                let key = names
                    .iter()
                    .fold(key.clone(), |key, (name, value)| key.replace(name, value));
                (key, filled(value, names))
            })
            .collect(),
        other => other.clone(),
    }
}
