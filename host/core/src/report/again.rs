//! Says when writes that failed are tried again.

use super::Next;
use super::verdict::is_said_by_admission;
use crate::answer::{LONGEST_WAIT, REFUSED_AGAIN};
use crate::dropped::names_unknown_field;
use crate::write::WriteError;
use std::time::Duration;

/// When these failed writes of one primary are tried again: as late as the server asks, else with the growing delay of the key,
/// and late where each was refused for good (L-02, L-05). Nothing is lost by that: every change that the host sees, of the
/// primary, the module, a child or what was asked about, comes before.
pub fn again<'a>(errors: impl IntoIterator<Item = &'a WriteError>) -> Next {
    let mut waits: Option<Duration> = None;
    let (mut any, mut for_good) = (false, true);
    for error in errors {
        any = true;
        match error {
            WriteError::Busy { wait, .. } => waits = waits.max(Some(*wait)),
            // What admission says today it may not say in a minute: a quota grows, a policy goes (I-03, L-04).
            WriteError::Invalid(words) if !is_said_by_admission(words) => {}
            // A schema that lacks a field lacks it also the next time.
            WriteError::Refused(words) if names_unknown_field(words) => {}
            WriteError::Dropped(_) => {}
            _ => for_good = false,
        }
    }
    match (waits, any) {
        (Some(wait), _) => Next::NotBefore(wait.min(LONGEST_WAIT)),
        (None, false) => Next::OnChange,
        (None, true) if for_good => Next::NotBefore(REFUSED_AGAIN),
        (None, true) => Next::Backoff,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy(seconds: u64) -> WriteError {
        WriteError::Busy {
            wait: Duration::from_secs(seconds),
            words: "HTTP 429".into(),
        }
    }

    #[test]
    fn l_what_failed_should_be_tried_again_when_it_may_do_better() {
        let invalid = || WriteError::Invalid("spec.selector: field is immutable".into());
        let quota = || WriteError::Forbidden("exceeded quota: few".into());
        let denied = || WriteError::Invalid("admission webhook \"w\" denied the request: no".into());
        let policy = || WriteError::Invalid("ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no".into());
        let away = || WriteError::Unavailable("HTTP 500: failed calling webhook".into());
        let not_before = |seconds| Next::NotBefore(Duration::from_secs(seconds));
        for (errors, next) in [
            (vec![], Next::OnChange),
            (vec![busy(5)], not_before(5)),
            (vec![busy(5), away(), busy(20), invalid()], not_before(20)),
            (vec![busy(100_000)], not_before(120)),
            (vec![invalid()], not_before(600)),
            (vec![WriteError::Dropped(".status.a".into())], not_before(600)),
            (
                vec![WriteError::Refused(".spec.a: field not declared in schema".into())],
                not_before(600),
            ),
            (vec![invalid(), away()], Next::Backoff),
            (vec![quota()], Next::Backoff),
            (vec![denied()], Next::Backoff),
            (vec![policy(), invalid()], Next::Backoff),
            (vec![WriteError::Unanswered("no answer".into())], Next::Backoff),
            (vec![WriteError::Refused("a test failed".into())], Next::Backoff),
            (vec![WriteError::NotFound("no namespace".into())], Next::Backoff),
        ] {
            assert_eq!(again(&errors), next, "{errors:?}");
        }
    }

    #[test]
    fn of_two_things_to_do_the_sooner_should_count() {
        let seconds = Duration::from_secs;
        for (one, other, sooner) in [
            (Next::OnChange, Next::OnChange, Next::OnChange),
            (Next::OnChange, Next::After(seconds(9)), Next::After(seconds(9))),
            (Next::Backoff, Next::NotBefore(seconds(9)), Next::Backoff),
            (
                Next::After(seconds(9)),
                Next::After(seconds(5)),
                Next::After(seconds(5)),
            ),
            (
                Next::After(seconds(9)),
                Next::NotBefore(seconds(600)),
                Next::NotBefore(seconds(9)),
            ),
            (
                Next::NotBefore(seconds(9)),
                Next::NotBefore(seconds(5)),
                Next::NotBefore(seconds(5)),
            ),
        ] {
            assert_eq!(one.sooner(other), sooner);
            assert_eq!(other.sooner(one), sooner);
        }
    }
}
