//! Lets people and tests act on the cluster directly, as `kubectl` would, and load what `simulate` starts from.

use super::MemoryCluster;
use super::attempt::{Attempt, Force, Operation};
use super::check::check;
use super::history::Author;
use super::kinds::{is_crd, is_namespace};
use super::managed::Managed;
use super::store::{Place, State};
use super::write::{established, normalise, value};
use super::writer::{Part, Writer};
use serde_json::{Value, json};
use windlass_core::decision::Propagation;
use windlass_core::kind::{KindInfo, KindRef, ObjectRef};
use windlass_core::object::Object;
use windlass_core::write::{Subresource, Target, WriteError};

/// Field manager of people's writes.
const KUBECTL: &str = "kubectl";

impl MemoryCluster {
    /// Creates an object.
    pub fn create(&self, object: &Object) -> Result<Object, WriteError> {
        self.act(
            &object.reference(),
            KUBECTL,
            Subresource::None,
            Operation::Create(object),
        )
        .map(Option::unwrap_or_default)
    }

    /// Puts an object in the place of the one of its name; nothing is left if that was the end of a deletion.
    pub fn update(&self, object: &Object) -> Result<Option<Object>, WriteError> {
        self.act(
            &object.reference(),
            KUBECTL,
            Subresource::None,
            Operation::Replace(object),
        )
    }

    /// Sets the status of an object, as a controller of the cluster would.
    pub fn update_status(&self, object: &Object) -> Result<Option<Object>, WriteError> {
        self.act(
            &object.reference(),
            KUBECTL,
            Subresource::Status,
            Operation::Replace(object),
        )
    }

    /// Applies an object without force.
    pub fn apply_as(&self, manager: &str, object: &Object) -> Result<Object, WriteError> {
        let operation = Operation::Apply(object, Force::No);
        self.act(&object.reference(), manager, Subresource::None, operation)
            .map(Option::unwrap_or_default)
    }

    /// Applies an object, taking over what others own.
    pub fn apply_by_force_as(&self, manager: &str, object: &Object) -> Result<Object, WriteError> {
        let operation = Operation::Apply(object, Force::Yes);
        self.act(&object.reference(), manager, Subresource::None, operation)
            .map(Option::unwrap_or_default)
    }

    /// Patches an object with a merge patch.
    pub fn patch(&self, object: &ObjectRef, patch: &Value) -> Result<Option<Object>, WriteError> {
        self.act(object, KUBECTL, Subresource::None, Operation::MergePatch(patch))
    }

    /// Does `kubectl scale`.
    pub fn scale(&self, object: &ObjectRef, replicas: i64) -> Result<Option<Object>, WriteError> {
        self.act(object, KUBECTL, Subresource::None, Operation::Scale(replicas))
    }

    /// Deletes an object; gives what is left of it.
    pub fn delete(&self, object: &ObjectRef, propagation: Propagation) -> Result<Option<Object>, WriteError> {
        let operation = Operation::Delete {
            uid: "",
            resource_version: "",
            propagation,
        };
        self.act(object, KUBECTL, Subresource::None, operation)
    }

    /// The object as it is now.
    pub fn find(&self, object: &ObjectRef) -> Option<Object> {
        let place = Place::new(&object.of, object.namespace.as_deref(), &object.name);
        self.shared.with(|state| state.read(&place, &object.of))
    }

    /// All objects of a kind, in order of namespace and name.
    pub fn list(&self, kind: &KindRef) -> Vec<Object> {
        self.shared.with(|state| {
            state
                .of_kind(kind)
                .filter_map(|(place, _)| state.read(place, kind))
                .collect()
        })
    }

    /// Every object there is.
    pub fn everything(&self) -> Vec<Object> {
        self.shared
            .with(|state| state.all().map(|(_, object)| object.clone()).collect())
    }

    /// Takes objects in as they are: status, uid and owners of fields as given, CRDs and Namespaces first.
    ///
    /// Owners that are named and not among the objects are taken to exist: nothing is collected by being loaded.
    pub fn load(&self, mut objects: Vec<Object>) -> Result<(), WriteError> {
        objects.sort_by_key(|object| (!is_crd(&object.kind()), !is_namespace(&object.kind())));
        for object in &objects {
            if let Some(namespace) = object.namespace() {
                self.ensure_namespace(namespace);
            }
        }
        self.shared.with(|state| {
            let result = objects.into_iter().try_for_each(|object| state.load(object));
            let named: Vec<String> = state
                .dependents
                .keys()
                .filter(|uid| !state.uids.contains_key(*uid))
                .cloned()
                .collect();
            let gone = &state.gone;
            let unknown: Vec<String> = named.into_iter().filter(|uid| !gone.contains(uid)).collect();
            state.assumed.extend(unknown);
            state.collect();
            result
        })
    }

    /// Makes a Namespace where there is none.
    pub(super) fn ensure_namespace(&self, name: &str) {
        self.shared.with(|state| {
            let place = Place::of_namespace(name);
            if state.object(&place).is_none() {
                let namespace = json!({
                    "apiVersion": "v1",
                    "kind": "Namespace",
                    "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
                    "status": {"phase": "Active"},
                });
                let namespace = Object::from_value(namespace).unwrap_or_default();
                // A name that is no name of a Namespace is refused at the write that uses it.
                let _ = state.load(namespace);
            }
        });
    }

    fn act(
        &self,
        object: &ObjectRef,
        manager: &str,
        subresource: Subresource,
        operation: Operation<'_>,
    ) -> Result<Option<Object>, WriteError> {
        if let Some(namespace) = &object.namespace
            && matches!(operation, Operation::Create(_) | Operation::Apply(..))
        {
            self.ensure_namespace(namespace);
        }
        let kind = self
            .shared
            .with(|state| state.kinds.find(&object.of))
            .map(|kind| kind.served.kind.clone());
        // A kind that is not served is refused by the write itself.
        let kind = kind.unwrap_or_else(|| KindInfo {
            of: object.of.clone(),
            plural: String::new(),
            namespaced: true,
        });
        let target = Target {
            kind,
            namespace: object.namespace.clone(),
            name: object.name.clone(),
        };
        self.write(&Attempt {
            author: Author::Person,
            target: &target,
            subresource,
            manager,
            operation,
        })
    }
}

impl State {
    /// Stores one object as it is given.
    fn load(&mut self, mut object: Object) -> Result<(), WriteError> {
        let of = object.kind();
        let unknown = || WriteError::NotFound(format!("no kind {of} is served: its CRD has to come with it"));
        let kind = self.kinds.find(&of).ok_or_else(unknown)?;
        normalise(&kind, &mut object);
        check(&kind, &object, None)?;
        let time = self.time();
        if is_crd(&of) {
            object.0.insert("status".into(), established(&object, &time));
        }
        let uid = if object.uid().is_empty() {
            self.new_uid()
        } else {
            object.uid().to_owned()
        };
        let metadata = object.metadata_mut();
        metadata.insert("uid".into(), uid.into());
        metadata
            .entry("creationTimestamp")
            .or_insert_with(|| time.clone().into());
        if kind.generation {
            metadata.entry("generation").or_insert_with(|| 1.into());
        }
        if object.at(&["metadata", "managedFields"]).is_none() {
            let (part, api_version) = (Part::Whole, of.api_version());
            let writer = Writer {
                manager: KUBECTL,
                api_version: &api_version,
                part,
                time: &time,
            };
            let mut managed = Managed::default();
            managed.update(&json!({"metadata": {}}), &value(&object), kind.shape(), &writer);
            managed.encode(&mut object);
        }
        let place = Place::new(
            &of,
            object.namespace().filter(|_| kind.served.kind.namespaced),
            object.name(),
        );
        self.put(&place, object);
        Ok(())
    }
}
