//! Puts the end of a decision in one reason, one sentence and the time of the next one.

use super::{Ended, Next, again, requeue};
use crate::decision::{Decided, Failure, FailureKind, Fault, FaultKind};
use crate::dropped::names_unknown_field;
use crate::policy::{FINALIZE_RETRY, FINALIZE_TRIES, OnFinalizeFailure};
use crate::reason::Reason;
use crate::rights::granting_command;
use crate::text::cut_before;
use crate::write::{Applied, WriteError};

/// At most this many objects are named in one message.
const LISTED: usize = 5;

/// What admission says. Its code and reason do not tell it from a missing right (403) or from content that is refused for good
/// (400, 422): a webhook answers with whatever it likes, and a ValidatingAdmissionPolicy with the reason that it names.
const ADMISSION_SAYS: [&str; 6] = [
    "admission webhook",
    "ValidatingAdmissionPolicy",
    "exceeded quota",
    "violates PodSecurity",
    "because it is being terminated",
    "denied the request",
];

/// How the API server answers a JSON patch of which a `test` fails: as content that is refused, without a cause. It says that the
/// object has changed, and nothing about what was to be written.
const TEST_FAILED: &str = "the server rejected our request due to an error in our request";

/// How the decision ended.
pub(super) struct Verdict {
    pub(super) reason: Reason,
    pub(super) message: String,
    pub(super) next: Next,
    /// False where the decision was made from an outdated view, which says nothing about the primary.
    pub(super) is_news: bool,
    /// False where it is not reconciled, but on the way as it should be.
    pub(super) is_trouble: bool,
}

impl Verdict {
    /// Whether everything was carried out.
    pub(super) fn is_reconciled(&self) -> bool {
        self.reason == Reason::Reconciled
    }

    fn trouble(reason: Reason, message: String, next: Next) -> Self {
        Self {
            reason,
            message,
            next,
            is_news: true,
            is_trouble: true,
        }
    }
}

/// Whether the primary was let go: nothing is there any more to report on.
pub(super) fn is_released(ended: &Ended<'_>) -> bool {
    let primary = ended.primary.reference();
    matches!(ended.decided, Decided::Done | Decided::Skipped(_))
        && ended
            .applied
            .iter()
            .any(|applied| applied.error.is_none() && applied.target.reference() == primary)
}

pub(super) fn verdict(ended: &Ended<'_>) -> Verdict {
    match ended.decided {
        Decided::Faulted(fault) => {
            let message = cut_before(&fault.message, &what_to_do(ended, fault));
            unfinalized(ended, fault.kind.into(), &message, Next::Backoff)
        }
        Decided::Failed(Failure {
            kind: FailureKind::Waiting,
            message,
            ..
        }) => Verdict::trouble(Reason::Waiting, message.clone(), Next::OnChange),
        Decided::Failed(Failure {
            kind: FailureKind::Invalid,
            message,
            ..
        }) => unfinalized(ended, Reason::Invalid, message, Next::OnChange),
        Decided::Outcome(_) | Decided::Proceed(_) | Decided::Done | Decided::Skipped(_) | Decided::Leaving => {
            unwritten(ended)
                .or_else(|| outdated(ended))
                .or_else(|| blocked(ended))
                .unwrap_or_else(|| whole(ended))
        }
    }
}

/// What helps against a fault, for whoever has nothing but the status before them.
fn what_to_do(ended: &Ended<'_>, fault: &Fault) -> String {
    if ended.primary.is_being_deleted() {
        // What becomes of it then is said beside.
        return String::new();
    }
    let more = match fault.kind {
        // The host is at fault, and says so.
        FaultKind::InternalError => return String::new(),
        FaultKind::GuestTrapped | FaultKind::GuestOutputRejected => "",
        FaultKind::GuestTimedOut => ", spec.limits.timeMilliseconds of its Reconciler gives it more time",
        FaultKind::GuestOutOfMemory => ", spec.limits.memoryMebibytes of its Reconciler gives it more",
    };
    let reconciler = &ended.actor.reconciler;
    let back = format!("`windlass rollback {} -n {}`", reconciler.name, reconciler.namespace);
    let end = if fault.message.ends_with('.') { "" } else { "." };
    format!("{end} It is tried again with a growing delay{more}; {back} goes back to the module before this one")
}

/// The guest failed. Where that was in `finalize`, it says what becomes of the object.
fn unfinalized(ended: &Ended<'_>, reason: Reason, message: &str, next: Next) -> Verdict {
    if !ended.primary.is_being_deleted() {
        return Verdict::trouble(reason, message.into(), next);
    }
    match ended.policy.on_finalize_failure {
        OnFinalizeFailure::Block => {
            let stays = "the object stays until finalize succeeds; `windlass release` lets it go without";
            Verdict::trouble(reason, cut_before(message, &format!("; {stays}")), next)
        }
        OnFinalizeFailure::Skip => {
            let goes = format!("after {FINALIZE_TRIES} failures in a row finalize is skipped and the object goes");
            let message = cut_before(message, &format!("; {goes}"));
            Verdict::trouble(reason, message, Next::After(FINALIZE_RETRY))
        }
    }
}

/// Some write was refused.
fn unwritten(ended: &Ended<'_>) -> Option<Verdict> {
    let failed: Vec<(&Applied, &WriteError)> = ended
        .applied
        .iter()
        .filter_map(|applied| Some((applied, applied.error.as_ref()?)))
        .filter(|(_, error)| !is_outdated(error))
        .collect();
    let reason = reason(failed.first()?.1);
    let words = failed
        .iter()
        .map(|(applied, error)| format!("{}: {}", applied.target.reference(), words(error)));
    // A missing right is named also while the primary is being deleted: somebody has to give it back (D-07).
    let reason = if reason == Reason::ApplyForbidden {
        reason
    } else {
        while_deleting(ended, reason)
    };
    let mut message = listed(words.collect());
    if reason == Reason::ApplyForbidden {
        let place = [ended.primary.namespace().map(Into::into)];
        message = cut_before(
            &message,
            &format!("; grant it with `{}`", granting_command(ended.actor, &place)),
        );
    }
    let next = again(failed.iter().map(|(_, error)| *error));
    if let (Reason::ApplyRejected, Some(advice)) = (reason, advice(next, &message)) {
        message = cut_before(&message, &advice);
    }
    Some(Verdict::trouble(reason, message, next))
}

/// What becomes of something that the API server refuses, and what helps.
fn advice(next: Next, words: &str) -> Option<String> {
    let anew = match words.contains("immutable") {
        true => ", delete the child, or have the guest want it made anew (apply-or-recreate)",
        false => "",
    };
    match next {
        Next::NotBefore(_) => Some(format!(
            "; change the object or the module's settings{anew}: it is tried again when something changes, or after ten minutes"
        )),
        Next::Backoff => Some("; it is tried again by itself, within half a minute".into()),
        _ => None,
    }
}

fn is_outdated(error: &WriteError) -> bool {
    match error {
        WriteError::Stale(_) => true,
        WriteError::Refused(words) | WriteError::Invalid(words) => words == TEST_FAILED,
        _ => false,
    }
}

/// Some write was planned from a view that is out of date. The next look may be fine, so nothing is said of it.
fn outdated(ended: &Ended<'_>) -> Option<Verdict> {
    let stale = ended
        .applied
        .iter()
        .find(|applied| applied.error.as_ref().is_some_and(is_outdated))?;
    let message = format!(
        "{} has changed meanwhile and is looked at again",
        stale.target.reference()
    );
    Some(Verdict {
        reason: Reason::Waiting,
        message,
        next: Next::Backoff,
        is_news: false,
        is_trouble: false,
    })
}

/// Some child could not be planned.
fn blocked(ended: &Ended<'_>) -> Option<Verdict> {
    let reason = while_deleting(ended, ended.blocked.first()?.reason);
    let words = ended.blocked.iter().map(|blocked| blocked.message.clone());
    let next = if ended.blocked.iter().any(|blocked| blocked.unwatched) {
        Next::Backoff
    } else {
        wake(ended)
    };
    Some(Verdict::trouble(reason, listed(words.collect()), next))
}

fn whole(ended: &Ended<'_>) -> Verdict {
    if let Decided::Skipped(message) = ended.decided {
        return Verdict::trouble(Reason::FinalizeSkipped, message.clone(), Next::OnChange);
    }
    let message = if is_released(ended) {
        "The finalizer is taken off and the object may go"
    } else if ended.primary.is_being_deleted() {
        "The object is being deleted"
    } else {
        "The last decision was carried out whole"
    };
    let reason = while_deleting(ended, Reason::Reconciled);
    Verdict {
        reason,
        message: message.into(),
        next: wake(ended),
        is_news: true,
        is_trouble: false,
    }
}

/// After the deletion mark the object is on its way out, whatever else is true (D-11).
fn while_deleting(ended: &Ended<'_>, reason: Reason) -> Reason {
    if ended.primary.is_being_deleted() {
        Reason::Deleting
    } else {
        reason
    }
}

fn wake(ended: &Ended<'_>) -> Next {
    match ended.decided {
        Decided::Outcome(outcome) | Decided::Proceed(outcome) => outcome
            .requeue_after
            .map_or(Next::OnChange, |asked| Next::After(requeue(asked))),
        _ => Next::OnChange,
    }
}

/// Whether these are the words of admission.
pub(super) fn is_said_by_admission(words: &str) -> bool {
    ADMISSION_SAYS.iter().any(|says| words.contains(says))
}

fn reason(error: &WriteError) -> Reason {
    match error {
        WriteError::AlreadyExists | WriteError::Conflict(_) => Reason::OwnershipConflict,
        WriteError::NotFound(_) => Reason::DependencyMissing,
        WriteError::Forbidden(text) if is_said_by_admission(text) => Reason::ApplyRejected,
        WriteError::Forbidden(_) => Reason::ApplyForbidden,
        WriteError::Invalid(text) | WriteError::Refused(text) if names_unknown_field(text) => {
            Reason::SchemaDroppedFields
        }
        WriteError::Invalid(_) | WriteError::Refused(_) => Reason::ApplyRejected,
        WriteError::Dropped(_) => Reason::SchemaDroppedFields,
        WriteError::Unavailable(_) | WriteError::Busy { .. } | WriteError::Unanswered(_) => Reason::ClusterUnavailable,
        WriteError::Stale(_) => Reason::Waiting,
    }
}

/// The server's own words.
fn words(error: &WriteError) -> String {
    match error {
        WriteError::AlreadyExists => error.to_string(),
        WriteError::Invalid(text) | WriteError::Refused(text) if names_unknown_field(text) => {
            format!("{text}; add it to the schema of the kind, or have the guest leave it out")
        }
        WriteError::Dropped(path) => format!(
            "{path} was sent, and is not in what the API server made of it; add it to the schema of the kind, or have the guest leave \
             it out"
        ),
        WriteError::Conflict(text)
        | WriteError::Stale(text)
        | WriteError::NotFound(text)
        | WriteError::Forbidden(text)
        | WriteError::Invalid(text)
        | WriteError::Refused(text)
        | WriteError::Unavailable(text)
        | WriteError::Busy { words: text, .. }
        | WriteError::Unanswered(text) => text.clone(),
    }
}

fn listed(sentences: Vec<String>) -> String {
    let more = sentences.len().saturating_sub(LISTED);
    let listed = sentences.into_iter().take(LISTED).collect::<Vec<_>>().join("; ");
    if more > 0 {
        format!("{listed}; and {more} more")
    } else {
        listed
    }
}
