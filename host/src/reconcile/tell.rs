//! Writes status and Events of what a decision came to, and says when the key is wanted again.

use super::assemble::{Assembled, Unreadable};
use super::carry_out::Carried;
use super::send::send;
use crate::events;
use crate::host::Host;
use crate::queue::Ended;
use crate::running::{Activation, Standing};
use std::time::Duration;
use windlass_core::decision::Decided;
use windlass_core::dropped::first_dropped;
use windlass_core::key::Key;
use windlass_core::key::PrimaryName;
use windlass_core::object::Object;
use windlass_core::reason::Reason;
use windlass_core::report::{self, EventNote, Next};
use windlass_core::write::{Applied, Request, Target, Write, WriteError};

/// How often a status that somebody else was faster to write is written again at once.
const STATUS_LOOKS: usize = 4;

/// Writes what is to be told; gives the end of this run.
pub(super) async fn tell(
    host: &Host,
    activation: &Activation,
    assembled: &Assembled,
    decided: &Decided,
    carried: &Carried,
) -> Ended {
    let now = format!("{:.0}", host.now());
    let ended = report::Ended {
        actor: &activation.actor,
        manifest: &activation.manifest,
        policy: &activation.policy,
        served: &activation.served,
        primary: &carried.primary,
        decided,
        blocked: &carried.blocked,
        applied: &carried.applied,
        now: &now,
    };
    let mut report = report::report(&ended);
    let mut written = Ok(());
    let (mut primary, mut applied) = (carried.primary.clone(), carried.applied.clone());
    if let Some(fields) = report.fields.take() {
        match write_fields(host, activation, &assembled.name, &fields).await {
            Told::As(told) => primary = told.unwrap_or(primary),
            Told::Refused(refused) => applied.push(refused),
            Told::Later(error) => {
                written = Err(error);
            }
        }
        // The conditions speak of the fields too, and of the object as it is with them.
        report = report::report(&report::Ended {
            primary: &primary,
            applied: &applied,
            ..ended.clone()
        });
    }
    let standing = Standing::new(report.ready, report.reason, &report.message);
    if standing.is_failing() {
        tracing::warn!(
            reconciler = %activation.id, primary = %assembled.name, reason = %report.reason, "{}", report.message
        );
        host.running
            .note_failure(&activation.id, assembled.name.clone(), now.clone());
    }
    let before = host.note(&activation.id, assembled.name.clone(), &standing);
    let told = before.as_ref() == Some(&standing);
    if written.is_ok() {
        written = write_conditions(host, activation, &assembled.name, report.conditions.as_ref()).await;
    }
    for _ in 0..STATUS_LOOKS {
        // Somebody wrote in between: what is to be told is the same, and the decision is not taken again for it (B-11).
        let Err(WriteError::Conflict(_)) = &written else { break };
        let Some(live) = unchanged(host, activation, &primary).await else {
            break;
        };
        let again = report::report(&report::Ended {
            primary: &live,
            applied: &applied,
            ..ended.clone()
        });
        written = write_conditions(host, activation, &assembled.name, again.conditions.as_ref()).await;
    }
    let mut owed = None;
    for event in &report.events {
        owed = owed.or(say(host, activation, assembled, event, told).await);
    }
    match (report.next.sooner(report::again(written.as_ref().err())), owed) {
        (Next::Backoff, _) => Ended::Failed,
        // Nothing else would bring its Event up to what was decided in time.
        (Next::NotBefore(delay), owed) => Ended::NotBefore(owed.map_or(delay, |owed| owed.min(delay))),
        (Next::OnChange, None) => Ended::Done,
        (Next::OnChange, Some(delay)) | (Next::After(delay), _) => Ended::After(delay),
    }
}

/// The live primary, if it is still what was decided about.
async fn unchanged(host: &Host, activation: &Activation, primary: &Object) -> Option<Object> {
    let target = Target::of(&activation.manifest.primary.kind, primary);
    let live = host.cluster.get(&target).await.ok()??;
    let is_same = live.uid() == primary.uid()
        && live.generation() == primary.generation()
        && live.is_being_deleted() == primary.is_being_deleted();
    is_same.then_some(live)
}

/// Writes an Event; gives the time after which it can be written, where that is not now. A failure that was told is not told
/// again while it stays the same, but counted (I-05).
async fn say(
    host: &Host,
    activation: &Activation,
    assembled: &Assembled,
    event: &EventNote,
    told: bool,
) -> Option<Duration> {
    let (id, about) = (&activation.id, &assembled.primary);
    if event.from_guest {
        // What of a guest's own words is not written yet is only a count.
        events::tell_as(host, id, &activation.actor.identity, about, event).await;
        return None;
    }
    let event = EventNote {
        is_news: event.is_news && !told,
        ..event.clone()
    };
    events::tell(host, id, about, &event).await
}

/// What became of the guest's own fields of the status.
enum Told {
    /// They are there, and this is the primary with them; none if it is gone.
    As(Option<Object>),
    /// They cannot be, and the conditions say why.
    Refused(Applied),
    /// It has to be tried again.
    Later(WriteError),
}

async fn write_fields(host: &Host, activation: &Activation, primary: &PrimaryName, write: &Write) -> Told {
    let refused = |error: WriteError| {
        Told::Refused(Applied {
            target: write.target.clone(),
            error: Some(error),
        })
    };
    match send(host, activation, primary, write).await {
        Ok(Some(object)) => match dropped(write, &object) {
            Some(path) => refused(WriteError::Dropped(path)),
            None => Told::As(Some(object)),
        },
        Ok(None) | Err(WriteError::NotFound(_)) => Told::As(None),
        Err(
            error @ (WriteError::Invalid(_)
            | WriteError::Refused(_)
            | WriteError::Conflict(_)
            | WriteError::Forbidden(_)),
        ) => refused(error),
        Err(error) => {
            not_written(activation, write, &error);
            Told::Later(error)
        }
    }
}

fn dropped(write: &Write, returned: &Object) -> Option<String> {
    match &write.request {
        Request::Apply { object, .. } => first_dropped(object, returned),
        _ => None,
    }
}

/// Writes the conditions, if there are any to write; an error where that has to be tried again.
async fn write_conditions(
    host: &Host,
    activation: &Activation,
    primary: &PrimaryName,
    write: Option<&Write>,
) -> Result<(), WriteError> {
    let Some(write) = write else { return Ok(()) };
    match send(host, activation, primary, write).await {
        Ok(_) | Err(WriteError::NotFound(_)) => Ok(()),
        Err(error) => {
            not_written(activation, write, &error);
            Err(error)
        }
    }
}

fn not_written(activation: &Activation, write: &Write, error: &WriteError) {
    let primary = write.target.reference();
    tracing::warn!(reconciler = %activation.id, %primary, "status could not be written: {error}");
}

/// Notes a primary that cannot be shown to its guest. Nothing is written to it.
pub(super) fn not_readable(host: &Host, activation: &Activation, key: &Key, why: &Unreadable) -> Ended {
    let reason = match why {
        Unreadable::Forbidden(_) => Reason::ApplyForbidden,
        Unreadable::Secret(..) | Unreadable::Unknown(_) => Reason::ClusterUnavailable,
    };
    tracing::warn!(%key, %reason, "{why}");
    let name = PrimaryName {
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    };
    host.running
        .note_failure(&activation.id, name.clone(), format!("{:.0}", host.now()));
    host.note(&activation.id, name, &Standing::new(false, reason, &why.to_string()));
    Ended::Failed
}
