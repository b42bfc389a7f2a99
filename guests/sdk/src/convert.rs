//! Converts between the generated types of the contract and the plain ones of this crate.

use std::time::Duration;

use crate::bindings::windlass::reconciler::{decision, log as host_log, manifest as wire, types};
use crate::log::Level;
use crate::manifest::{ChildKind, Kind, KindRef, Manifest, Need, Projection, Reach, Read, Scope};
use crate::outcome::{
    Child, Children, Condition, ConditionStatus, Event, ObjectRef, Outcome, Propagation, Severity, WantedChild,
    WriteMode,
};
use crate::query::{Answer, FieldMatch, Query};
use crate::run::{FinalReply, Reply, Request};
use crate::seed::Seed;
use crate::stop::{Failure, FailureKind};

#[cfg_attr(
    not(target_arch = "wasm32"),
    expect(dead_code, reason = "there is no host to log to")
)]
pub(crate) fn write_log(level: Level, message: &str) {
    let level = match level {
        Level::Debug => host_log::Level::Debug,
        Level::Info => host_log::Level::Info,
        Level::Warn => host_log::Level::Warn,
        Level::Error => host_log::Level::Error,
    };
    host_log::write(level, message);
}

// --- in ---

pub(crate) fn request(request: decision::Request) -> Request {
    Request {
        reconciler: (request.reconciler.namespace, request.reconciler.name),
        primary: request.primary,
        children: request.children,
        not_served: request.not_served.into_iter().map(kind_ref_in).collect(),
        answers: request
            .answers
            .into_iter()
            .map(|answered| (answered.id, answer(answered.answer)))
            .collect(),
        settings: request.settings,
        now: Duration::from_millis(request.now),
        seed: request.seed.map(Seed::new),
    }
}

fn answer(answer: decision::Answer) -> Answer {
    match answer {
        decision::Answer::Found(objects) => Answer::Found(objects),
        decision::Answer::Truncated(objects) => Answer::Truncated(objects),
        decision::Answer::NotServed => Answer::NotServed,
        decision::Answer::Forbidden(rule) => Answer::Forbidden(rule),
    }
}

fn kind_ref_in(kind: types::KindRef) -> KindRef {
    KindRef {
        group: kind.group.into(),
        version: kind.version.into(),
        kind: kind.kind.into(),
    }
}

// --- out ---

pub(crate) fn manifest(manifest: Manifest) -> wire::Manifest {
    wire::Manifest {
        name: manifest.name,
        version: manifest.version,
        primary: wire::Primary {
            kind: kind_info(manifest.primary),
            projection: projection(manifest.projection),
            selector: manifest.selector,
        },
        children: manifest.children.into_iter().map(child_kind).collect(),
        reads: manifest.reads.into_iter().map(read_kind).collect(),
        writes_status: manifest.writes_status,
        writes_primary: manifest.writes_primary,
        finalizes: manifest.finalizes,
        needs_clock: manifest.needs_clock,
        needs_seed: manifest.needs_seed,
    }
}

fn child_kind(child: ChildKind) -> wire::ChildKind {
    wire::ChildKind {
        kind: kind_info(child.kind),
        projection: projection(child.projection),
        optional: child.need == Need::Optional,
    }
}

fn read_kind(read: Read) -> wire::ReadKind {
    wire::ReadKind {
        kind: kind_info(read.kind),
        projection: projection(read.projection),
        selector: read.selector,
        all_namespaces: read.reach == Reach::AllNamespaces,
        optional: read.need == Need::Optional,
    }
}

fn kind_info(kind: Kind) -> types::KindInfo {
    types::KindInfo {
        of: kind_ref(kind.of),
        plural: kind.plural.into_owned(),
        namespaced: kind.scope == Scope::Namespaced,
    }
}

fn kind_ref(kind: KindRef) -> types::KindRef {
    types::KindRef {
        group: kind.group.into_owned(),
        version: kind.version.into_owned(),
        kind: kind.kind.into_owned(),
    }
}

fn projection(projection: Projection) -> types::Projection {
    match projection {
        Projection::Metadata => types::Projection::Metadata,
        Projection::Fields(paths) => types::Projection::Fields(paths),
        Projection::Full => types::Projection::Full,
    }
}

pub(crate) fn reply(reply: Reply) -> decision::Reply {
    match reply {
        Reply::Ask(queries) => decision::Reply::Ask(queries.into_iter().map(query).collect()),
        Reply::Decide(decided) => decision::Reply::Decide(outcome(decided)),
    }
}

pub(crate) fn final_reply(reply: FinalReply) -> decision::FinalReply {
    match reply {
        FinalReply::Ask(queries) => decision::FinalReply::Ask(queries.into_iter().map(query).collect()),
        FinalReply::Proceed(decided) => decision::FinalReply::Proceed(outcome(decided)),
        FinalReply::Done => decision::FinalReply::Done,
    }
}

pub(crate) fn failure(failure: Failure) -> decision::Failure {
    decision::Failure {
        kind: match failure.kind {
            FailureKind::Waiting => decision::FailureKind::Waiting,
            FailureKind::Invalid => decision::FailureKind::Invalid,
        },
        message: failure.message,
        status: failure.status.map(Into::into),
        conditions: failure.conditions.into_iter().map(condition).collect(),
    }
}

fn query(query: Query) -> decision::Query {
    decision::Query {
        id: query.id(),
        of: kind_ref(query.of),
        namespace: query.namespace,
        selection: decision::Selection {
            name: query.name,
            labels: query.labels,
            fields: query.fields.into_iter().map(field_match).collect(),
        },
        limit: query.limit,
    }
}

fn field_match(field: FieldMatch) -> decision::FieldMatch {
    decision::FieldMatch {
        path: field.path,
        value: field.value,
    }
}

fn outcome(outcome: Outcome) -> decision::Outcome {
    decision::Outcome {
        children: match outcome.children {
            Children::Unchanged => decision::ChildrenPlan::Unchanged,
            Children::NoneWanted => decision::ChildrenPlan::NoneWanted,
            Children::Exactly(children) => {
                decision::ChildrenPlan::Exactly(children.into_iter().map(desired_child).collect())
            }
        },
        primary: outcome.primary.map(Into::into),
        status: outcome.status.map(Into::into),
        conditions: outcome.conditions.into_iter().map(condition).collect(),
        events: outcome.events.into_iter().map(event).collect(),
        requeue_after: outcome.requeue_after.map(|duration| duration.as_millis() as u64),
    }
}

fn desired_child(child: Child) -> decision::DesiredChild {
    match child {
        Child::Want(wanted) => decision::DesiredChild::Want(wanted_child(wanted)),
        Child::Hold(object) => decision::DesiredChild::Hold(object_ref(object)),
    }
}

fn wanted_child(wanted: WantedChild) -> decision::WantedChild {
    decision::WantedChild {
        object: wanted.object.into(),
        mode: match wanted.mode {
            WriteMode::Apply => decision::WriteMode::Apply,
            WriteMode::ApplyOrRecreate => decision::WriteMode::ApplyOrRecreate,
            WriteMode::CreateOnce => decision::WriteMode::CreateOnce,
        },
        propagation: match wanted.propagation {
            Propagation::Background => decision::Propagation::Background,
            Propagation::Foreground => decision::Propagation::Foreground,
            Propagation::Orphan => decision::Propagation::Orphan,
        },
        retain: wanted.retain,
    }
}

fn object_ref(object: ObjectRef) -> types::ObjectRef {
    types::ObjectRef {
        of: kind_ref(object.of),
        namespace: object.namespace,
        name: object.name,
    }
}

fn condition(condition: Condition) -> decision::Condition {
    decision::Condition {
        type_: condition.kind,
        status: match condition.status {
            ConditionStatus::True => decision::ConditionStatus::True,
            ConditionStatus::False => decision::ConditionStatus::False,
            ConditionStatus::Unknown => decision::ConditionStatus::Unknown,
        },
        reason: condition.reason,
        message: condition.message,
    }
}

fn event(event: Event) -> decision::Event {
    decision::Event {
        severity: match event.severity {
            Severity::Normal => decision::Severity::Normal,
            Severity::Warning => decision::Severity::Warning,
        },
        reason: event.reason,
        note: event.note,
    }
}
