//! Finds our finalizers and takes them off, with the rights of a person.

use super::person::{Person, target};
use super::progress::Progress;
use crate::api::reconciler_kind;
use anyhow::bail;
use futures::{StreamExt, stream};
use serde::Serialize;
use serde_json::{Value, json};
use windlass_core::key::ReconcilerId;
use windlass_core::kind::KindInfo;
use windlass_core::names::FINALIZER_RELEASE;
use windlass_core::object::Object;
use windlass_core::plan;
use windlass_core::write::{Actor, Identity, Request, Target, WriteError};

/// How all finalizers on primaries end; in front of it are name and namespace of the Reconciler.
const ENDING: &str = ".reconciler.windlass.dev/finalize";
/// How many are taken off at once.
const AT_ONCE: usize = 8;
/// How often one is tried that somebody else changes all the time.
const ATTEMPTS: usize = 10;

/// Primaries of one kind that carry finalizers of ours, as they were listed.
pub(super) struct Held {
    pub(super) kind: KindInfo,
    pub(super) objects: Vec<Object>,
}

/// What became of them.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Released {
    /// How many carry none of these finalizers any more.
    pub(super) released: usize,
    /// Those that still do.
    pub(super) left: Vec<Left>,
}

/// One that still carries a finalizer.
#[derive(Debug, Serialize)]
pub(super) struct Left {
    /// Kind, namespace and name.
    object: String,
    /// Why it could not be taken off.
    why: String,
}

impl Released {
    pub(super) fn add(&mut self, other: Self) {
        self.released += other.released;
        self.left.extend(other.left);
    }

    /// One line for each that is left.
    pub(super) fn words(&self) -> String {
        let lines = self
            .left
            .iter()
            .map(|left| format!("\n  {}: {}", left.object, left.why));
        lines.collect()
    }
}

/// The Reconcilers whose finalizers an object carries.
pub(super) fn holders(object: &Object) -> impl Iterator<Item = ReconcilerId> {
    object.finalizers().filter_map(|finalizer| {
        let (name, namespace) = finalizer.strip_suffix(ENDING)?.split_once('.')?;
        Some(ReconcilerId::new(namespace, name))
    })
}

/// Takes the finalizers of one Reconciler, or all of ours, off these objects. What fails does not stop the others.
pub(super) async fn release(
    person: &Person,
    held: &Held,
    whose: Option<&ReconcilerId>,
    progress: &Progress,
) -> Released {
    let Held { kind, objects } = held;
    let one = async |object: &Object| {
        let holders = holders(object).filter(|holder| whose.is_none_or(|whose| whose == holder));
        for holder in holders {
            take_off(person, kind, object, holder).await.map_err(|why| Left {
                object: Target::of(kind, object).reference().to_string(),
                why,
            })?;
        }
        Ok(())
    };
    let mut outcomes = stream::iter(objects).map(one).buffer_unordered(AT_ONCE);
    let mut result = Released::default();
    while let Some(outcome) = outcomes.next().await {
        match outcome {
            Ok(()) => result.released += 1,
            Err(left) => result.left.push(left),
        }
        progress.count(format!(
            "{} of {} {} released",
            result.released,
            objects.len(),
            kind.plural
        ));
    }
    result
}

/// Takes one finalizer off one object; looks again as often as somebody else changes it.
async fn take_off(person: &Person, kind: &KindInfo, seen: &Object, reconciler: ReconcilerId) -> Result<(), String> {
    let identity = Identity::Host;
    let actor = Actor { reconciler, identity };
    let mut object = seen.clone();
    for _ in 0..ATTEMPTS {
        let Some(write) = plan::release(&actor, kind, &object) else {
            return Ok(());
        };
        let error = match person.write(&write.target, write.request).await {
            Ok(_) | Err(WriteError::NotFound(_)) => return Ok(()),
            Err(error) => error,
        };
        // A test of the patch that fails is not told from content that is refused; whether it changed, is.
        if !matches!(
            error,
            WriteError::Conflict(_) | WriteError::Stale(_) | WriteError::Invalid(_) | WriteError::Refused(_)
        ) {
            return Err(error.to_string());
        }
        match person.get(&write.target).await {
            Ok(None) => return Ok(()),
            Ok(Some(now)) if now.resource_version() == object.resource_version() => return Err(error.to_string()),
            Ok(Some(now)) => object = now,
            Err(error) => return Err(format!("{error:#}")),
        }
    }
    Err("somebody changes it all the time; stop whoever does, or run the command again".into())
}

/// Takes our finalizer off a Reconciler that is being deleted; says whether it did.
///
/// # Errors
/// Names the Reconciler and why it could not be written.
pub(super) async fn let_go(person: &Person, id: &ReconcilerId) -> anyhow::Result<bool> {
    let at = target(&reconciler_kind(), &id.namespace, &id.name);
    for _ in 0..ATTEMPTS {
        let Some(now) = person.get(&at).await? else {
            return Ok(false);
        };
        if !now.is_being_deleted() || !now.finalizers().any(|finalizer| finalizer == FINALIZER_RELEASE) {
            return Ok(false);
        }
        let rest = now.finalizers().filter(|other| *other != FINALIZER_RELEASE);
        let rest: Vec<Value> = rest.map(Value::from).collect();
        let patch = json!({"metadata": {
            "uid": now.uid(), "resourceVersion": now.resource_version(), "finalizers": rest,
        }});
        match person.write(&at, Request::MergePatch(patch)).await {
            Ok(_) | Err(WriteError::NotFound(_)) => return Ok(true),
            Err(WriteError::Conflict(_) | WriteError::Stale(_)) => {}
            Err(error) => return Err(person.unwritten(&at, &error)),
        }
    }
    bail!("Reconciler {id} is changed by somebody all the time; run the command again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_core::names::finalizer;

    #[test]
    fn whose_finalizers_an_object_carries_is_read_from_them() {
        let (one, other) = (ReconcilerId::new("team-a", "nginx"), ReconcilerId::new("b", "c"));
        let finalizers = json!([
            finalizer(&one),
            "foregroundDeletion",
            "x.windlass.dev/finalize",
            "nodot.reconciler.windlass.dev/finalize",
            finalizer(&other),
            FINALIZER_RELEASE,
        ]);
        let object = Object::from_value(json!({"metadata": {"finalizers": finalizers}})).unwrap();
        assert_eq!(holders(&object).collect::<Vec<_>>(), [one, other]);
    }

    #[test]
    fn what_is_left_is_named_line_by_line() {
        let left = |object: &str| Left {
            object: object.into(),
            why: "forbidden".into(),
        };
        let mut all = Released {
            released: 2,
            left: vec![left("Nginx a/b")],
        };
        all.add(Released {
            released: 1,
            left: vec![left("Nginx a/c")],
        });
        assert_eq!(all.released, 3);
        assert_eq!(all.words(), "\n  Nginx a/b: forbidden\n  Nginx a/c: forbidden");
        let shown = serde_json::to_value(&all).unwrap();
        assert_eq!(shown["left"][1], json!({"object": "Nginx a/c", "why": "forbidden"}));
    }
}
