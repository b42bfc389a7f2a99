//! Sorts every answer of an API server into what is to be done next, by code, reason and verb, and never by its words.
//!
//! Codes and reasons are those of the API conventions (`metav1.StatusReason`). What they do not tell is told apart by words,
//! each where it is needed: in [`crate::report`] admission, which refuses with whatever code it likes, and a patch that found its
//! object changed; in [`crate::dropped`] a field that the schema lacks; in the host a namespace that is ending.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Longest wait that is believed: a broken proxy must not silence a primary for ever.
pub const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// When what was refused for good is tried again without any change that the host sees: what it cannot see, such as another
/// schema of the kind, may have changed.
pub const REFUSED_AGAIN: Duration = Duration::from_secs(10 * 60);

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// POST.
    Create,
    /// Server-side apply.
    Apply,
    /// JSON patch, mostly with `test` operations.
    JsonPatch,
    /// JSON merge patch.
    MergePatch,
    /// DELETE.
    Delete,
    /// One object.
    Get,
    /// All objects of a kind.
    List,
    /// What becomes of them.
    Watch,
}

impl Verb {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Create,
        Self::Apply,
        Self::JsonPatch,
        Self::MergePatch,
        Self::Delete,
        Self::Get,
        Self::List,
        Self::Watch,
    ];

    /// Whether it changes something.
    pub fn is_write(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Class {
    /// Wait as long as the server asks (`Retry-After`), and at least as [`Class::Retry`] where it does not ask.
    Wait,
    /// The same again, after a delay that grows, is spread by jitter, and ends at half a minute.
    Retry,
    /// Look at what is there before the same is sent again: the view was out of date, or the write may have been done. Of a
    /// list or watch: a new list.
    Look,
    /// Only a change helps, one that nobody tells the host of (a right, a namespace, a kind): looked for like [`Class::Retry`].
    Change,
    /// Refused for good: only other content helps. Tried again when something changes, or after [`REFUSED_AGAIN`].
    GiveUp,
}

/// The class of an answer. `code` is the HTTP status, 0 where no answer came; `reason` the single word, empty where there was
/// none.
pub fn class(code: u16, reason: &str, verb: Verb) -> Class {
    let code = if code == 0 { code_of(reason) } else { code };
    match code {
        // No answer, or one by somebody in between: a write may have been done all the same.
        0 | 408 | 502 | 504 => may_be_done(verb),
        // Of its time-outs, too, the API server says nothing else than that they may have been too late (`ServerTimeout`).
        500 if reason == "ServerTimeout" => may_be_done(verb),
        429 | 503 => Class::Wait,
        // The token is being renewed, or the server starts.
        401 => Class::Retry,
        403 | 404 => Class::Change,
        409 | 410 => Class::Look,
        // A `test` that fails is answered like content that is refused.
        422 if verb == Verb::JsonPatch => Class::Look,
        400..=499 | 501 => Class::GiveUp,
        // Webhooks that cannot be called, and etcd.
        _ => Class::Retry,
    }
}

fn may_be_done(verb: Verb) -> Class {
    if verb.is_write() { Class::Look } else { Class::Retry }
}

/// The code of a reason that came without one, as inside a watch.
fn code_of(reason: &str) -> u16 {
    match reason {
        "BadRequest" => 400,
        "Unauthorized" => 401,
        "Forbidden" => 403,
        "NotFound" => 404,
        "MethodNotAllowed" => 405,
        "NotAcceptable" => 406,
        "AlreadyExists" | "Conflict" => 409,
        "Gone" | "Expired" => 410,
        "RequestEntityTooLarge" => 413,
        "UnsupportedMediaType" => 415,
        "Invalid" => 422,
        "TooManyRequests" => 429,
        "InternalError" | "ServerTimeout" | "StoreReadError" => 500,
        "ServiceUnavailable" => 503,
        "Timeout" => 504,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
