//! Tags texts under a key, so that equal ones are seen to be equal and nothing else can be told of them.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;

/// HMAC-SHA256 under a key that is derived from the host's for one purpose: no tag tells anything about the host's key, nor
/// about a tag of another purpose.
#[derive(Clone)]
pub struct Keyed(Hmac<Sha256>);

impl Keyed {
    /// Derives the key of a purpose, which no other purpose may begin with, from the host's key.
    pub fn derive(host_key: &[u8], purpose: &[u8]) -> Self {
        let derived = under(host_key).chain_update(purpose).finalize().into_bytes();
        Self(under(&derived))
    }

    /// The tag of a text: 64 lower-case hex digits.
    pub fn tag(&self, text: &[u8]) -> String {
        hex(&self.0.clone().chain_update(text).finalize().into_bytes())
    }
}

/// Nothing of the key.
impl fmt::Debug for Keyed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Keyed(not shown)")
    }
}

/// Bytes as lower-case hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn under(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("a key of any length makes an HMAC (RFC 2104)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_depends_on_key_purpose_and_text_and_on_nothing_else() {
        let tag = |key: &[u8], purpose: &[u8], text: &[u8]| Keyed::derive(key, purpose).tag(text);
        let one = tag(b"key", b"purpose\0", b"text");
        assert_eq!(one, "349609a7f2bf0ded355adc59cd84063b431e7f4f4c82ed0380a827c37b909876");
        for other in [
            tag(b"kez", b"purpose\0", b"text"),
            tag(b"key", b"purposf\0", b"text"),
            tag(b"key", b"purpose\0", b"texu"),
        ] {
            assert_ne!(other, one);
        }
    }

    #[test]
    fn a_key_is_never_shown() {
        assert_eq!(format!("{:?}", Keyed::derive(b"key", b"purpose\0")), "Keyed(not shown)");
    }
}
