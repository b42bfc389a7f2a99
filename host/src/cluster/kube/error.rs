//! Sorts what the API server answered instead of what was asked, by code and reason and never by its words.

use crate::cluster::ReadError;
use http::HeaderMap;
use serde::Deserialize;
use std::error::Error;
use std::fmt;
use std::time::Duration;
use windlass_core::answer::{Class, Verb, class};
use windlass_core::write::{Request, WriteError};

/// Longest message that is passed on: enough for any cause, and too little to fill a status with.
const MESSAGE_BYTES: usize = 1024;

/// At most this many wrong fields are told.
const FIELDS: usize = 8;

/// What admission says before words of its own, which may quote anything.
const DENIALS: [&str; 2] = ["denied the request", "denied request"];

/// Why there are no more words.
const LEFT_OUT: &str = " (the server's words are left out, since they may quote values of the Secret)";

/// A request that did not do what it was for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Failure {
    /// HTTP status of the answer, 0 where there was none.
    pub(super) code: u16,
    /// The server's `reason`, a single word; empty where there was none.
    pub(super) reason: String,
    /// The server's own words, or why there was no answer.
    pub(super) message: String,
    /// Which fields are wrong, as far as the server says: their paths, each with a single word for what is wrong.
    pub(super) fields: Vec<String>,
    /// How long the server asked to wait before the same request.
    pub(super) retry_after: Option<Duration>,
}

/// The part of a `Status` object that is read.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    code: u16,
    reason: String,
    message: String,
    details: Details,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    causes: Vec<Cause>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cause {
    field: String,
    reason: String,
}

impl Failure {
    /// No answer came.
    pub(super) fn unanswered(message: impl fmt::Display) -> Self {
        Self {
            message: cut(&message.to_string()),
            ..Self::default()
        }
    }

    /// An answer that says no. Its body may be anything: proxies answer with pages of their own.
    pub(super) fn answered(code: u16, headers: &HeaderMap, body: &[u8]) -> Self {
        let status: Status = serde_json::from_slice(body).unwrap_or_default();
        let message = match status.message.is_empty() {
            true => String::from_utf8_lossy(body).trim().to_owned(),
            false => status.message,
        };
        let retry_after = headers
            .get(http::header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok());
        let causes = status.details.causes.iter().take(FIELDS);
        let fields = causes.map(|cause| cut(&format!("{} {}", cause.field, cause.reason)));
        Self {
            code,
            reason: status.reason,
            message: cut(&message),
            fields: fields.collect(),
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    /// A `Status` object inside a watch.
    pub(super) fn in_stream(status: &[u8]) -> Self {
        let status: Status = serde_json::from_slice(status).unwrap_or_default();
        Self {
            code: status.code,
            reason: status.reason,
            message: cut(&status.message),
            ..Self::default()
        }
    }

    /// The failure of a write to a Secret, without words that may quote its values (I-06): of what refuses the content there
    /// is the reason and the fields, of admission that it refused. What the server says about rights, names and versions
    /// quotes nothing.
    pub(super) fn without_values(self) -> Self {
        let denial = DENIALS.iter().find_map(|denial| {
            let at = self.message.find(denial)?;
            self.message.get(..at + denial.len())
        });
        let message = match (denial, self.code) {
            (Some(denied), _) => format!("{denied}{LEFT_OUT}"),
            (None, 0 | 401 | 403 | 404 | 408..=410 | 429 | 501..) => return self,
            (None, 500) if !self.reason.is_empty() => return self,
            (None, _) => {
                let fields = self.fields.iter().map(|field| format!(": {field}"));
                format!("{}{}{LEFT_OUT}", self.reason, fields.collect::<String>())
            }
        };
        Self {
            message: cut(&message),
            ..self
        }
    }

    /// What is to be done next.
    fn class(&self, verb: Verb) -> Class {
        class(self.code, &self.reason, verb)
    }

    /// Whether the resourceVersion or the page token is too old: only a new list helps.
    pub(super) fn is_expired(&self) -> bool {
        self.class(Verb::List) == Class::Look
    }

    /// Whether there is nothing at that path.
    pub(super) fn is_not_found(&self) -> bool {
        self.code == 404
    }

    /// What it means for a write.
    pub(super) fn for_write(self, request: &Request) -> WriteError {
        let verb = request.verb();
        match (self.class(verb), self.code) {
            (Class::Look, 409) if verb == Verb::Create && self.reason == "AlreadyExists" => WriteError::AlreadyExists,
            (Class::Look, 409) => WriteError::Conflict(self.message),
            (Class::Look, 422) => WriteError::Refused(self.message),
            (Class::Look, _) => WriteError::Unanswered(self.to_string()),
            (Class::Change, 403) => WriteError::Forbidden(self.message),
            (Class::Change, _) => WriteError::NotFound(self.message),
            // The object of that name is another one by now.
            (Class::GiveUp, 422) if verb == Verb::Apply && self.is_about("metadata.uid") => {
                WriteError::Conflict(self.message)
            }
            (Class::GiveUp, _) => WriteError::Invalid(self.message),
            // An apply that does not fit the schema is answered so (seen on 1.37.2), and so is much of what goes wrong in etcd.
            (Class::Retry, 500) if self.reason.is_empty() && verb == Verb::Apply => WriteError::Refused(self.message),
            (Class::Wait | Class::Retry, _) => match self.retry_after {
                Some(wait) => WriteError::Busy {
                    wait,
                    words: self.to_string(),
                },
                None => WriteError::Unavailable(self.to_string()),
            },
        }
    }

    /// Whether the server names this field as the one that is wrong.
    fn is_about(&self, field: &str) -> bool {
        self.fields.iter().any(|named| named.split(' ').next() == Some(field))
    }
}

impl From<Failure> for ReadError {
    fn from(failure: Failure) -> Self {
        match (failure.class(Verb::Get), failure.code) {
            (_, 401) => Self::Refused(format!(
                "{failure}; the credentials of the kubeconfig or the pod are not accepted"
            )),
            (Class::Change, 403) => Self::Forbidden(failure.message),
            (Class::Change | Class::GiveUp, _) => Self::Refused(failure.to_string()),
            (Class::Wait | Class::Retry | Class::Look, _) => Self::Unavailable(failure.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.message.is_empty()) {
            (0, _) => formatter.write_str(&self.message),
            (code, true) => write!(formatter, "HTTP {code} {}", self.reason),
            (code, false) => write!(formatter, "HTTP {code}: {}", self.message),
        }
    }
}

/// The whole chain of an error in one line, each thing said once: hyper says `client error (Connect)`, and only its sources say what was refused.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        source = error.source();
        let words = error.to_string();
        if !message.contains(&words) {
            message = format!("{message}: {words}");
        }
    }
    message
}

/// The beginning of a message, never in the middle of a character.
fn cut(message: &str) -> String {
    message[..message.floor_char_boundary(MESSAGE_BYTES)].to_owned()
}

#[cfg(test)]
mod tests;
