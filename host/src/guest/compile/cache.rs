//! Keeps compiled code on disk, so that a host that starts again need not compile again.
//!
//! Guarantees: nothing is run whose tag was not verified, and whatever is wrong with the directory or a file in it only
//! costs a compile.

use super::TrustedCode;
use crate::guest::imports::Interface;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use wasmtime::Engine;

/// Version of the form of a file, part of every name and tag.
const FORM: &[u8] = b"windlass compiled code 2";
/// Bytes before what is kept: its length and the tag.
const HEADER: usize = LENGTH + TAG;
const LENGTH: usize = 8;
/// Bytes before the interface: its length. The code follows.
const NOTE: usize = 4;
const TAG: usize = 32;
/// How the names of whole files end; nothing else in the directory is touched.
const WHOLE: &str = "windlass-code";
/// How the names of files end that are being written.
const UNFINISHED: &str = "windlass-unfinished";

/// A directory of compiled code. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Cache {
    directory: Arc<Path>,
    /// Bytes that all files together may have.
    limit: u64,
}

/// What files are authenticated with, derived from the host's key.
#[derive(Clone)]
pub struct CacheKey([u8; TAG]);

/// The file of one module, for one engine.
pub(in crate::guest) struct Entry {
    cache: Cache,
    path: PathBuf,
    key: CacheKey,
    /// Everything that the code depends on, in 32 bytes.
    identity: [u8; 32],
}

/// What a file was good for.
pub(in crate::guest) enum Lookup {
    /// What this program found in the module when it compiled it, and the code that it made.
    Hit(Interface, TrustedCode),
    /// There is none for this module and engine.
    Miss,
    /// It is not as long as it says.
    Torn,
    /// Its tag is not of the host's key over this content and name.
    Forged,
}

impl CacheKey {
    /// Derives a key of its own, so that no tag tells anything about a seed.
    pub fn derive(host_key: &[u8]) -> Self {
        let derived = mac(host_key).chain_update(FORM).chain_update(b"\0key");
        Self(derived.finalize().into_bytes().into())
    }
}

impl Cache {
    /// Bytes that all files together may have, unless told otherwise: some hundred guests.
    pub const LIMIT: u64 = 256 << 20;

    /// A cache in this directory, which is made when it is needed.
    pub fn new(directory: &Path, limit: u64) -> Self {
        Self {
            directory: directory.into(),
            limit,
        }
    }

    /// Where the code of the module with this digest is kept; `engine` is [`identity`].
    ///
    /// The name depends on the version of the host as well, since another one may make another component of the same
    /// module.
    pub(in crate::guest) fn entry(&self, key: &CacheKey, module: &str, engine: &[u8; 32]) -> Entry {
        let identity: [u8; 32] = Sha256::new()
            .chain_update(FORM)
            .chain_update(env!("CARGO_PKG_VERSION"))
            .chain_update(b"\0")
            .chain_update(module)
            .chain_update(engine)
            .finalize()
            .into();
        let short: String = identity.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Entry {
            path: self.directory.join(format!("{module}-{short}.{WHOLE}")),
            cache: self.clone(),
            key: key.clone(),
            identity,
        }
    }

    fn make_directory(&self) -> io::Result<()> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.directory)
    }

    /// Deletes what was not used for longest until `more` bytes fit.
    fn make_room(&self, more: u64) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let about = entry.metadata()?;
            let ours = entry
                .path()
                .extension()
                .is_some_and(|end| end == WHOLE || end == UNFINISHED);
            if about.is_file() && ours {
                files.push((
                    about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    about.len(),
                    entry.path(),
                ));
            }
        }
        files.sort();
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in files {
            if total.saturating_add(more) <= self.limit {
                break;
            }
            fs::remove_file(path)?;
            total -= size;
        }
        Ok(())
    }
}

impl Entry {
    /// The directory of the cache, made if it can be.
    pub(in crate::guest) fn directory(&self) -> &Path {
        // Whoever needs it finds out that it is not there.
        let _ = self.cache.make_directory();
        &self.cache.directory
    }

    /// Reads and checks the file. What is of no use is deleted.
    pub(in crate::guest) fn read(&self) -> Lookup {
        let found = match self.bytes() {
            Ok(Some(bytes)) => self.check(bytes),
            Ok(None) => Lookup::Torn,
            Err(_) => return Lookup::Miss,
        };
        if matches!(found, Lookup::Torn | Lookup::Forged) {
            self.forget();
        }
        found
    }

    /// Deletes the file; one that cannot be deleted is found bad again.
    pub(in crate::guest) fn forget(&self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Keeps the code, and what was found in the module: whoever reads at the same time finds the whole file or none.
    ///
    /// # Errors
    /// If it cannot be kept; nothing is lost but time.
    pub(in crate::guest) fn write(&self, interface: &Interface, code: &TrustedCode) -> io::Result<()> {
        let note = serde_json::to_vec(interface)?;
        let mut kept = u32::try_from(note.len())
            .map_err(io::Error::other)?
            .to_le_bytes()
            .to_vec();
        kept.extend_from_slice(&note);
        let size = (HEADER + kept.len() + code.bytes().len()) as u64;
        if size > self.cache.limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.cache.make_directory()?;
        self.cache.make_room(size)?;
        // Hosts that share a volume may have the same process number.
        let unique = getrandom::u64().unwrap_or_else(|_| std::process::id().into());
        let unfinished = self.path.with_extension(format!("{unique:016x}.{UNFINISHED}"));
        let written = self
            .write_to(&unfinished, &kept, code.bytes())
            .and_then(|()| fs::rename(&unfinished, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written
    }

    fn write_to(&self, path: &Path, note: &[u8], code: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(&((note.len() + code.len()) as u64).to_le_bytes())?;
        file.write_all(&self.mac().chain_update(note).chain_update(code).finalize().into_bytes())?;
        file.write_all(note)?;
        file.write_all(code)
    }

    /// The file as it is; none if it is larger than any that was written.
    fn bytes(&self) -> io::Result<Option<Vec<u8>>> {
        if !fs::symlink_metadata(&self.path)?.is_file() {
            return Ok(None);
        }
        let file = File::open(&self.path)?;
        let mut bytes = Vec::new();
        (&file).take(self.cache.limit + 1).read_to_end(&mut bytes)?;
        // The time of the last use; where it cannot be said, the file only goes earlier.
        let _ = file.set_modified(SystemTime::now());
        Ok((bytes.len() as u64 <= self.cache.limit).then_some(bytes))
    }

    fn check(&self, mut bytes: Vec<u8>) -> Lookup {
        let Some((length, rest)) = bytes.split_first_chunk::<LENGTH>() else {
            return Lookup::Torn;
        };
        let Some((tag, kept)) = rest.split_first_chunk::<TAG>() else {
            return Lookup::Torn;
        };
        if u64::from_le_bytes(*length) != kept.len() as u64 {
            return Lookup::Torn;
        }
        // Compares in constant time.
        if self.mac().chain_update(kept).verify_slice(tag).is_err() {
            return Lookup::Forged;
        }
        let Some((interface, before_code)) = interface(kept) else {
            return Lookup::Torn;
        };
        bytes.drain(..HEADER + before_code);
        Lookup::Hit(interface, TrustedCode::verified(bytes))
    }

    fn mac(&self) -> Hmac<Sha256> {
        mac(&self.key.0).chain_update(self.identity)
    }
}

/// The interface that is kept before the code, and where the code begins.
fn interface(kept: &[u8]) -> Option<(Interface, usize)> {
    let (length, rest) = kept.split_first_chunk::<NOTE>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let interface = serde_json::from_slice(rest.get(..length)?).ok()?;
    Some((interface, NOTE + length))
}

fn mac(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("a key of any length makes an HMAC (RFC 2104)")
}

/// Everything about an engine that compiled code depends on: version of wasmtime, settings, target, processor features.
pub(in crate::guest) fn identity(engine: &Engine) -> [u8; 32] {
    let mut hasher = Digesting(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.0.finalize().into()
}

/// Hashes with sha256, whose result does not differ between builds of the standard library.
struct Digesting(Sha256);

impl Hasher for Digesting {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest: [u8; 32] = self.0.clone().finalize().into();
        digest.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
    }
}
