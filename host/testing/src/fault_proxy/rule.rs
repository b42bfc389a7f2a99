//! Says which requests a fault concerns, how often, and what is done to them; written as words, `code=503 verb=patch count=3`.

use super::call::Call;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::str::FromStr;
use std::time::Duration;

/// One fault: what is done, to which requests, and how often.
///
/// In words, any order: first what is done,
///
/// | words | what happens |
/// |---|---|
/// | `code=503` [`reason=..`] [`retry-after=5`] [`message=..` to the end] | this answer, and the server sees nothing |
/// | `drop` | the connection closes without an answer, and the server sees nothing; open watches break |
/// | `drop-answer` | it is done, and then the connection closes without an answer |
/// | `silent` | it is done, and the answer never comes |
/// | `delay=5s` | it is passed on later, also when whoever sent it has gone |
/// | `hold` | the same, when the rule is taken away |
/// | `replay` | it is sent twice, and the first answer is given |
/// | `freeze` | open watches bring no byte while the rule stands, and new ones are refused |
/// | `end-watch` | watches end in good order |
/// | `watch-error=410` [`reason=..`] [`message=..`] | watches bring an ERROR event and end |
///
/// then to which: `verb=`, `kind=` (plural, or `plural/subresource`; `-` for requests about no object), `namespace=`, `name=`,
/// `user=` (`*end` for whatever ends so), each with one or several values separated by commas; the verb `patch` means any patch,
/// `apply` a server-side one, `write` whatever changes something. Then how often: `after=2` lets two pass first, `every=3` takes
/// each third, `count=1` stops after one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub(super) fault: Fault,
    pub(super) matching: Matching,
    pub(super) times: Times,
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Answer(Refusal),
    Drop,
    DropAnswer,
    Silent,
    Delay(Duration),
    Hold,
    Replay,
    Freeze,
    EndWatch,
    WatchError(Refusal),
}

/// An answer that says no.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) retry_after: Option<u64>,
}

/// To which requests. What is empty is any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Matching {
    verbs: Vec<String>,
    kinds: Vec<String>,
    namespaces: Vec<String>,
    names: Vec<String>,
    users: Vec<String>,
}

/// How often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    after: u64,
    every: u64,
    count: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            after: 0,
            every: 1,
            count: u64::MAX,
        }
    }
}

impl Times {
    /// Whether the request is concerned that is the `seen`th which matches, counted from one, after `hits` were.
    pub(super) fn concern(self, seen: u64, hits: u64) -> bool {
        hits < self.count && seen > self.after && (seen - self.after).is_multiple_of(self.every)
    }

    /// Whether watches that are open are concerned too, once so many requests were seen.
    pub(super) fn stand(self, seen: u64) -> bool {
        seen >= self.after
    }
}

impl Fault {
    /// Whether it happens to watches that are open, and not to requests.
    pub(super) fn is_of_streams(&self) -> bool {
        matches!(self, Self::EndWatch | Self::WatchError(_))
    }
}

impl Refusal {
    /// The `Status` object that an API server would answer with.
    pub(super) fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if let Some(seconds) = self.retry_after {
            status["details"] = json!({"retryAfterSeconds": seconds});
        }
        status
    }
}

impl Matching {
    pub(super) fn matches(&self, call: &Call) -> bool {
        let one_of =
            |wanted: &[String], is: &dyn Fn(&str) -> bool| wanted.is_empty() || wanted.iter().any(|one| is(one));
        one_of(&self.verbs, &|verb| is_verb(verb, call))
            && one_of(&self.kinds, &|kind| match kind {
                "-" => call.resource.is_empty(),
                kind => !kind.is_empty() && kind == call.kind(),
            })
            && one_of(&self.namespaces, &|namespace| namespace == call.namespace)
            && one_of(&self.names, &|name| name == call.name)
            && one_of(&self.users, &|user| match user.strip_prefix('*') {
                Some(end) => call.user.ends_with(end),
                None => user == call.user,
            })
    }
}

fn is_verb(verb: &str, call: &Call) -> bool {
    match verb {
        "patch" => matches!(call.verb, "patch" | "apply"),
        "write" => call.is_write(),
        verb => verb == call.verb,
    }
}

const VERBS: [&str; 10] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "apply",
    "delete",
    "deletecollection",
    "write",
];

impl FromStr for Rule {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (words, message) = match text.split_once("message=") {
            Some((words, message)) => (words, message.to_owned()),
            None => (text, "by order of the fault proxy".to_owned()),
        };
        let mut refusal = Refusal {
            message,
            ..Refusal::default()
        };
        let mut fault = None;
        let (mut matching, mut times) = (Matching::default(), Times::default());
        for word in words.split_whitespace() {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let wrong = || format!("`{word}` in the rule `{text}`");
            let number = || value.parse::<u64>().with_context(wrong);
            let list = || value.split(',').map(ToOwned::to_owned).collect::<Vec<_>>();
            let named = match key {
                "code" | "watch-error" => {
                    refusal.code = value.parse().with_context(wrong)?;
                    Some(match key {
                        "code" => Fault::Answer(Refusal::default()),
                        _ => Fault::WatchError(Refusal::default()),
                    })
                }
                "drop" => Some(Fault::Drop),
                "drop-answer" => Some(Fault::DropAnswer),
                "silent" => Some(Fault::Silent),
                "delay" => Some(Fault::Delay(duration(value).with_context(wrong)?)),
                "hold" => Some(Fault::Hold),
                "replay" => Some(Fault::Replay),
                "freeze" => Some(Fault::Freeze),
                "end-watch" => Some(Fault::EndWatch),
                _ => None,
            };
            if named.is_some() {
                ensure!(fault.is_none(), "{}: a rule has one fault", wrong());
                fault = named;
                continue;
            }
            match key {
                "reason" => value.clone_into(&mut refusal.reason),
                "retry-after" => refusal.retry_after = Some(number()?),
                "verb" => matching.verbs = list(),
                "kind" => matching.kinds = list(),
                "namespace" => matching.namespaces = list(),
                "name" => matching.names = list(),
                "user" => matching.users = list(),
                "after" => times.after = number()?,
                "every" => times.every = number()?.max(1),
                "count" => times.count = number()?,
                _ => bail!("{}: nothing is called `{key}`", wrong()),
            }
        }
        for verb in &matching.verbs {
            ensure!(
                VERBS.contains(&verb.as_str()),
                "`{verb}` in the rule `{text}` is no verb"
            );
        }
        if refusal.reason.is_empty() {
            reason(refusal.code).clone_into(&mut refusal.reason);
        }
        let fault = match fault.with_context(|| format!("the rule `{text}` does not say what is to be done"))? {
            Fault::Answer(_) => Fault::Answer(refusal),
            Fault::WatchError(_) => Fault::WatchError(refusal),
            other => other,
        };
        if matches!(fault, Fault::Freeze) || fault.is_of_streams() {
            // Nothing else of what may be meant is a watch.
            matching.verbs = vec!["watch".into()];
        }
        Ok(Self { fault, matching, times })
    }
}

/// `5s`, `200ms`, or a bare number of seconds.
fn duration(text: &str) -> Result<Duration> {
    if let Some(milliseconds) = text.strip_suffix("ms") {
        return Ok(Duration::from_millis(milliseconds.parse()?));
    }
    Ok(Duration::from_secs(text.strip_suffix('s').unwrap_or(text).parse()?))
}

/// The word that an API server gives with a code.
fn reason(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        406 => "NotAcceptable",
        409 => "Conflict",
        410 => "Expired",
        413 => "RequestEntityTooLarge",
        415 => "UnsupportedMediaType",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    }
}

#[cfg(test)]
mod tests;
