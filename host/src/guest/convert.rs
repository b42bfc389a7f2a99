//! Turns values of the core into those of the contract, and what a guest returned back.
//!
//! What a guest returned is text of its own making: parsed with limits, never indexed, and refused with the field's name.

use super::bindings::{decision as wit, manifest as wit_manifest, types};
use super::limits::MAX_VALUES;
use serde_json::Value;
use std::fmt;
use std::time::Duration;
use windlass_core::decision as core;
use windlass_core::kind::{KindInfo, KindRef, ObjectRef};
use windlass_core::manifest as core_manifest;
use windlass_core::object::Object;

/// Why an answer cannot be read, and in which field.
pub(super) type Unreadable = String;

/// The request as the guest gets it.
pub(super) fn request(request: &core::Request) -> wit::Request {
    wit::Request {
        reconciler: wit::ReconcilerRef {
            namespace: request.reconciler.namespace.clone(),
            name: request.reconciler.name.clone(),
        },
        primary: text(&request.primary),
        children: request.children.iter().map(text).collect(),
        not_served: request.not_served.iter().map(kind_out).collect(),
        answers: request.answers.iter().map(answered).collect(),
        settings: request.settings.to_string(),
        now: request.now,
        seed: request.seed.as_ref().map(|seed| seed.bytes().to_vec()),
    }
}

fn text(object: &Object) -> String {
    serde_json::to_string(object).expect("a map with text as keys can always be written")
}

fn kind_out(kind: &KindRef) -> types::KindRef {
    types::KindRef {
        group: kind.group.clone(),
        version: kind.version.clone(),
        kind: kind.kind.clone(),
    }
}

fn answered(answered: &core::Answered) -> wit::Answered {
    let answer = match &answered.answer {
        core::Answer::Found(objects) => wit::Answer::Found(objects.iter().map(text).collect()),
        core::Answer::Truncated(objects) => wit::Answer::Truncated(objects.iter().map(text).collect()),
        core::Answer::NotServed => wit::Answer::NotServed,
        core::Answer::Forbidden(rule) => wit::Answer::Forbidden(rule.clone()),
    };
    wit::Answered {
        id: answered.id.clone(),
        answer,
    }
}

/// What `reconcile` returned.
pub(super) fn reply(reply: Result<wit::Reply, wit::Failure>) -> Result<core::Reply, Unreadable> {
    let mut reader = Reader::default();
    Ok(match reply {
        Ok(wit::Reply::Ask(queries)) => core::Reply::Ask(queries.into_iter().map(query).collect()),
        Ok(wit::Reply::Decide(outcome)) => {
            core::Reply::Decided(core::Decided::Outcome(Box::new(reader.outcome(outcome)?)))
        }
        Err(failure) => core::Reply::Decided(core::Decided::Failed(reader.failure(failure)?)),
    })
}

/// What `finalize` returned.
pub(super) fn final_reply(reply: Result<wit::FinalReply, wit::Failure>) -> Result<core::Reply, Unreadable> {
    let mut reader = Reader::default();
    Ok(match reply {
        Ok(wit::FinalReply::Ask(queries)) => core::Reply::Ask(queries.into_iter().map(query).collect()),
        Ok(wit::FinalReply::Proceed(outcome)) => {
            core::Reply::Decided(core::Decided::Proceed(Box::new(reader.outcome(outcome)?)))
        }
        Ok(wit::FinalReply::Done) => core::Reply::Decided(core::Decided::Done),
        Err(failure) => core::Reply::Decided(core::Decided::Failed(reader.failure(failure)?)),
    })
}

/// Reads an answer of `reconcile` made of these texts, for whoever tries out texts and has no guest that returns them: status and
/// fields of the primary as JSON, a word for all that is shown to people, and the children as JSON.
///
/// # Errors
/// Which of them cannot be read, and why.
pub fn read_answer(
    status: Option<&str>,
    primary: Option<&str>,
    word: &str,
    children: &[&str],
) -> Result<core::Reply, String> {
    let word = || word.to_owned();
    let child = |object: &&str| {
        wit::DesiredChild::Want(wit::WantedChild {
            object: (*object).into(),
            mode: wit::WriteMode::Apply,
            propagation: wit::Propagation::Background,
            retain: false,
        })
    };
    reply(Ok(wit::Reply::Decide(wit::Outcome {
        children: match children {
            [] => wit::ChildrenPlan::NoneWanted,
            children => wit::ChildrenPlan::Exactly(children.iter().map(child).collect()),
        },
        primary: primary.map(Into::into),
        status: status.map(Into::into),
        conditions: vec![wit::Condition {
            type_: word(),
            status: wit::ConditionStatus::True,
            reason: word(),
            message: word(),
        }],
        events: vec![wit::Event {
            severity: wit::Severity::Normal,
            reason: word(),
            note: word(),
        }],
        requeue_after: None,
    })))
}

/// What `describe` returned, unchecked.
pub(super) fn manifest(manifest: wit_manifest::Manifest) -> core_manifest::Manifest {
    let child = |child: wit_manifest::ChildKind| core_manifest::ChildKind {
        kind: kind_info(child.kind),
        projection: projection(child.projection),
        optional: child.optional,
    };
    let read = |read: wit_manifest::ReadKind| core_manifest::ReadKind {
        kind: kind_info(read.kind),
        projection: projection(read.projection),
        selector: read.selector,
        all_namespaces: read.all_namespaces,
        optional: read.optional,
    };
    core_manifest::Manifest {
        name: manifest.name,
        version: manifest.version,
        primary: core_manifest::Primary {
            kind: kind_info(manifest.primary.kind),
            projection: projection(manifest.primary.projection),
            selector: manifest.primary.selector,
        },
        children: manifest.children.into_iter().map(child).collect(),
        reads: manifest.reads.into_iter().map(read).collect(),
        writes_status: manifest.writes_status,
        writes_primary: manifest.writes_primary,
        finalizes: manifest.finalizes,
        needs_clock: manifest.needs_clock,
        needs_seed: manifest.needs_seed,
    }
}

fn projection(projection: types::Projection) -> core_manifest::Projection {
    match projection {
        types::Projection::Metadata => core_manifest::Projection::Metadata,
        types::Projection::Fields(paths) => core_manifest::Projection::Fields(paths),
        types::Projection::Full => core_manifest::Projection::Full,
    }
}

fn kind_info(info: types::KindInfo) -> KindInfo {
    KindInfo {
        of: kind_in(info.of),
        plural: info.plural,
        namespaced: info.namespaced,
    }
}

fn kind_in(kind: types::KindRef) -> KindRef {
    KindRef {
        group: kind.group,
        version: kind.version,
        kind: kind.kind,
    }
}

fn query(query: wit::Query) -> core::Query {
    let field = |field: wit::FieldMatch| core::FieldMatch {
        path: field.path,
        value: field.value,
    };
    core::Query {
        id: query.id,
        of: kind_in(query.of),
        namespace: query.namespace,
        selection: core::Selection {
            name: query.selection.name,
            labels: query.selection.labels,
            fields: query.selection.fields.into_iter().map(field).collect(),
        },
        limit: query.limit,
    }
}

fn condition(condition: wit::Condition) -> core::Condition {
    core::Condition {
        type_: condition.type_,
        status: match condition.status {
            wit::ConditionStatus::True => core::ConditionStatus::True,
            wit::ConditionStatus::False => core::ConditionStatus::False,
            wit::ConditionStatus::Unknown => core::ConditionStatus::Unknown,
        },
        reason: condition.reason,
        message: condition.message,
    }
}

fn event(event: wit::Event) -> core::GuestEvent {
    core::GuestEvent {
        severity: match event.severity {
            wit::Severity::Normal => core::Severity::Normal,
            wit::Severity::Warning => core::Severity::Warning,
        },
        reason: event.reason,
        note: event.note,
    }
}

/// Reads the JSON texts of one answer, whose values are counted together.
struct Reader {
    values_left: usize,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            values_left: MAX_VALUES,
        }
    }
}

impl Reader {
    fn outcome(&mut self, outcome: wit::Outcome) -> Result<core::Outcome, Unreadable> {
        Ok(core::Outcome {
            children: self.children(outcome.children)?,
            primary: outcome.primary.map(|text| self.object(&"primary", &text)).transpose()?,
            status: self.status(outcome.status)?,
            conditions: outcome.conditions.into_iter().map(condition).collect(),
            events: outcome.events.into_iter().map(event).collect(),
            requeue_after: outcome.requeue_after.map(Duration::from_millis),
        })
    }

    fn failure(&mut self, failure: wit::Failure) -> Result<core::Failure, Unreadable> {
        Ok(core::Failure {
            kind: match failure.kind {
                wit::FailureKind::Waiting => core::FailureKind::Waiting,
                wit::FailureKind::Invalid => core::FailureKind::Invalid,
            },
            message: failure.message,
            status: self.status(failure.status)?,
            conditions: failure.conditions.into_iter().map(condition).collect(),
        })
    }

    fn children(&mut self, plan: wit::ChildrenPlan) -> Result<core::ChildrenPlan, Unreadable> {
        Ok(match plan {
            wit::ChildrenPlan::Unchanged => core::ChildrenPlan::Unchanged,
            wit::ChildrenPlan::NoneWanted => core::ChildrenPlan::NoneWanted,
            wit::ChildrenPlan::Exactly(children) => {
                let children = children
                    .into_iter()
                    .enumerate()
                    .map(|(index, child)| self.child(index, child));
                core::ChildrenPlan::Exactly(children.collect::<Result<_, _>>()?)
            }
        })
    }

    fn child(&mut self, index: usize, child: wit::DesiredChild) -> Result<core::DesiredChild, Unreadable> {
        Ok(match child {
            wit::DesiredChild::Hold(reference) => core::DesiredChild::Hold(ObjectRef {
                of: kind_in(reference.of),
                namespace: reference.namespace,
                name: reference.name,
            }),
            wit::DesiredChild::Want(child) => core::DesiredChild::Want(Box::new(core::WantedChild {
                object: self.object(&format_args!("children[{index}].object"), &child.object)?,
                mode: match child.mode {
                    wit::WriteMode::Apply => core::WriteMode::Apply,
                    wit::WriteMode::ApplyOrRecreate => core::WriteMode::ApplyOrRecreate,
                    wit::WriteMode::CreateOnce => core::WriteMode::CreateOnce,
                },
                propagation: match child.propagation {
                    wit::Propagation::Background => core::Propagation::Background,
                    wit::Propagation::Foreground => core::Propagation::Foreground,
                    wit::Propagation::Orphan => core::Propagation::Orphan,
                },
                retain: child.retain,
            })),
        })
    }

    fn status(&mut self, status: Option<String>) -> Result<Option<Value>, Unreadable> {
        let status = status.map(|text| self.object(&"status", &text)).transpose()?;
        Ok(status.map(Object::into_value))
    }

    /// A JSON map.
    fn object(&mut self, field: &dyn fmt::Display, text: &str) -> Result<Object, Unreadable> {
        let values = values_in(text);
        self.values_left = self
            .values_left
            .checked_sub(values)
            .ok_or_else(|| format!("`{field}` and what comes before it hold more than {MAX_VALUES} values"))?;
        let value: Value =
            serde_json::from_str(text).map_err(|why| format!("`{field}` cannot be read as JSON: {why}"))?;
        Object::from_value(value).ok_or_else(|| format!("`{field}` has to be a JSON map"))
    }
}

/// At most this many values are in a JSON text: what lies between its brackets, commas and colons outside of strings.
fn values_in(text: &str) -> usize {
    let (mut values, mut in_string, mut escaped) = (1, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' | b',' if !in_string => values += 1,
            _ => {}
        }
    }
    values
}
