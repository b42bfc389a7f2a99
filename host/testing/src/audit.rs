//! Reads the API server's audit log, so that a test can count who wrote what.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Deserialize;

/// The audit log of one control plane. What it holds is decided by `deploy/control-plane/audit-policy.yaml`.
///
/// # Caveats
/// The API server writes a line when it has answered, so the line of an answer just received may come a moment later:
/// wait for a count with [`eventually`](crate::eventually), and take a [`Mark`] when the cluster is quiet.
#[derive(Debug, Clone)]
pub struct AuditLog {
    path: PathBuf,
}

/// A place in the audit log: what was logged before it is no longer counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

impl Mark {
    /// The beginning of the log.
    pub const BEGINNING: Mark = Mark(0);
}

impl AuditLog {
    /// The log in this file, which need not be there yet.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The end of the log as it is now.
    ///
    /// # Errors
    /// When the file is there and its size cannot be read.
    pub fn mark(&self) -> Result<Mark> {
        Ok(Mark(self.text_since(Mark::BEGINNING)?.len() as u64))
    }

    /// Every request that has been answered since `mark`, in the order of the answers.
    ///
    /// # Errors
    /// When the file cannot be read or holds something else than audit events.
    pub fn requests_since(&self, mark: Mark) -> Result<Requests> {
        let mut mark = mark;
        self.take_since(&mut mark)
    }

    /// The same, and moves the mark behind them, so that the next look begins there.
    ///
    /// # Errors
    /// Like [`AuditLog::requests_since`].
    pub fn take_since(&self, mark: &mut Mark) -> Result<Requests> {
        let mut requests = Vec::new();
        let text = self.text_since(*mark)?;
        for line in text.lines() {
            let event: Event = serde_json::from_str(line).with_context(|| format!("not an audit event: {line}"))?;
            // A watch is logged when it starts too; each request is counted once, at its end.
            if event.stage == "ResponseComplete" || event.stage == "Panic" {
                requests.push(event.into());
            }
        }
        mark.0 += text.len() as u64;
        Ok(Requests(requests))
    }

    /// The requests since `mark` that were to change something, see [`Request::is_write`].
    ///
    /// # Errors
    /// Like [`AuditLog::requests_since`].
    pub fn writes_since(&self, mark: Mark) -> Result<Requests> {
        Ok(self.requests_since(mark)?.filter(Request::is_write))
    }

    /// All writes ever sent by this user, impersonated ones included.
    ///
    /// # Errors
    /// Like [`AuditLog::requests_since`].
    pub fn writes_by(&self, user: &str) -> Result<Requests> {
        Ok(self.writes_since(Mark::BEGINNING)?.by(user))
    }

    /// The whole lines after `mark`; a line that is being written belongs to the next look.
    fn text_since(&self, mark: Mark) -> Result<String> {
        let path = self.path.display();
        let mut file = match fs::File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(String::new()),
            Err(error) => return Err(error).with_context(|| format!("opening {path}")),
        };
        file.seek(SeekFrom::Start(mark.0))
            .with_context(|| format!("reading {path}"))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .with_context(|| format!("reading {path}"))?;
        bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1));
        String::from_utf8(bytes).with_context(|| format!("{path} is not text"))
    }
}

/// One answered request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: String,
    /// Who sent it.
    pub user: String,
    /// As whom, where the sender acted as somebody else.
    pub impersonated_user: Option<String>,
    /// The API group of the object, empty for the core group and for requests about no object.
    pub group: String,
    /// The plural resource, empty for requests about no object.
    pub resource: String,
    /// Such as `status` or `scale`.
    pub subresource: Option<String>,
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// Empty where the request names no object.
    pub name: String,
    /// The status code of the answer.
    pub code: u16,
    /// Path and query.
    pub uri: String,
    /// What the client calls itself.
    pub user_agent: String,
    /// When it came in, as the API server wrote it.
    pub received: String,
    /// What the API server said where it refused it; empty otherwise.
    pub refusal: String,
    /// Which binding and role allowed it, in the API server's words; empty where none did.
    pub granted_by: String,
    /// Which token it was sent with; empty where the API server does not say.
    pub credential: String,
}

impl Request {
    /// Whether it was to change what is stored, refused ones included.
    ///
    /// A dry run and the reviews of rights and tokens change nothing, though they are sent as patch or create.
    #[must_use]
    pub fn is_write(&self) -> bool {
        let review = matches!(self.group.as_str(), "authorization.k8s.io" | "authentication.k8s.io");
        let token = self.resource == "serviceaccounts" && self.subresource.as_deref() == Some("token");
        let dry_run = self.uri.contains("dryRun=All");
        let verb = matches!(
            self.verb.as_str(),
            "create" | "update" | "patch" | "delete" | "deletecollection"
        );
        verb && !review && !token && !dry_run
    }
}

impl fmt::Display for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            verb, user, code, uri, ..
        } = self;
        write!(formatter, "{verb} {uri} -> {code} by {user}")?;
        if let Some(impersonated) = &self.impersonated_user {
            write!(formatter, " as {impersonated}")?;
        }
        if !self.refusal.is_empty() {
            write!(formatter, ": {}", self.refusal)?;
        }
        Ok(())
    }
}

/// Requests out of the audit log; each method gives those among them that it names.
///
/// Its `Display` lists them, for the message of an assertion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requests(Vec<Request>);

impl Requests {
    /// Those sent by this user, also when it acted as somebody else.
    #[must_use]
    pub fn by(&self, user: &str) -> Self {
        self.filter(|request| request.user == user)
    }

    /// Those sent as this impersonated user.
    #[must_use]
    pub fn impersonating(&self, user: &str) -> Self {
        self.filter(|request| request.impersonated_user.as_deref() == Some(user))
    }

    /// Those with one of these verbs.
    #[must_use]
    pub fn verbs(&self, verbs: &[&str]) -> Self {
        self.filter(|request| verbs.contains(&request.verb.as_str()))
    }

    /// Those about this plural resource, subresources included.
    #[must_use]
    pub fn resource(&self, resource: &str) -> Self {
        self.filter(|request| request.resource == resource)
    }

    /// Those about objects of this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Self {
        self.filter(|request| request.name == name)
    }

    /// Those that `keep` holds for.
    #[must_use]
    pub fn filter(&self, keep: impl Fn(&Request) -> bool) -> Self {
        Self(self.0.iter().filter(|request| keep(request)).cloned().collect())
    }

    /// How many they are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One after the other, in the order of their answers.
    pub fn iter(&self) -> impl Iterator<Item = &Request> {
        self.0.iter()
    }
}

impl fmt::Display for Requests {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{} requests:", self.0.len())?;
        self.0.iter().try_for_each(|request| writeln!(formatter, "  {request}"))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    stage: String,
    #[serde(rename = "requestURI")]
    uri: String,
    verb: String,
    user: User,
    impersonated_user: Option<User>,
    object_ref: Option<ObjectReference>,
    response_status: Option<ResponseStatus>,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    request_received_timestamp: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    username: String,
    #[serde(default)]
    extra: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ObjectReference {
    api_group: String,
    resource: String,
    subresource: Option<String>,
    namespace: String,
    name: String,
}

#[derive(Deserialize, Default)]
struct ResponseStatus {
    #[serde(default)]
    code: u16,
    #[serde(default)]
    message: String,
}

impl From<Event> for Request {
    fn from(event: Event) -> Self {
        let object = event.object_ref.unwrap_or_default();
        let status = event.response_status.unwrap_or_default();
        let mut annotations = event.annotations;
        let mut extra = event.user.extra;
        let tokens = extra.remove("authentication.kubernetes.io/credential-id");
        let granted_by = annotations.remove("authorization.k8s.io/reason");
        Self {
            verb: event.verb,
            user: event.user.username,
            impersonated_user: event.impersonated_user.map(|user| user.username),
            group: object.api_group,
            resource: object.resource,
            subresource: object.subresource,
            namespace: object.namespace,
            name: object.name,
            code: status.code,
            refusal: status.message,
            uri: event.uri,
            user_agent: event.user_agent,
            received: event.request_received_timestamp,
            granted_by: granted_by.unwrap_or_default(),
            credential: tokens.and_then(|tokens| tokens.into_iter().next()).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests;
