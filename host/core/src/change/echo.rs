//! Tells whether a write of ours explains all that came back with it.

use super::{Change, primary_uid_of};
use crate::manifest::Projection;
use crate::object::Object;
use crate::project::for_guest;
use crate::write::{Request, Subresource, Write};
use serde_json::{Map, Value, json};

/// Whether a change shows nothing but what this write asked for. Of that its writer need not be told. Of anything
/// else that came back with it the writer has to be: the watch will not say it again, since what is stored by then is newer.
pub fn is_echo(write: &Write, change: &Change) -> bool {
    let (Some(old), Some(new)) = (&change.old, &change.new) else {
        return matches!(write.request, Request::Create(_));
    };
    let mut intent = match &write.request {
        Request::Create(object) | Request::Apply { object, .. } => Value::Object(object.0.clone()),
        Request::MergePatch(patch) => patch.clone(),
        // Of what is shown they touch the finalizers alone.
        Request::JsonPatch(_) => json!({"metadata": {"finalizers": []}}),
        Request::Delete { .. } => Value::Null,
    };
    if write.subresource == Subresource::Status
        && let Some(intent) = intent.as_object_mut()
    {
        // Fields that were given up go without being named.
        intent.insert("status".into(), Value::Null);
    }
    let bumps_generation = write.subresource == Subresource::None && primary_uid_of(new).is_some();
    let shown = |object: &Object| {
        let mut object = for_guest(object, &Projection::Full);
        if bumps_generation {
            object.metadata_mut().remove("generation");
        }
        Value::Object(object.0)
    };
    is_explained(Some(&shown(old)), Some(&shown(new)), Some(&intent))
}

fn is_explained(old: Option<&Value>, new: Option<&Value>, intent: Option<&Value>) -> bool {
    if old == new {
        return true;
    }
    let Some(Value::Object(intent)) = intent else {
        return intent.is_some();
    };
    let empty = Map::new();
    let map = |value: Option<&'_ Value>| {
        value
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_else(|| empty.clone())
    };
    let (old, new) = (map(old), map(new));
    let mut keys = old.keys().chain(new.keys());
    keys.all(|key| is_explained(old.get(key), new.get(key), intent.get(key)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::KindInfo;
    use crate::write::{Identity, Target};

    fn object(body: Value) -> Object {
        let mut object = Object::from_value(body).unwrap();
        object.metadata_mut().insert("name".into(), "web".into());
        object
    }

    fn echo(request: Request, subresource: Subresource, old: Value, new: Value) -> bool {
        let kind = KindInfo::namespaced("apps", "v1", "Deployment", "deployments");
        let new = object(new);
        let write = Write {
            identity: Identity::Host,
            target: Target::of(&kind, &new),
            subresource,
            manager: "windlass:a:b".into(),
            request,
        };
        let change = Change {
            of: kind.of,
            old: Some(object(old)),
            new: Some(new),
        };
        is_echo(&write, &change)
    }

    fn apply(body: Value) -> Request {
        Request::Apply {
            object: object(body),
            force: true,
        }
    }

    #[test]
    fn a_status_write_explains_the_status_and_nothing_else() {
        let old = json!({"metadata": {"generation": 1, "resourceVersion": "1"}, "status": {"healthy": true}});
        let new = json!({"metadata": {"generation": 1, "resourceVersion": "2"}});
        let status = || apply(json!({"status": {}}));
        assert!(echo(status(), Subresource::Status, old.clone(), new));
        for other in [
            json!({"metadata": {"generation": 2}, "spec": {"replicas": 2}}),
            json!({"metadata": {"generation": 1, "labels": {"a": "b"}}}),
            json!({"metadata": {"generation": 1, "deletionTimestamp": "2026-01-01T00:00:00Z"}}),
        ] {
            assert!(
                !echo(status(), Subresource::Status, old.clone(), other.clone()),
                "{other}"
            );
        }
    }

    #[test]
    fn an_apply_explains_what_it_names_and_the_generation_of_a_child() {
        let labels = json!({"windlass.dev/primary-uid": "u"});
        let child = |replicas: u8, generation: u8, status: u8| {
            json!({
                "metadata": {"labels": labels, "generation": generation},
                "spec": {"replicas": replicas}, "status": {"ready": status},
            })
        };
        let request = || apply(json!({"spec": {"replicas": 2}}));
        assert!(echo(request(), Subresource::None, child(1, 1, 0), child(2, 2, 0)));
        assert!(!echo(request(), Subresource::None, child(1, 1, 0), child(2, 2, 1)));
    }

    #[test]
    fn a_finalizer_is_explained_and_a_deletion_that_came_with_it_is_not() {
        let old = json!({"metadata": {}});
        let new = json!({"metadata": {"finalizers": ["ours"]}});
        let patch = || Request::JsonPatch(Vec::new());
        assert!(echo(patch(), Subresource::None, old.clone(), new.clone()));
        let mut going = new;
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert!(!echo(patch(), Subresource::None, old, going));
    }
}
