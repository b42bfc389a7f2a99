//! Makes the secret seed that a guest derives passwords from: stable for ever, and known to no one else.

use crate::cluster::Cluster;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use windlass_core::key::ReconcilerId;
use windlass_core::kind::KindInfo;
use windlass_core::names::HOST_FIELD_MANAGER;
use windlass_core::object::Object;
use windlass_core::secrets::Seed;
use windlass_core::write::{Identity, Request, Subresource, Target, Write, WriteError};

/// Secret of the host's namespace that holds its key. Losing it changes every password that was derived from it, and lets each
/// Secret that a guest wants be applied once more.
pub const KEY_SECRET: &str = "windlass-key";
/// Its only entry.
const KEY_ENTRY: &str = "key";
/// Length of the key in bytes.
const KEY_LENGTH: usize = 32;

/// The secret seed of one primary: HMAC-SHA256 of the Reconciler's namespace/name and the primary's uid under the host's key.
pub fn seed(key: &[u8], reconciler: &ReconcilerId, primary_uid: &str) -> Seed {
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length makes an HMAC (RFC 2104)");
    let mac = mac
        .chain_update(reconciler.to_string())
        .chain_update(b"\0")
        .chain_update(primary_uid);
    Seed::new(mac.finalize().into_bytes().to_vec())
}

/// The host's key, made once and kept in a Secret of the host's own namespace.
///
/// # Errors
/// A sentence, if the Secret can neither be read nor made, or holds something else.
pub async fn key(cluster: &dyn Cluster, namespace: &str) -> Result<Vec<u8>, String> {
    let target = Target {
        kind: KindInfo::namespaced("", "v1", "Secret", "secrets"),
        namespace: Some(namespace.into()),
        name: KEY_SECRET.into(),
    };
    let unusable = |why: String| {
        format!("Secret {namespace}/{KEY_SECRET}, which holds the host's key for seeds, is not usable: {why}")
    };
    if let Some(key) = read(cluster, &target).await.map_err(unusable)? {
        return Ok(key);
    }
    let mut key = [0; KEY_LENGTH];
    getrandom::fill(&mut key).map_err(|error| unusable(error.to_string()))?;
    let write = Write {
        identity: Identity::Host,
        target: target.clone(),
        subresource: Subresource::None,
        manager: HOST_FIELD_MANAGER.into(),
        request: Request::Create(Object::from_value(key_secret(namespace, &key)).unwrap_or_default()),
    };
    match cluster.apply(&write).await {
        Ok(_) => Ok(key.to_vec()),
        // Another host was faster: its key is the one.
        Err(WriteError::AlreadyExists) => match read(cluster, &target).await.map_err(unusable)? {
            Some(key) => Ok(key),
            None => Err(unusable("it is gone again".into())),
        },
        Err(error) => Err(unusable(error.to_string())),
    }
}

/// The key that is kept, none if there is no Secret.
async fn read(cluster: &dyn Cluster, target: &Target) -> Result<Option<Vec<u8>>, String> {
    let Some(secret) = cluster.get(target).await.map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    let key = decode(&secret).ok_or_else(|| format!("it has no entry {KEY_ENTRY:?} of {KEY_LENGTH} bytes"))?;
    Ok(Some(key))
}

/// The Secret that holds a key.
pub fn key_secret(namespace: &str, key: &[u8; KEY_LENGTH]) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"namespace": namespace, "name": KEY_SECRET},
        "immutable": true,
        "data": {KEY_ENTRY: STANDARD.encode(key)},
    })
}

/// Whether an object is the Secret that holds the key of the host in this namespace.
pub fn is_key(object: &Object, namespace: &str) -> bool {
    object.kind().kind == "Secret" && object.name() == KEY_SECRET && object.namespace() == Some(namespace)
}

fn decode(secret: &Object) -> Option<Vec<u8>> {
    let key = STANDARD.decode(secret.text_at(&["data", KEY_ENTRY])?).ok()?;
    (key.len() == KEY_LENGTH).then_some(key)
}
