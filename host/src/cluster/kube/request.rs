//! Turns values of the core into HTTP requests, without sending them.

use crate::cluster::WatchKey;
use http::header::{ACCEPT, CONTENT_TYPE, InvalidHeaderValue};
use http::{HeaderValue, Method, Request};
use serde_json::{Value, json};
use windlass_core::decision::Propagation;
use windlass_core::kind::KindInfo;
use windlass_core::manifest::Projection;
use windlass_core::write::{self, Identity, Subresource, Target, Write};

const JSON: &str = "application/json";
/// Metadata only, where the server can do that: the rest is then cut off here.
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// Objects asked for at once: the answer is held in memory whole.
pub(super) const PAGE: usize = 500;

/// Why something cannot be a request at all.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    /// An empty name would make the path that of the whole collection: a delete would then delete all of it.
    #[error("`{0}` cannot be a name in a request path")]
    Name(String),
    #[error("`{0}` cannot be impersonated")]
    Identity(String, #[source] InvalidHeaderValue),
    #[error("not a request")]
    Http(#[from] http::Error),
    #[error("not JSON")]
    Json(#[from] serde_json::Error),
}

/// One write.
pub(super) fn write(write: &Write) -> Result<Request<Vec<u8>>, RequestError> {
    let Write {
        identity,
        target,
        manager,
        request,
        ..
    } = write;
    let object = object_path(target, write.subresource)?;
    let manager = ("fieldManager", manager.as_str());
    let strict = ("fieldValidation", "Strict");
    let (method, path, query, content_type, body) = match request {
        write::Request::Create(object) => {
            let path = collection_path(&target.kind, target.namespace.as_deref())?;
            (
                Method::POST,
                path,
                query(&[manager, strict]),
                JSON,
                serde_json::to_vec(object)?,
            )
        }
        write::Request::Apply { object: body, force } => {
            let force = ("force", if *force { "true" } else { "false" });
            let query = query(&[manager, force, strict]);
            (
                Method::PATCH,
                object,
                query,
                "application/apply-patch+yaml",
                serde_json::to_vec(body)?,
            )
        }
        // Not strict: it moves single known fields, such as a finalizer, and must not fail on anything else.
        write::Request::JsonPatch(operations) => {
            let query = query(&[manager]);
            (
                Method::PATCH,
                object,
                query,
                "application/json-patch+json",
                serde_json::to_vec(operations)?,
            )
        }
        write::Request::MergePatch(patch) => {
            let query = query(&[manager, strict]);
            (
                Method::PATCH,
                object,
                query,
                "application/merge-patch+json",
                serde_json::to_vec(patch)?,
            )
        }
        write::Request::Delete {
            uid,
            resource_version,
            propagation,
        } => {
            let options = delete_options(uid, resource_version, *propagation);
            (
                Method::DELETE,
                object,
                String::new(),
                JSON,
                serde_json::to_vec(&options)?,
            )
        }
    };
    build(method, &(path + &query), content_type, identity, body)
}

/// One object.
pub(super) fn get(target: &Target) -> Result<Request<Vec<u8>>, RequestError> {
    read(&object_path(target, Subresource::None)?, JSON)
}

/// One page of a list. `limit` is none for all at once, `token` is empty for the first page.
pub(super) fn list(key: &WatchKey, limit: Option<usize>, token: &str) -> Result<Request<Vec<u8>>, RequestError> {
    let limit = limit.map(|limit| limit.to_string()).unwrap_or_default();
    let query = query(&[("labelSelector", &key.selector), ("limit", &limit), ("continue", token)]);
    let accept = if key.projection == Projection::Metadata {
        METADATA_LIST
    } else {
        JSON
    };
    read(
        &(collection_path(&key.kind, key.namespace.as_deref())? + &query),
        accept,
    )
}

/// A watch from a resourceVersion on.
pub(super) fn watch(key: &WatchKey, resource_version: &str, seconds: u64) -> Result<Request<Vec<u8>>, RequestError> {
    let query = query(&[
        ("labelSelector", &key.selector),
        ("watch", "true"),
        ("allowWatchBookmarks", "true"),
        ("resourceVersion", resource_version),
        ("timeoutSeconds", &seconds.to_string()),
    ]);
    let accept = if key.projection == Projection::Metadata {
        METADATA
    } else {
        JSON
    };
    read(
        &(collection_path(&key.kind, key.namespace.as_deref())? + &query),
        accept,
    )
}

/// A GET as the host itself.
pub(super) fn read(path_and_query: &str, accept: &str) -> Result<Request<Vec<u8>>, RequestError> {
    Ok(Request::get(path_and_query).header(ACCEPT, accept).body(Vec::new())?)
}

/// A POST of something that is not stored.
pub(super) fn post(path: &str, identity: &Identity, body: &Value) -> Result<Request<Vec<u8>>, RequestError> {
    build(Method::POST, path, JSON, identity, serde_json::to_vec(body)?)
}

fn build(
    method: Method,
    path_and_query: &str,
    content_type: &str,
    identity: &Identity,
    body: Vec<u8>,
) -> Result<Request<Vec<u8>>, RequestError> {
    let mut request = Request::builder()
        .method(method)
        .uri(path_and_query)
        .header(ACCEPT, JSON)
        .header(CONTENT_TYPE, content_type)
        .body(body)?;
    if let Identity::ServiceAccount { namespace, name } = identity {
        let user = format!("system:serviceaccount:{namespace}:{name}");
        // The groups of a ServiceAccount are added by the server.
        let value = HeaderValue::from_str(&user).map_err(|error| RequestError::Identity(user, error))?;
        request.headers_mut().insert("impersonate-user", value);
    }
    Ok(request)
}

fn delete_options(uid: &str, resource_version: &str, propagation: Propagation) -> Value {
    let mut preconditions = json!({"uid": uid});
    if !resource_version.is_empty() {
        preconditions["resourceVersion"] = resource_version.into();
    }
    let policy = match propagation {
        Propagation::Background => "Background",
        Propagation::Foreground => "Foreground",
        Propagation::Orphan => "Orphan",
    };
    json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions, "propagationPolicy": policy})
}

fn object_path(target: &Target, subresource: Subresource) -> Result<String, RequestError> {
    let collection = collection_path(&target.kind, target.namespace.as_deref())?;
    let name = segment(&target.name)?;
    Ok(match subresource {
        Subresource::None => format!("{collection}/{name}"),
        Subresource::Status => format!("{collection}/{name}/status"),
    })
}

fn collection_path(kind: &KindInfo, namespace: Option<&str>) -> Result<String, RequestError> {
    let root = version_path(&kind.of.group, &kind.of.version)?;
    let plural = segment(&kind.plural)?;
    Ok(match namespace.filter(|_| kind.namespaced) {
        Some(namespace) => format!("{root}/namespaces/{}/{plural}", segment(namespace)?),
        None => format!("{root}/{plural}"),
    })
}

/// Where the resources of one version of a group are.
pub(super) fn version_path(group: &str, version: &str) -> Result<String, RequestError> {
    Ok(match group {
        "" => format!("/api/{}", segment(version)?),
        group => format!("/apis/{}/{}", segment(group)?, segment(version)?),
    })
}

/// One part of a path, by the server's own rule for names.
fn segment(text: &str) -> Result<String, RequestError> {
    if matches!(text, "" | "." | "..") || text.contains(['/', '%']) {
        return Err(RequestError::Name(text.into()));
    }
    Ok(encode(text))
}

/// A query with its question mark; what is empty is left out.
fn query(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().filter(|(_, value)| !value.is_empty());
    let query: Vec<_> = pairs.map(|(key, value)| format!("{key}={}", encode(value))).collect();
    if query.is_empty() {
        String::new()
    } else {
        format!("?{}", query.join("&"))
    }
}

fn encode(text: &str) -> String {
    text.bytes()
        .fold(String::with_capacity(text.len()), |mut encoded, byte| {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => encoded.push(byte.into()),
                _ => encoded.push_str(&format!("%{byte:02X}")),
            }
            encoded
        })
}

#[cfg(test)]
mod tests;
