//! Takes from the store what a decision depends on.

use super::secret_values;
use crate::cluster::ReadError;
use crate::host::Host;
use crate::running::Activation;
use windlass_core::decision::{Entry, Request};
use windlass_core::key::Key;
use windlass_core::key::PrimaryName;
use windlass_core::kind::{KindInfo, ObjectRef};
use windlass_core::manifest::Projection;
use windlass_core::names::finalizer;
use windlass_core::object::Object;
use windlass_core::project;
use windlass_core::rights::Access;

/// A decision's input, with the stored objects that it was made from.
pub(super) struct Assembled {
    pub(super) name: PrimaryName,
    /// As stored, with our own managedFields entries.
    pub(super) primary: Object,
    /// As stored, with our own managedFields entries.
    pub(super) children: Vec<Object>,
    /// None where the guest is not asked.
    pub(super) call: Option<Call>,
}

/// What the guest is called with.
pub(super) struct Call {
    pub(super) entry: Entry,
    pub(super) request: Request,
    /// Makes the guest's random numbers.
    pub(super) random: Vec<u8>,
}

/// Why a primary cannot be shown to its guest.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("the ServiceAccount may not {verb} {resource}{place}", verb = .0.verb, resource = .0.resource, place = place(.0))]
    Forbidden(Access),
    #[error("the values of {0} could not be read, and it is tried again: {1}")]
    Secret(ObjectRef, String),
    #[error(transparent)]
    Unknown(#[from] ReadError),
}

fn place(access: &Access) -> String {
    access
        .namespace
        .as_deref()
        .map(|namespace| format!(" in namespace {namespace}"))
        .unwrap_or_default()
}

/// Everything for one decision; none if there is nothing to decide about.
pub(super) async fn assemble(host: &Host, activation: &Activation, key: &Key) -> Result<Option<Assembled>, Unreadable> {
    let name = PrimaryName {
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    };
    let watch = activation.watched.primary(key.namespace.as_deref());
    let Some(primary) = watch.and_then(|watch| host.store.get(watch, key.namespace.as_deref(), &key.name)) else {
        activation.forget(&name);
        return Ok(None);
    };
    let manifest = &activation.manifest;
    let entry = if primary.is_being_deleted() {
        let ours = finalizer(&activation.id);
        if !primary.finalizers().any(|finalizer| finalizer == ours) {
            // The garbage collector takes the children; what it waits for is told, and nothing else is done.
            activation.forget(&name);
            return Ok(Some(Assembled {
                name,
                children: children(host, activation, primary.uid()),
                primary,
                call: None,
            }));
        }
        Entry::Finalize
    } else {
        Entry::Reconcile
    };
    permitted(
        host,
        activation,
        &manifest.primary.kind,
        "get",
        key.namespace.as_deref(),
    )
    .await?;
    for child in &manifest.children {
        permitted(host, activation, &child.kind, "list", key.namespace.as_deref()).await?;
    }
    let children = children(host, activation, primary.uid());
    let seed = activation
        .seed_key
        .as_deref()
        .map(|key| crate::seed::seed(key, &activation.id, primary.uid()));
    let declared = &manifest.primary;
    let request = Request {
        reconciler: activation.id.clone(),
        primary: secret_values::shown(host, activation, &declared.kind, &declared.projection, &primary).await?,
        children: shown_children(host, activation, &children).await?,
        not_served: activation.not_served.clone(),
        answers: Vec::new(),
        settings: activation.settings.clone(),
        now: if manifest.needs_clock {
            u64::try_from(host.now().as_millisecond()).unwrap_or_default()
        } else {
            0
        },
        seed: seed.clone(),
    };
    let random = seed.map_or_else(|| primary.uid().as_bytes().to_vec(), |seed| seed.bytes().to_vec());
    Ok(Some(Assembled {
        name,
        primary,
        children,
        call: Some(Call { entry, request, random }),
    }))
}

/// The children of a primary as they are now, ordered by kind, namespace and name.
pub(super) fn children(host: &Host, activation: &Activation, uid: &str) -> Vec<Object> {
    let mut children: Vec<Object> = activation
        .watched
        .children
        .iter()
        .flat_map(|watch| host.store.by_primary_uid(watch, uid))
        .collect();
    children.sort_by_key(Object::reference);
    children
}

async fn shown_children(host: &Host, activation: &Activation, children: &[Object]) -> Result<Vec<Object>, Unreadable> {
    let mut shown = Vec::with_capacity(children.len());
    for child in children {
        shown.push(match activation.manifest.child(&child.kind()) {
            Some(declared) => {
                secret_values::shown(host, activation, &declared.kind, &declared.projection, child).await?
            }
            None => project::for_guest(child, &Projection::Metadata),
        });
    }
    Ok(shown)
}

/// Nothing reaches a guest that its account may not read itself.
pub(super) async fn permitted(
    host: &Host,
    activation: &Activation,
    kind: &KindInfo,
    verb: &str,
    namespace: Option<&str>,
) -> Result<(), Unreadable> {
    let access = Access {
        verb: verb.into(),
        group: kind.of.group.clone(),
        resource: kind.plural.clone(),
        namespace: namespace.filter(|_| kind.namespaced).map(Into::into),
    };
    if host
        .permissions
        .allowed(&*host.cluster, &activation.actor.identity, &access)
        .await?
    {
        return Ok(());
    }
    host.note_a_no(&activation.id);
    Err(Unreadable::Forbidden(access))
}
