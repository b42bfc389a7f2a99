//! Reads from a request what it is about, as the API server would: verb, kind, object and user.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::request::Parts;
use http::{HeaderMap, Method};
use serde_json::Value;

/// What one request is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `apply` (server-side), `delete` or `deletecollection`.
    pub verb: &'static str,
    /// API group, empty for the core group and for requests about no object.
    pub group: String,
    /// Plural resource, empty for requests about no object, such as discovery.
    pub resource: String,
    /// Such as `status`, mostly empty.
    pub subresource: String,
    /// Empty for cluster-scoped objects and for all namespaces.
    pub namespace: String,
    /// Empty where the request names no object; for a POST the name in its body.
    pub name: String,
    /// Who is acted as, else whose token it is, empty where neither says so. Not verified.
    pub user: String,
    /// Path and query as they were sent.
    pub uri: String,
}

impl Call {
    /// Reads the head of a request, and for a POST the name in its body.
    pub(super) fn read(parts: &Parts, body: &[u8]) -> Self {
        let segments: Vec<&str> = parts.uri.path().split('/').filter(|part| !part.is_empty()).collect();
        let (group, rest) = match segments.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => ("", [].as_slice()),
        };
        let (namespace, rest) = match rest {
            // `namespaces/web` and `namespaces/web/status` are about the namespace itself.
            ["namespaces", namespace, rest @ ..] if !matches!(rest, [] | ["status" | "finalize"]) => (*namespace, rest),
            rest => ("", rest),
        };
        let [resource, name, subresource] = [0, 1, 2].map(|at| rest.get(at).copied().unwrap_or_default().to_owned());
        let verb = verb(parts, &name);
        let name = match verb {
            "create" if name.is_empty() => name_in(body),
            _ => name,
        };
        Self {
            verb,
            group: group.into(),
            resource,
            subresource,
            namespace: namespace.into(),
            name,
            user: user(&parts.headers),
            uri: parts.uri.to_string(),
        }
    }

    /// Whether it is to change something.
    #[must_use]
    pub fn is_write(&self) -> bool {
        !matches!(self.verb, "get" | "list" | "watch")
    }

    /// The kind as rules name it: `deployments`, `nginx/status`; empty for requests about no object.
    #[must_use]
    pub fn kind(&self) -> String {
        match self.subresource.as_str() {
            "" => self.resource.clone(),
            subresource => format!("{}/{subresource}", self.resource),
        }
    }
}

fn verb(parts: &Parts, name: &str) -> &'static str {
    let query = parts.uri.query().unwrap_or_default();
    let watches = query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"));
    match parts.method {
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH if is_apply(&parts.headers) => "apply",
        Method::PATCH => "patch",
        Method::DELETE if name.is_empty() => "deletecollection",
        Method::DELETE => "delete",
        _ if watches => "watch",
        _ if name.is_empty() => "list",
        _ => "get",
    }
}

fn is_apply(headers: &HeaderMap) -> bool {
    header(headers, "content-type").starts_with("application/apply-patch")
}

fn name_in(body: &[u8]) -> String {
    let object: Value = serde_json::from_slice(body).unwrap_or_default();
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    name.unwrap_or_default().to_owned()
}

fn user(headers: &HeaderMap) -> String {
    match header(headers, "impersonate-user") {
        "" => subject(header(headers, "authorization")).unwrap_or_default(),
        impersonated => impersonated.to_owned(),
    }
}

/// The `sub` of a bearer token that is a JWT.
fn subject(authorization: &str) -> Option<String> {
    let payload = authorization.strip_prefix("Bearer ")?.split('.').nth(1)?;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
    Some(claims.get("sub")?.as_str()?.to_owned())
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn call(method: &str, uri: &str, headers: &[(&str, &str)], body: &str) -> Call {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Call::read(&request.body(()).unwrap().into_parts().0, body.as_bytes())
    }

    #[test]
    fn a_request_should_be_read_as_the_api_server_reads_it() {
        let apply = [("content-type", "application/apply-patch+yaml")];
        for (method, uri, headers, expected) in [
            ("GET", "/api/v1/namespaces/a/pods?limit=5", &[][..], "list pods a/"),
            ("GET", "/api/v1/pods?watch=true&limit=5", &[], "watch pods /"),
            ("GET", "/api/v1/namespaces/a/pods/p", &[], "get pods a/p"),
            ("GET", "/api/v1/namespaces/a", &[], "get namespaces /a"),
            (
                "PUT",
                "/api/v1/namespaces/a/finalize",
                &[],
                "update namespaces/finalize /a",
            ),
            ("GET", "/apis/apps/v1", &[], "list  /"),
            ("GET", "/readyz", &[], "list  /"),
            (
                "PATCH",
                "/apis/apps/v1/namespaces/a/deployments/d",
                &apply,
                "apply deployments a/d",
            ),
            (
                "PATCH",
                "/apis/x.io/v1/namespaces/a/webs/w/status",
                &[],
                "patch webs/status a/w",
            ),
            (
                "DELETE",
                "/apis/apps/v1/namespaces/a/deployments/d",
                &[],
                "delete deployments a/d",
            ),
            ("DELETE", "/api/v1/namespaces/a/pods", &[], "deletecollection pods a/"),
        ] {
            let call = call(method, uri, headers, "");
            let shown = format!("{} {} {}/{}", call.verb, call.kind(), call.namespace, call.name);
            assert_eq!(shown, expected, "{method} {uri}");
        }
        let created = call(
            "POST",
            "/api/v1/namespaces/a/pods",
            &[],
            r#"{"metadata": {"name": "p"}}"#,
        );
        assert_eq!((created.verb, created.name.as_str()), ("create", "p"));
    }

    #[test]
    fn the_user_should_be_the_impersonated_one_else_that_of_the_token() {
        let payload = URL_SAFE_NO_PAD.encode(r#"{"sub": "system:serviceaccount:a:b"}"#);
        let token = format!("Bearer header.{payload}.signature");
        let of_token = call("GET", "/api", &[("authorization", &token)], "");
        assert_eq!(of_token.user, "system:serviceaccount:a:b");
        let headers = [("authorization", token.as_str()), ("impersonate-user", "somebody")];
        assert_eq!(call("GET", "/api", &headers, "").user, "somebody");
        assert_eq!(call("GET", "/api", &[("authorization", "Bearer opaque")], "").user, "");
    }
}
