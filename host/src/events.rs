//! Writes Events about objects: one for all that is the same, which counts.
//!
//! The host's own go through the core API, where the words of an Event that is there can be changed: under one reason the last
//! ones are to be read. A guest's words are made by its account in `events.k8s.io`, where nothing but the count can be changed.
//! The count is the host's own finding, so that the account needs no right to change Events.

use crate::host::Host;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;
use windlass_core::decision::Severity;
use windlass_core::events::{self, Found, Put, Told};
use windlass_core::key::{PrimaryName, ReconcilerId};
use windlass_core::kind::KindInfo;
use windlass_core::names::{HOST_FIELD_MANAGER, REPORTING_CONTROLLER};
use windlass_core::object::Object;
use windlass_core::report::EventNote;
use windlass_core::text::cut;
use windlass_core::write::{Identity, Request, Subresource, Target, Write, WriteError};

/// Namespace of Events about objects that have none.
const DEFAULT_NAMESPACE: &str = "default";

/// Says something about an object as the host itself; gives after which time it can be said if that is too early now.
pub async fn tell(host: &Host, id: &ReconcilerId, about: &Object, event: &EventNote) -> Option<Duration> {
    tell_as(host, id, &Identity::Host, about, event).await
}

/// The same as the account of a guest, for its own words.
///
/// An Event that cannot be written is logged and lost: it must not stop anything.
pub async fn tell_as(
    host: &Host,
    id: &ReconcilerId,
    identity: &Identity,
    about: &Object,
    event: &EventNote,
) -> Option<Duration> {
    let telling = Telling {
        host,
        id,
        identity,
        about,
        event,
        name: events::name(id, about, event),
    };
    let put = telling.told(|told, now, again| told.say(&telling.name, event, now, again));
    match telling.put(put).await {
        Ok(later) => later,
        Err(error) => {
            tracing::warn!(about = %about.reference(), reason = event.reason, "an Event could not be written: {error}");
            None
        }
    }
}

/// Something that is said about an object.
struct Telling<'a> {
    host: &'a Host,
    id: &'a ReconcilerId,
    identity: &'a Identity,
    about: &'a Object,
    event: &'a EventNote,
    name: String,
}

impl Telling<'_> {
    fn told(&self, with: impl FnOnce(&mut Told, Duration, Duration) -> Put) -> Put {
        let now = self.host.started.elapsed();
        let again = self.host.settings.events_again;
        let about = PrimaryName::of(self.about);
        let running = &self.host.running;
        running.tally(self.id, |tally| with(tally.told(&about, now), now, again))
    }

    /// Writes what is to be written; gives how long it has to wait where that is later.
    async fn put(&self, put: Put) -> Result<Option<Duration>, WriteError> {
        let put = match put {
            Put::Create => match self.write(Request::Create(self.whole())).await {
                Err(WriteError::AlreadyExists) => self.found().await?,
                created => return created.map(|_| None),
            },
            put => put,
        };
        match put {
            Put::Nothing | Put::Create => Ok(None),
            Put::Later(left) => Ok(Some(left)),
            Put::TooMuch => {
                self.host.metrics.events_dropped.inc();
                Ok(None)
            }
            Put::Series(count) => match self.write(Request::MergePatch(self.series(count))).await {
                Err(WriteError::NotFound(_)) => {
                    self.told(|told, _, _| {
                        told.expired(&self.name);
                        Put::Nothing
                    });
                    self.write(Request::Create(self.whole())).await.map(|_| None)
                }
                written => written.map(|_| None),
            },
        }
    }

    /// What is to be written of an Event that the host before this one made. A patch with nothing in it changes nothing and
    /// shows what is there, so that nobody needs a right to read Events.
    async fn found(&self) -> Result<Put, WriteError> {
        let Some(there) = self.write(Request::MergePatch(json!({}))).await? else {
            return Ok(Put::Nothing);
        };
        let last = there.text_at(&["series", "lastObservedTime"]);
        let last = last.or_else(|| there.text_at(&["eventTime"]));
        let last = last.and_then(|time| time.parse::<Timestamp>().ok());
        let ago = last.map(|last| self.host.now().duration_since(last));
        let count = there.at(&["series", "count"]).and_then(Value::as_u64);
        let found = Found {
            count: count.and_then(|count| u32::try_from(count).ok()).unwrap_or(1),
            note: there.text_at(&[self.words().note]).unwrap_or_default(),
            // Of another clock, or none: as if it were long ago.
            ago: ago
                .and_then(|ago| Duration::try_from(ago).ok())
                .unwrap_or(Duration::MAX),
        };
        Ok(self.told(|told, now, again| told.found(&self.name, self.event, &found, now, again)))
    }

    fn words(&self) -> &'static Words {
        if self.event.from_guest { &NEW } else { &CORE }
    }

    fn namespace(&self) -> &str {
        self.about.namespace().unwrap_or(DEFAULT_NAMESPACE)
    }

    fn whole(&self) -> Object {
        let (event, about) = (self.event, self.about);
        let words = self.words();
        let object = json!({
            "apiVersion": words.api_version(),
            "kind": "Event",
            "metadata": {"namespace": self.namespace(), "name": self.name},
            "eventTime": format!("{:.6}", self.host.now()),
            words.controller: REPORTING_CONTROLLER,
            "reportingInstance": self.host.settings.instance,
            "action": "Reconcile",
            "reason": event.reason,
            words.note: cut(&event.note),
            "type": match event.severity { Severity::Normal => "Normal", Severity::Warning => "Warning" },
            words.about: {
                "apiVersion": about.kind().api_version(),
                "kind": about.kind().kind,
                "namespace": about.namespace(),
                "name": about.name(),
                "uid": about.uid(),
            },
        });
        Object::from_value(object).unwrap_or_default()
    }

    fn series(&self, count: u32) -> Value {
        let series = json!({"count": count, "lastObservedTime": format!("{:.6}", self.host.now())});
        if self.event.from_guest {
            // The note is in the name.
            return json!({"series": series});
        }
        json!({"series": series, self.words().note: cut(&self.event.note)})
    }

    async fn write(&self, request: Request) -> Result<Option<Object>, WriteError> {
        let write = Write {
            identity: match request {
                Request::Create(_) => self.identity.clone(),
                _ => Identity::Host,
            },
            target: Target {
                kind: KindInfo::namespaced(self.words().group, "v1", "Event", "events"),
                namespace: Some(self.namespace().into()),
                name: self.name.clone(),
            },
            subresource: Subresource::None,
            manager: HOST_FIELD_MANAGER.into(),
            request,
        };
        self.host.cluster.apply(&write).await
    }
}

/// What the fields of an Event are called in one of its two APIs.
struct Words {
    group: &'static str,
    note: &'static str,
    about: &'static str,
    controller: &'static str,
}

const CORE: Words = Words {
    group: "",
    note: "message",
    about: "involvedObject",
    controller: "reportingComponent",
};
const NEW: Words = Words {
    group: "events.k8s.io",
    note: "note",
    about: "regarding",
    controller: "reportingController",
};

impl Words {
    fn api_version(&self) -> &'static str {
        if self.group.is_empty() {
            "v1"
        } else {
            "events.k8s.io/v1"
        }
    }
}
