//! Reads and writes single objects.

use super::error::Failure;
use super::request;
use super::transport::Transport;
use crate::cluster::ReadError;
use windlass_core::object::Object;
use windlass_core::secrets::is_secret;
use windlass_core::write::{Request, Target, Write, WriteError};

/// One object, whole and live.
pub(super) async fn get(transport: &Transport, target: &Target) -> Result<Option<Object>, ReadError> {
    let request = request::get(target).map_err(|error| ReadError::Unavailable(error.to_string()))?;
    match transport.send(request).await {
        Ok(body) => object(&body).map(Some).map_err(ReadError::from),
        Err(failure) if failure.is_not_found() => Ok(None),
        Err(failure) => Err(failure.into()),
    }
}

/// One write; gives what is left of the object.
pub(super) async fn apply(transport: &Transport, write: &Write) -> Result<Option<Object>, WriteError> {
    let request = request::write(write).map_err(|error| WriteError::Invalid(error.to_string()))?;
    let answer = transport.send(request).await.map_err(|failure| {
        let failure = match is_secret(&write.target.kind) {
            true => failure.without_values(),
            false => failure,
        };
        failure.for_write(&write.request)
    })?;
    let object = object(&answer).map_err(|failure| failure.for_write(&write.request))?;
    Ok(left(object, &write.request))
}

fn object(body: &[u8]) -> Result<Object, Failure> {
    serde_json::from_slice(body).map_err(|error| Failure::unanswered(format!("the answer cannot be read: {error}")))
}

/// The object of an answer, none where it is the last that was seen of it.
///
/// A delete answers with a `Status`, or for some kinds with the object that is no more. Without a deletion mark, or with
/// nothing that it still waits for, it is gone. So it is when a patch takes off the last finalizer.
fn left(object: Object, request: &Request) -> Option<Object> {
    let waits = object.finalizers().next().is_some()
        || object
            .at(&["metadata", "deletionGracePeriodSeconds"])
            .and_then(|seconds| seconds.as_i64())
            .unwrap_or(0)
            > 0;
    let stays = match (request, object.is_being_deleted()) {
        (Request::Delete { .. }, false) => false,
        (_, true) => waits,
        (_, false) => true,
    };
    stays.then_some(object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use windlass_core::decision::Propagation;

    #[test]
    fn what_is_left_should_follow_from_the_answer() {
        let delete = Request::Delete {
            uid: "u".into(),
            resource_version: String::new(),
            propagation: Propagation::Background,
        };
        let patch = Request::JsonPatch(Vec::new());
        let table = [
            (
                &delete,
                json!({"kind": "Status", "status": "Success", "metadata": {}}),
                false,
            ),
            (&delete, json!({"kind": "Service", "metadata": {"name": "a"}}), false),
            (
                &delete,
                json!({"metadata": {"deletionTimestamp": "t", "deletionGracePeriodSeconds": 0}}),
                false,
            ),
            (
                &delete,
                json!({"metadata": {"deletionTimestamp": "t", "deletionGracePeriodSeconds": 30}}),
                true,
            ),
            (
                &delete,
                json!({"metadata": {"deletionTimestamp": "t", "finalizers": ["a"]}}),
                true,
            ),
            (&patch, json!({"metadata": {"name": "a"}}), true),
            (
                &patch,
                json!({"metadata": {"deletionTimestamp": "t", "finalizers": ["a"]}}),
                true,
            ),
            (
                &patch,
                json!({"metadata": {"deletionTimestamp": "t", "deletionGracePeriodSeconds": 0}}),
                false,
            ),
        ];
        for (request, answer, stays) in table {
            let shown = answer.to_string();
            assert_eq!(
                left(Object::from_value(answer).unwrap(), request).is_some(),
                stays,
                "{shown}"
            );
        }
    }
}
