//! Sorts what the API server answered instead of what was asked, by code and reason and never by its words.

use crate::cluster::ReadError;
use http::HeaderMap;
use serde::Deserialize;
use std::error::Error;
use std::fmt;
use std::time::Duration;
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

    /// Whether the resourceVersion or the page token is too old: only a new list helps.
    pub(super) fn is_expired(&self) -> bool {
        self.code == 410
    }

    /// Whether there is nothing at that path.
    pub(super) fn is_not_found(&self) -> bool {
        self.code == 404
    }

    /// What it means for a write.
    pub(super) fn for_write(self, request: &Request) -> WriteError {
        match self.code {
            409 if matches!(request, Request::Create(_)) && self.reason == "AlreadyExists" => WriteError::AlreadyExists,
            409 => WriteError::Conflict(self.message),
            404 => WriteError::NotFound(self.message),
            403 => WriteError::Forbidden(self.message),
            // The token is being renewed, or the server starts: neither is about this write.
            401 | 408 | 410 | 429 => WriteError::Unavailable(self.to_string()),
            400..=499 => WriteError::Invalid(self.message),
            // An apply that does not fit the schema is answered so, without a reason (seen on 1.37.2).
            500 if self.reason.is_empty() && matches!(request, Request::Apply { .. }) => {
                WriteError::Invalid(self.message)
            }
            _ => WriteError::Unavailable(self.to_string()),
        }
    }
}

impl From<Failure> for ReadError {
    fn from(failure: Failure) -> Self {
        match failure.code {
            401 => Self::Refused(format!(
                "{failure}; the credentials of the kubeconfig or the pod are not accepted"
            )),
            403 => Self::Forbidden(failure.message),
            408 | 410 | 429 => Self::Unavailable(failure.to_string()),
            400..=499 => Self::Refused(failure.to_string()),
            _ => Self::Unavailable(failure.to_string()),
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
mod tests {
    use super::*;
    use serde_json::json;
    use windlass_core::object::Object;

    fn failure(code: u16, reason: &str) -> Failure {
        let body = json!({"kind": "Status", "code": code, "reason": reason, "message": "words"}).to_string();
        Failure::answered(code, &HeaderMap::new(), body.as_bytes())
    }

    #[test]
    fn writes_should_fail_by_code_and_reason() {
        let create = Request::Create(Object::default());
        let apply = Request::Apply {
            object: Object::default(),
            force: false,
        };
        let words = || "words".to_owned();
        let away = |code: u16| WriteError::Unavailable(format!("HTTP {code}: words"));
        let table = [
            (409, "AlreadyExists", &create, WriteError::AlreadyExists),
            (409, "AlreadyExists", &apply, WriteError::Conflict(words())),
            (409, "Conflict", &create, WriteError::Conflict(words())),
            (409, "Conflict", &apply, WriteError::Conflict(words())),
            (404, "NotFound", &create, WriteError::NotFound(words())),
            (403, "Forbidden", &apply, WriteError::Forbidden(words())),
            (400, "BadRequest", &apply, WriteError::Invalid(words())),
            (405, "MethodNotAllowed", &apply, WriteError::Invalid(words())),
            (413, "RequestEntityTooLarge", &apply, WriteError::Invalid(words())),
            (415, "UnsupportedMediaType", &apply, WriteError::Invalid(words())),
            (422, "Invalid", &create, WriteError::Invalid(words())),
            (401, "Unauthorized", &apply, away(401)),
            (429, "TooManyRequests", &apply, away(429)),
            (500, "InternalError", &apply, away(500)),
            (500, "", &create, away(500)),
            (500, "", &apply, WriteError::Invalid(words())),
            (503, "ServiceUnavailable", &create, away(503)),
            (504, "Timeout", &create, away(504)),
        ];
        for (code, reason, request, expected) in table {
            assert_eq!(failure(code, reason).for_write(request), expected, "{code} {reason}");
        }
    }

    #[test]
    fn i_06_words_about_a_secret_should_quote_none_of_its_values() {
        let cause = json!({"field": "data[not a key!]", "reason": "FieldValueInvalid", "message": "got S3CR3T-42"});
        let quoting = "quoted: S3CR3T-42";
        let denied = r#"admission webhook "weak.example.com" denied the request: S3CR3T-42 is weak"#;
        let policy = "secrets \"one\" is forbidden: ValidatingAdmissionPolicy 'weak' with binding 'weak' denied request: S3CR3T-42";
        let quota = "secrets \"one\" is forbidden: exceeded quota: few";
        for (code, reason, words, told) in [
            (
                422,
                "Invalid",
                quoting,
                "Invalid: data[not a key!] FieldValueInvalid (the server's words",
            ),
            (
                400,
                "BadRequest",
                quoting,
                "BadRequest: data[not a key!] FieldValueInvalid (the server's words",
            ),
            (
                500,
                "",
                quoting,
                ": data[not a key!] FieldValueInvalid (the server's words",
            ),
            (
                400,
                "BadRequest",
                denied,
                r#"admission webhook "weak.example.com" denied the request (the server's words"#,
            ),
            (
                403,
                "Forbidden",
                denied,
                r#"admission webhook "weak.example.com" denied the request (the server's words"#,
            ),
            (
                403,
                "Forbidden",
                policy,
                "secrets \"one\" is forbidden: ValidatingAdmissionPolicy 'weak' with binding 'weak' denied request (",
            ),
            (403, "Forbidden", quota, quota),
            (
                409,
                "Conflict",
                "conflict with \"kubectl\": .data.password",
                "conflict with \"kubectl\": .data.password",
            ),
            (500, "InternalError", "failed calling webhook", "failed calling webhook"),
            (503, "", "no endpoints", "no endpoints"),
        ] {
            let body = json!({"code": code, "reason": reason, "message": words, "details": {"causes": [cause]}});
            let failure = Failure::answered(code, &HeaderMap::new(), body.to_string().as_bytes()).without_values();
            assert!(failure.message.starts_with(told), "{}", failure.message);
            assert!(!format!("{failure:?}").contains("S3CR3T"), "{failure:?}");
        }
    }

    #[test]
    fn a_reason_in_the_words_should_decide_nothing() {
        let body = json!({"code": 409, "reason": "Conflict", "message": "AlreadyExists: already exists"}).to_string();
        let failure = Failure::answered(409, &HeaderMap::new(), body.as_bytes());
        let words = "AlreadyExists: already exists".to_owned();
        assert_eq!(
            failure.for_write(&Request::Create(Object::default())),
            WriteError::Conflict(words)
        );
    }

    #[test]
    fn a_proxys_page_should_be_passed_on_as_it_is() {
        let failure = Failure::answered(502, &HeaderMap::new(), b"<html>\nbad gateway\n</html>\n");
        assert_eq!(failure.to_string(), "HTTP 502: <html>\nbad gateway\n</html>");
    }

    #[test]
    fn reads_should_tell_what_is_forbidden_refused_and_unavailable() {
        assert_eq!(
            ReadError::from(failure(403, "Forbidden")),
            ReadError::Forbidden("words".into())
        );
        assert_eq!(
            ReadError::from(failure(400, "BadRequest")),
            ReadError::Refused("HTTP 400: words".into())
        );
        assert!(
            matches!(ReadError::from(failure(401, "Unauthorized")), ReadError::Refused(words) if words.contains("credentials"))
        );
        for code in [408, 410, 429, 500, 503] {
            assert!(
                matches!(ReadError::from(failure(code, "")), ReadError::Unavailable(_)),
                "{code}"
            );
        }
        let unanswered = Failure::unanswered("connection refused");
        assert_eq!(
            ReadError::from(unanswered),
            ReadError::Unavailable("connection refused".into())
        );
    }

    #[test]
    fn a_long_message_should_be_cut_between_characters() {
        let failure = Failure::unanswered("ä".repeat(2000));
        assert_eq!(failure.message.len(), 1024);
        let failure = Failure::unanswered(format!("x{}", "ä".repeat(2000)));
        assert_eq!(failure.message.len(), 1023);
    }

    #[test]
    fn the_time_to_wait_should_come_from_the_header() {
        let headers = HeaderMap::from_iter([(http::header::RETRY_AFTER, "5".parse().unwrap())]);
        assert_eq!(
            Failure::answered(429, &headers, b"").retry_after,
            Some(Duration::from_secs(5))
        );
        let headers = HeaderMap::from_iter([(http::header::RETRY_AFTER, "soon".parse().unwrap())]);
        assert_eq!(Failure::answered(429, &headers, b"").retry_after, None);
    }
}
