//! Lists all objects of a watch key, page by page.

use super::decode;
use super::error::Failure;
use super::request;
use super::transport::Transport;
use crate::cluster::WatchKey;
use windlass_core::kind::KindInfo;
use windlass_core::manifest::Projection;
use windlass_core::object::Object;
use windlass_core::project;

/// A complete list.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// What is there, cut to the projection.
    pub(super) objects: Vec<Object>,
    /// The state of the cluster that it shows; a watch goes on from here.
    pub(super) resource_version: String,
}

/// All objects. Besides what is kept, one page of the server's text is in memory at a time.
///
/// Pages expire: a kind so big that its last page comes too late is then asked for at once, which cannot expire.
pub(super) async fn all(transport: &Transport, key: &WatchKey) -> Result<Listed, Failure> {
    only(transport, key, &|_| true).await
}

/// Those objects that are wanted; no others are kept in memory.
pub(super) async fn only(transport: &Transport, key: &WatchKey, wanted: Wanted<'_>) -> Result<Listed, Failure> {
    match pages(transport, key, Some(request::PAGE), wanted).await {
        Err(Break {
            failure,
            pages_read: 1..,
        }) if failure.is_expired() => pages(transport, key, None, wanted).await,
        listed => listed,
    }
    .map_err(|broken| broken.failure)
}

/// Which objects are wanted, as they are before they are cut.
pub(super) type Wanted<'a> = &'a (dyn Fn(&Object) -> bool + Sync);

/// Where a list broke.
struct Break {
    failure: Failure,
    pages_read: usize,
}

async fn pages(
    transport: &Transport,
    key: &WatchKey,
    limit: Option<usize>,
    wanted: Wanted<'_>,
) -> Result<Listed, Break> {
    let mut listed = Listed::default();
    let mut token = String::new();
    for pages_read in 0.. {
        let broken = |failure| Break { failure, pages_read };
        let request = request::list(key, limit, &token).map_err(|error| broken(Failure::unanswered(error)))?;
        let body = transport.send(request).await.map_err(broken)?;
        let meta = decode::list(&body, |item| match item {
            Ok(object) if wanted(&object) => listed.objects.push(kept(object, &key.kind, &key.projection)),
            Ok(_) => {}
            Err(unreadable) => tracing::warn!(kind = %key.kind, "passed over {unreadable}"),
        })
        .map_err(|error| broken(Failure::unanswered(format!("the list cannot be read: {error}"))))?;
        listed.resource_version = meta.resource_version;
        token = meta.r#continue;
        if token.is_empty() {
            break;
        }
    }
    listed.objects.shrink_to_fit();
    Ok(listed)
}

/// What leaves this module of an object: cut to the projection, and always saying what it is, which items of a list do
/// not, and metadata-only ones say wrongly.
pub(super) fn kept(mut object: Object, kind: &KindInfo, projection: &Projection) -> Object {
    object.0.insert("apiVersion".into(), kind.of.api_version().into());
    object.0.insert("kind".into(), kind.of.kind.as_str().into());
    project::for_store(object, projection)
}
