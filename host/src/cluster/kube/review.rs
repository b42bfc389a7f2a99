//! Asks the cluster's own authorizer whether an identity may do something.

use super::request;
use super::transport::Transport;
use crate::cluster::ReadError;
use serde_json::{Value, json};
use windlass_core::rights::Access;
use windlass_core::write::Identity;

const PATH: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// Asks as the identity itself, so that the server adds its groups.
pub(super) async fn allowed(transport: &Transport, identity: &Identity, access: &Access) -> Result<bool, ReadError> {
    let request =
        request::post(PATH, identity, &review(access)).map_err(|error| ReadError::Unavailable(error.to_string()))?;
    let body = transport.send(request).await?;
    let answer: Value = serde_json::from_slice(&body)
        .map_err(|error| ReadError::Unavailable(format!("the access review cannot be read: {error}")))?;
    Ok(answer["status"]["allowed"] == Value::Bool(true))
}

fn review(access: &Access) -> Value {
    let (resource, subresource) = access.resource.split_once('/').unwrap_or((&access.resource, ""));
    json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {
            "verb": access.verb,
            "group": access.group,
            "resource": resource,
            "subresource": subresource,
            // Empty is all namespaces, and what cluster-scoped kinds have.
            "namespace": access.namespace.as_deref().unwrap_or_default(),
        }},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subresource_should_be_asked_for_as_one() {
        let access = Access {
            verb: "patch".into(),
            group: "apps".into(),
            resource: "deployments/status".into(),
            namespace: Some("a".into()),
        };
        let expected = json!({"verb": "patch", "group": "apps", "resource": "deployments", "subresource": "status",
            "namespace": "a"});
        assert_eq!(review(&access)["spec"]["resourceAttributes"], expected);
    }

    #[test]
    fn no_namespace_should_mean_all_of_them() {
        let access = Access {
            verb: "list".into(),
            group: String::new(),
            resource: "pods".into(),
            namespace: None,
        };
        assert_eq!(review(&access)["spec"]["resourceAttributes"]["namespace"], "");
    }
}
