//! Gives the modules that are measured, and as many others of the same kind as are wanted.

use windlass_artifacts::{FRIEND, NGINX, NGINX_NEXT, bytes};

/// A reference guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guest {
    /// A Deployment for each Nginx: one call, one child.
    Nginx,
    /// The same with another image, so that a swap shows.
    NginxNext,
    /// Healthy while a pod exists: two calls in one instance, no child.
    Friend,
}

impl Guest {
    /// Its module.
    pub(crate) fn module(self) -> Vec<u8> {
        bytes(match self {
            Self::Nginx => NGINX,
            Self::NginxNext => NGINX_NEXT,
            Self::Friend => FRIEND,
        })
    }

    /// Its module with a number in it that nothing reads: other bytes, other digest, other code as far as a host knows.
    pub(crate) fn variant(self, number: u32) -> Vec<u8> {
        let mut module = self.module();
        // A custom section (0) of 6 bytes: a name of one letter, and the number.
        module.extend([0, 6, 1, b'n']);
        module.extend(number.to_le_bytes());
        module
    }

    /// What people call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::NginxNext => "nginx-next",
            Self::Friend => "friend",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass::guest::digest;

    #[test]
    fn variants_are_modules_of_their_own() {
        let digests = [Guest::Nginx.module(), Guest::Nginx.variant(1), Guest::Nginx.variant(2)]
            .map(|module| digest(&module).unwrap());
        assert!(digests[0] != digests[1] && digests[1] != digests[2], "{digests:?}");
    }
}
