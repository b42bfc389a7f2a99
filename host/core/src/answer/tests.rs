//! Writes down the class of every code, reason and verb.

use super::*;
use Class::{Change, GiveUp, Look, Retry, Wait};

/// Every `metav1.StatusReason`, with the code that it comes with; and none.
const REASONS: [(&str, u16); 20] = [
    ("", 0),
    ("Unauthorized", 401),
    ("Forbidden", 403),
    ("NotFound", 404),
    ("AlreadyExists", 409),
    ("Conflict", 409),
    ("Gone", 410),
    ("Invalid", 422),
    ("ServerTimeout", 500),
    ("StoreReadError", 500),
    ("Timeout", 504),
    ("TooManyRequests", 429),
    ("BadRequest", 400),
    ("MethodNotAllowed", 405),
    ("NotAcceptable", 406),
    ("RequestEntityTooLarge", 413),
    ("UnsupportedMediaType", 415),
    ("InternalError", 500),
    ("Expired", 410),
    ("ServiceUnavailable", 503),
];

/// By code: for writes, and for reads.
const CODES: [(u16, Class, Class); 19] = [
    (0, Look, Retry),
    (400, GiveUp, GiveUp),
    (401, Retry, Retry),
    (403, Change, Change),
    (404, Change, Change),
    (405, GiveUp, GiveUp),
    (406, GiveUp, GiveUp),
    (408, Look, Retry),
    (409, Look, Look),
    (410, Look, Look),
    (413, GiveUp, GiveUp),
    (415, GiveUp, GiveUp),
    (422, GiveUp, GiveUp),
    (429, Wait, Wait),
    (500, Retry, Retry),
    (501, GiveUp, GiveUp),
    (502, Look, Retry),
    (503, Wait, Wait),
    (504, Look, Retry),
];

/// The table, its three exceptions included.
fn expected(code: u16, reason: &str, verb: Verb) -> Class {
    let (_, write, read) = CODES.into_iter().find(|row| row.0 == code).unwrap();
    match (code, reason, verb) {
        (422, _, Verb::JsonPatch) => Look,
        (500, "ServerTimeout", _) if verb.is_write() => Look,
        _ if verb.is_write() => write,
        _ => read,
    }
}

#[test]
fn l_every_code_reason_and_verb_should_have_exactly_the_class_of_the_table() {
    let mut rows = 0;
    for (code, ..) in CODES {
        for (reason, of_reason) in REASONS {
            for verb in Verb::ALL {
                // Inside a watch a reason may come without its code.
                let meant = if code == 0 { of_reason } else { code };
                let expected = expected(meant, reason, verb);
                assert_eq!(class(code, reason, verb), expected, "{code} {reason} {verb:?}");
                rows += 1;
            }
        }
    }
    assert_eq!(rows, 19 * 20 * 8);
}

#[test]
fn l_a_code_or_reason_that_nobody_knows_should_be_tried_again_or_given_up_by_its_hundred() {
    for verb in Verb::ALL {
        assert_eq!(class(418, "Teapot", verb), GiveUp);
        assert_eq!(class(507, "Teapot", verb), Retry);
        assert_eq!(class(0, "Teapot", verb), class(0, "", verb));
    }
}
