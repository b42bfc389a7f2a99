//! Derives passwords and keys from the seed of a primary: the same each time, and known to no one else.

use std::fmt;

use hkdf::Hkdf;
use sha2::Sha256;

/// What a password is made of: letters and digits of ASCII, which no shell, URL or YAML has a meaning for.
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// Bytes from here on are passed over: with them the first characters of the alphabet would come more often.
const UNBIASED: u8 = (u8::MAX / 62) * 62;

/// The seed of one Reconciler and primary, from [`Context::seed`](crate::Context::seed). Never printed, also not by `Debug`.
///
/// Whatever is derived stays the same for as long as primary and Reconciler exist: over restarts of the host, on another
/// host with the same key, and with another version of the guest. Another primary, also one of the same name later,
/// has another seed.
///
/// Purposes are apart: nothing that is derived for one tells anything about another, or about the seed. To change
/// a password, change its purpose (`admin-2`).
///
/// ```
/// use serde_json::json;
/// use windlass_sdk::{Child, Context, NoSettings, Object, Outcome, Stop};
///
/// fn reconcile(context: &Context<NoSettings>, database: &Object<()>) -> Result<Outcome, Stop> {
///     let seed = context.seed()?;
///     Ok(Outcome::exactly([Child::new(&json!({
///         "apiVersion": "v1",
///         "kind": "Secret",
///         "metadata": {"name": database.metadata.name, "namespace": database.metadata.namespace},
///         "stringData": {"username": "admin", "password": seed.password("admin", 24)},
///     }))]))
/// }
/// ```
/// The manifest says [`needs_seed`](crate::Manifest::needs_seed), and has Secrets as children.
#[derive(Clone, PartialEq, Eq)]
pub struct Seed(Vec<u8>);

impl Seed {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Seed(bytes)
    }

    /// A password of this many characters `A-Z`, `a-z` and `0-9`, each equally likely: 5.95 bits a character, so that 22
    /// are as good as a key of 128 bits. A shorter one is the beginning of a longer one.
    pub fn password(&self, purpose: &str, length: usize) -> String {
        let unbiased = self.stream(b"password", purpose).filter(|byte| *byte < UNBIASED);
        let character = |byte: u8| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]);
        unbiased.take(length).map(character).collect()
    }

    /// A key of this many bytes. A shorter one is the beginning of a longer one.
    pub fn key(&self, purpose: &str, length: usize) -> Vec<u8> {
        self.stream(b"key", purpose).take(length).collect()
    }

    /// Bytes without an end: the blocks of HKDF-SHA256 (RFC 5869) of the seed without a salt, each 32 bytes long, for
    /// `windlass-sdk`, what is made, the number of the block from 0 as 4 bytes, and the purpose.
    fn stream<'a>(&self, made: &'static [u8], purpose: &'a str) -> impl Iterator<Item = u8> + 'a {
        let hkdf = Hkdf::<Sha256>::new(None, &self.0);
        (0_u32..).flat_map(move |number| {
            let mut block = [0; 32];
            let info: [&[u8]; 4] = [b"windlass-sdk", made, &number.to_be_bytes(), purpose.as_bytes()];
            hkdf.expand_multi_info(&info, &mut block)
                .expect("32 bytes are fewer than the 8,160 that HKDF makes");
            block
        })
    }
}

/// Nothing of the bytes.
impl fmt::Debug for Seed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Seed(not shown)")
    }
}

#[cfg(test)]
mod tests;
