//! Makes the secret seed that a guest derives passwords from: stable for ever, and known to no one else.

use crate::cluster::Cluster;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;
use windlass_core::key::ReconcilerId;
use windlass_core::kind::KindInfo;
use windlass_core::names::HOST_FIELD_MANAGER;
use windlass_core::object::Object;
use windlass_core::write::{Identity, Request, Subresource, Target, Write, WriteError};

/// Secret of the host's namespace that holds its key. Losing it changes every password that was derived from it.
pub const KEY_SECRET: &str = "windlass-key";
/// Its only entry.
const KEY_ENTRY: &str = "key";
/// Length of the key in bytes.
const KEY_LENGTH: usize = 32;

/// The seed of one primary: HMAC-SHA256 of the Reconciler's namespace/name and the primary's uid under the host's key.
pub fn seed(key: &[u8], reconciler: &ReconcilerId, primary_uid: &str) -> Vec<u8> {
    // A key of any length makes an HMAC (RFC 2104), so the error cannot come; an empty seed would be refused by length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return Vec::new();
    };
    mac.update(reconciler.to_string().as_bytes());
    mac.update(b"\0");
    mac.update(primary_uid.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// The host's key, made once and kept in a Secret of the host's own namespace.
///
/// # Errors
/// A sentence, if the Secret can neither be read nor made, or holds something else.
pub async fn key(cluster: &dyn Cluster, namespace: &str) -> Result<Vec<u8>, String> {
    let kind = KindInfo::namespaced("", "v1", "Secret", "secrets");
    let target = Target {
        kind,
        namespace: Some(namespace.into()),
        name: KEY_SECRET.into(),
    };
    let name = format!("Secret {namespace}/{KEY_SECRET}");
    let unreadable = |error: String| format!("{name}, which holds the host's key for seeds, is not usable: {error}");
    if let Some(secret) = cluster
        .get(&target)
        .await
        .map_err(|error| unreadable(error.to_string()))?
    {
        return decode(&secret).ok_or_else(|| unreadable(format!("it has no entry {KEY_ENTRY:?} of 32 bytes")));
    }
    let mut key = [0; KEY_LENGTH];
    getrandom::fill(&mut key).map_err(|error| unreadable(error.to_string()))?;
    let secret = Object::from_value(json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"namespace": namespace, "name": KEY_SECRET},
        "immutable": true,
        "data": {KEY_ENTRY: STANDARD.encode(key)},
    }))
    .unwrap_or_default();
    let write = Write {
        identity: Identity::Host,
        target: target.clone(),
        subresource: Subresource::None,
        manager: HOST_FIELD_MANAGER.into(),
        request: Request::Create(secret),
    };
    match cluster.apply(&write).await {
        Ok(_) => Ok(key.to_vec()),
        Err(WriteError::AlreadyExists) => Err(unreadable("somebody made it just now; it is read again".into())),
        Err(error) => Err(unreadable(error.to_string())),
    }
}

fn decode(secret: &Object) -> Option<Vec<u8>> {
    let key = STANDARD.decode(secret.text_at(&["data", KEY_ENTRY])?).ok()?;
    (key.len() == KEY_LENGTH).then_some(key)
}
