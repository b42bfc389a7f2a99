//! Asks how one kind is served, and what its schema allows.

use super::error::Failure;
use super::request;
use super::transport::Transport;
use crate::cluster::ReadError;
use serde::Deserialize;
use std::sync::atomic::{AtomicBool, Ordering};
use windlass_core::kind::{KindInfo, KindRef};
use windlass_core::object::Object;
use windlass_core::schema::{Served, served_builtin, served_from_crd};

#[derive(Deserialize)]
struct ResourceList {
    #[serde(default)]
    resources: Vec<ApiResource>,
}

#[derive(Deserialize)]
struct ApiResource {
    name: String,
    kind: String,
    namespaced: bool,
}

/// How a kind is served now; none if it is not.
pub(super) async fn served(transport: &Transport, kind: &KindRef) -> Result<Option<Served>, ReadError> {
    let Ok(path) = request::version_path(&kind.group, &kind.version) else {
        return Ok(None);
    };
    let Some(body) = get(transport, &path).await? else {
        return Ok(None);
    };
    let list: ResourceList = serde_json::from_slice(&body).map_err(|error| unreadable(&path, &error))?;
    let Some((info, status)) = find(&list, kind) else {
        return Ok(None);
    };
    let custom = match crd(transport, &info).await? {
        Some(crd) => served_from_crd(&crd, &kind.version),
        None => None,
    };
    Ok(Some(custom.unwrap_or_else(|| served_builtin(info, status))))
}

/// The entry of a kind, and whether it has `/status`. Subresources are entries too, some with kinds of their own.
fn find(list: &ResourceList, kind: &KindRef) -> Option<(KindInfo, bool)> {
    let entry = list
        .resources
        .iter()
        .find(|entry| entry.kind == kind.kind && !entry.name.contains('/'))?;
    let status = list
        .resources
        .iter()
        .any(|other| other.name.strip_suffix("/status") == Some(&entry.name));
    let info = KindInfo {
        of: kind.clone(),
        plural: entry.name.clone(),
        namespaced: entry.namespaced,
    };
    Some((info, status))
}

/// The CustomResourceDefinition of a kind; none for built-in and aggregated kinds.
async fn crd(transport: &Transport, info: &KindInfo) -> Result<Option<Object>, ReadError> {
    // A CRD's group has a dot; core, apps, batch and their like have none.
    if !info.of.group.contains('.') {
        return Ok(None);
    }
    let group = &info.of.group;
    let path = format!(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}.{group}",
        info.plural
    );
    match get(transport, &path).await {
        Ok(Some(body)) => serde_json::from_slice(&body)
            .map(Some)
            .map_err(|error| unreadable(&path, &error)),
        Ok(None) => Ok(None),
        Err(ReadError::Forbidden(words)) => {
            static TOLD: AtomicBool = AtomicBool::new(false);
            if !TOLD.swap(true, Ordering::Relaxed) {
                tracing::warn!("custom kinds are taken for built-in ones, whose schema is not known: {words}");
            }
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A body, none where there is nothing at that path.
async fn get(transport: &Transport, path: &str) -> Result<Option<bytes::Bytes>, ReadError> {
    let request = request::read(path, "application/json").map_err(|error| ReadError::Unavailable(error.to_string()))?;
    match transport.send(request).await {
        Ok(body) => Ok(Some(body)),
        Err(failure) if failure.is_not_found() => Ok(None),
        Err(failure) => Err(failure.into()),
    }
}

fn unreadable(path: &str, error: &serde_json::Error) -> ReadError {
    Failure::unanswered(format!("the answer to {path} cannot be read: {error}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entry_should_be_found_among_its_subresources() {
        let list = serde_json::from_value(json!({"resources": [
            {"name": "pods/eviction", "kind": "Eviction", "namespaced": true},
            {"name": "pods", "kind": "Pod", "namespaced": true},
            {"name": "pods/status", "kind": "Pod", "namespaced": true},
            {"name": "nodes", "kind": "Node", "namespaced": false},
        ]}))
        .unwrap();
        let pod = KindInfo::namespaced("", "v1", "Pod", "pods");
        assert_eq!(find(&list, &pod.of), Some((pod.clone(), true)));
        let node = KindInfo::cluster_scoped("", "v1", "Node", "nodes");
        assert_eq!(find(&list, &node.of), Some((node.clone(), false)));
        assert_eq!(find(&list, &KindRef::new("", "v1", "Eviction")), None);
    }
}
