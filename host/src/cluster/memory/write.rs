//! Carries out one write from request to stored object, in the order in which the API server does it.

use super::attempt::{Attempt, Operation, Step};
use super::check::{check, conflict, fit};
use super::history::{Author, Verb};
use super::kinds::{Kind, Source, is_crd};
use super::managed::Managed;
use super::store::{Place, State};
use super::typed::misfit;
use super::writer::{Part, Writer};
use super::{normal, review, schema};
use serde_json::{Map, Value, json};
use windlass_core::object::Object;
use windlass_core::write::{Subresource, WriteError};

impl State {
    /// Carries out a write, records it, and does what follows from it.
    pub(super) fn write(&mut self, attempt: &Attempt<'_>) -> Result<Option<Object>, WriteError> {
        let of = &attempt.target.kind.of;
        let place = Place::new(of, attempt.target.namespace.as_deref(), &attempt.target.name);
        let before = self.read(&place, of);
        let result = self.attempt(attempt, &place);
        let mark = self.history.len();
        self.collect();
        let result = match (&attempt.operation, result) {
            (Operation::Delete { .. }, Ok(_)) => {
                let same = |left: &Object| before.as_ref().is_some_and(|before| before.uid() == left.uid());
                Ok(self.read(&place, of).filter(same))
            }
            (_, result) => result,
        };
        let after = result.as_ref().map_or_else(|_| before.clone(), Clone::clone);
        let record = attempt.record(before, after, result.as_ref().err().cloned());
        self.history.insert(mark, record);
        result
    }

    /// Records a write that fails for a reason from outside.
    pub(super) fn refuse(&mut self, attempt: &Attempt<'_>, error: WriteError) -> Result<Option<Object>, WriteError> {
        let of = &attempt.target.kind.of;
        let place = Place::new(of, attempt.target.namespace.as_deref(), &attempt.target.name);
        let before = self.read(&place, of);
        self.history
            .push(attempt.record(before.clone(), before, Some(error.clone())));
        Err(error)
    }

    fn attempt(&mut self, attempt: &Attempt<'_>, place: &Place) -> Result<Option<Object>, WriteError> {
        let unknown = || WriteError::NotFound("the server could not find the requested resource".into());
        let kind = self.kinds.find(&attempt.target.kind.of).ok_or_else(unknown)?;
        if attempt.subresource == Subresource::Status && !kind.served.status_subresource {
            return Err(unknown());
        }
        self.check_rights(attempt, &kind, place)?;
        if kind.served.kind.namespaced && place.namespace.is_none() {
            return Err(WriteError::Invalid(
                "an empty namespace may not be set during creation".into(),
            ));
        }
        let (time, api_version) = (self.time(), kind.served.kind.of.api_version());
        let part = attempt.part(&kind);
        let writer = Writer {
            manager: attempt.manager,
            api_version: &api_version,
            part,
            time: &time,
        };
        let step = Step {
            kind: &kind,
            place,
            writer,
        };
        let live = self.read(place, &kind.served.kind.of);
        match (&attempt.operation, live) {
            (Operation::Create(_), Some(_)) => Err(WriteError::AlreadyExists),
            (Operation::Create(body), None) => self.create(&step, body).map(Some),
            (Operation::Apply(body, _), None) if attempt.subresource == Subresource::None => {
                self.create_by_apply(&step, body).map(Some)
            }
            (_, None) => Err(WriteError::NotFound(format!(
                "{} {:?} not found",
                kind.resource(),
                place.name
            ))),
            (
                Operation::Delete {
                    uid,
                    resource_version,
                    propagation,
                },
                Some(live),
            ) => {
                check_preconditions(&kind, &live, uid, resource_version)?;
                self.delete(place, *propagation);
                Ok(None)
            }
            (operation, Some(live)) => self.change(&step, operation, &live),
        }
    }

    fn check_rights(&self, attempt: &Attempt<'_>, kind: &Kind, place: &Place) -> Result<(), WriteError> {
        let Author::Through(identity) = &attempt.author else {
            return Ok(());
        };
        let verbs: &[&str] = match attempt.verb() {
            Verb::Create => &["create"],
            Verb::Update => &["update"],
            Verb::Apply if self.object(place).is_none() && attempt.subresource == Subresource::None => {
                &["patch", "create"]
            }
            Verb::Apply | Verb::Patch => &["patch"],
            Verb::Delete => &["delete"],
        };
        verbs.iter().try_for_each(|verb| {
            let access = review::needed(kind, place.namespace.as_deref(), attempt.subresource, verb);
            self.rights.check(identity, &access, &place.name)
        })
    }

    /// Fails unless new objects may come where this one is to be.
    fn check_namespace(&self, place: &Place) -> Result<(), WriteError> {
        let Some(name) = &place.namespace else { return Ok(()) };
        match self.object(&Place::of_namespace(name)) {
            None => Err(WriteError::NotFound(format!("namespaces {name:?} not found"))),
            Some(namespace) if namespace.is_being_deleted() => Err(WriteError::Forbidden(format!(
                "unable to create new content in namespace {name} because it is being terminated"
            ))),
            Some(_) => Ok(()),
        }
    }

    fn create(&mut self, step: &Step<'_>, body: &Object) -> Result<Object, WriteError> {
        let mut object = body.clone();
        fit(
            step.kind,
            &mut object,
            step.place.namespace.as_deref(),
            &step.place.name,
        )?;
        if !object.resource_version().is_empty() {
            return Err(WriteError::Invalid(
                "resourceVersion should not be set on objects to be created".into(),
            ));
        }
        self.check_namespace(step.place)?;
        object.metadata_mut().remove("managedFields");
        let object = self.new_object(step, object)?;
        let mut managed = Managed::default();
        let empty = normal::empty(&object, step.kind.source == Source::Builtin);
        managed.update(&empty, &value(&object), step.kind.shape(), &step.writer);
        Ok(self.store_new(step, object, &managed))
    }

    fn create_by_apply(&mut self, step: &Step<'_>, body: &Object) -> Result<Object, WriteError> {
        let config = applied_body(step, body)?;
        if !config.uid().is_empty() {
            let why = "uid mismatch: the provided object specified uid";
            let why = format!("{why} {}, and no existing object was found", config.uid());
            return Err(conflict(step.kind, &step.place.name, &why));
        }
        self.check_namespace(step.place)?;
        let mut managed = Managed::default();
        let nothing = Value::Object(Map::new());
        let merged = managed.apply(&nothing, &value(&config), step.kind.shape(), &step.writer, true)?;
        let object = self.new_object(step, Object::from_value(merged).unwrap_or_default())?;
        Ok(self.store_new(step, object, &managed))
    }

    /// Gives a new object what the server gives it, and checks it.
    fn new_object(&mut self, step: &Step<'_>, mut object: Object) -> Result<Object, WriteError> {
        for field in [
            "uid",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "generation",
            "resourceVersion",
        ] {
            object.metadata_mut().remove(field);
        }
        if step.writer.part == Part::Main {
            object.0.remove("status");
        }
        normalise(step.kind, &mut object);
        check(step.kind, &object, None)?;
        if step.kind.source == Source::Builtin
            && let Some(status) = normal::first_status(&step.kind.served.kind.of.kind)
        {
            object.0.insert("status".into(), status);
        }
        if is_crd(&step.kind.served.kind.of) {
            object.0.insert("status".into(), established(&object, step.writer.time));
        }
        Ok(object)
    }

    fn store_new(&mut self, step: &Step<'_>, mut object: Object, managed: &Managed) -> Object {
        let uid = self.new_uid();
        let metadata = object.metadata_mut();
        metadata.insert("uid".into(), uid.into());
        metadata.insert("creationTimestamp".into(), step.writer.time.into());
        if step.kind.generation {
            metadata.insert("generation".into(), 1.into());
        }
        managed.encode(&mut object);
        self.put(step.place, object)
    }
}

/// The body of an apply, fit for its place.
pub(super) fn applied_body(step: &Step<'_>, body: &Object) -> Result<Object, WriteError> {
    if body.at(&["metadata", "managedFields"]).is_some() {
        return Err(WriteError::Invalid("metadata.managedFields must be nil".into()));
    }
    let mut config = body.clone();
    fit(
        step.kind,
        &mut config,
        step.place.namespace.as_deref(),
        &step.place.name,
    )?;
    if let Some(misfit) = misfit(&value(&config), step.kind.shape(), "") {
        let (of, namespace) = (&step.kind.served.kind.of, body.namespace().unwrap_or_default());
        return Err(WriteError::Invalid(format!(
            "failed to create typed patch object ({namespace}/{}; {}, Kind={}): {misfit}",
            step.place.name,
            if of.group.is_empty() {
                format!("/{}", of.version)
            } else {
                of.api_version()
            },
            of.kind
        )));
    }
    Ok(config)
}

fn check_preconditions(kind: &Kind, live: &Object, uid: &str, resource_version: &str) -> Result<(), WriteError> {
    let checks = [
        ("UID", uid, live.uid(), "deleted and then recreated"),
        ("ResourceVersion", resource_version, live.resource_version(), "modified"),
    ];
    for (what, wanted, is, happened) in checks.into_iter().filter(|(_, wanted, ..)| !wanted.is_empty()) {
        if wanted != is {
            return Err(WriteError::Conflict(format!(
                "Operation cannot be fulfilled on {} {:?}: the {what} in the precondition ({wanted}) does not match the \
                 {what} in record ({is}). The object might have been {happened}",
                kind.qualified(),
                live.name()
            )));
        }
    }
    Ok(())
}

pub(super) fn normalise(kind: &Kind, object: &mut Object) {
    normal::tidy_metadata(object);
    match &kind.source {
        Source::Builtin => normal::builtin(object),
        Source::Declared => normal::drop_nulls_of(object),
        Source::Crd(schema) => {
            schema::prune(&mut object.0, schema);
            let mut whole = value(object);
            schema::default(&mut whole, schema);
            *object = Object::from_value(whole).unwrap_or_default();
        }
    }
}

pub(super) fn value(object: &Object) -> Value {
    Value::Object(object.0.clone())
}

/// The status of a CRD that is served at once.
pub(super) fn established(crd: &Object, time: &str) -> Value {
    let condition = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": time});
    let versions = crd
        .at(&["spec", "versions"])
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let stored = versions.filter(|version| version.get("storage") == Some(&Value::Bool(true)));
    let stored: Vec<Value> = stored.filter_map(|version| version.get("name").cloned()).collect();
    json!({
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        "acceptedNames": crd.at(&["spec", "names"]).cloned().unwrap_or_default(),
        "storedVersions": stored,
    })
}
