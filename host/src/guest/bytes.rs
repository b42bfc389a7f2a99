//! Tells what the bytes of a module are, and takes gzip and zstd off.

use super::refusal::{Refusal, Step};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fmt::Write;
use std::io::Read;

/// Largest module as given, packed or not.
///
/// Stops: keeping the host busy with reading and hashing; a guest is some hundred KiB.
pub const MAX_MODULE: usize = 16 << 20;
/// Largest module once unpacked.
///
/// Stops: a few KiB of gzip that unpack to gigabytes.
pub const MAX_UNPACKED: usize = 64 << 20;

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const WASM: &[u8] = b"\0asm";
const MODULE: &[u8] = b"\0asm\x01\0\0\0";
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// The sha256 digest of a module, as 64 hexadecimal digits: of its bytes once unpacked, so that the same module is
/// the same however it was packed, and `sha256sum module.wasm` shows the same.
///
/// # Errors
/// A [`Refusal`] if the bytes cannot be unpacked.
pub fn digest(bytes: &[u8]) -> Result<String, Refusal> {
    Ok(hex(&unpack(bytes)?))
}

/// The sha256 digest of bytes, as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// Takes gzip or zstd off, once. The size is limited while it runs.
pub(super) fn unpack(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Refusal> {
    if bytes.is_empty() {
        return Err(Refusal::new(
            Step::Unpack,
            "Empty",
            "The module is empty. Give the .wasm file that the build made, as binaryData.",
        ));
    }
    if bytes.len() > MAX_MODULE {
        return Err(too_large(&format!("has {} bytes", bytes.len()), MAX_MODULE));
    }
    let unpacked = if bytes.starts_with(GZIP) {
        read_capped(flate2::read::MultiGzDecoder::new(bytes)).map_err(|why| damaged("Gzip", "gzip", &why))?
    } else if bytes.starts_with(ZSTD) {
        let decoder = ruzstd::decoding::StreamingDecoder::new(bytes)
            .map_err(|why| damaged("Zstd", "zstd", &std::io::Error::other(why.to_string())))?;
        read_capped(decoder).map_err(|why| damaged("Zstd", "zstd", &why))?
    } else {
        return Ok(Cow::Borrowed(bytes));
    };
    if unpacked.len() > MAX_UNPACKED {
        return Err(too_large("unpacks to more", MAX_UNPACKED));
    }
    if unpacked.starts_with(GZIP) || unpacked.starts_with(ZSTD) {
        return Err(Refusal::new(
            Step::Unpack,
            "Packed",
            "The module is packed twice. Pack it once, or not at all.",
        ));
    }
    Ok(Cow::Owned(unpacked))
}

/// Reads at most one byte more than may be there.
fn read_capped(reader: impl Read) -> std::io::Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    reader.take(MAX_UNPACKED as u64 + 1).read_to_end(&mut unpacked)?;
    Ok(unpacked)
}

fn too_large(what: &str, limit: usize) -> Refusal {
    let limit = limit >> 20;
    Refusal::new(
        Step::Unpack,
        "TooLarge",
        format!(
            "The module {what}; the limit is {limit} MiB. Build it with `opt-level = \"z\"`, `lto = true` and \
             `strip = true`, and without debug information."
        ),
    )
}

fn damaged(cause: &'static str, format: &str, why: &std::io::Error) -> Refusal {
    Refusal::new(
        Step::Unpack,
        cause,
        format!(
            "The module begins as {format}, but cannot be unpacked ({why}). It was cut off or changed; make it again."
        ),
    )
}

/// What unpacked bytes are, as far as they can be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A component.
    Component,
    /// A core module, which becomes a component if it carries the contract.
    CoreModule,
}

/// Tells the form from the first bytes, and says of everything else what it is.
pub(super) fn form(bytes: &[u8]) -> Result<Form, Refusal> {
    if bytes.starts_with(COMPONENT) {
        Ok(Form::Component)
    } else if bytes.starts_with(MODULE) {
        Ok(Form::CoreModule)
    } else {
        let (cause, message) = foreign(bytes);
        Err(Refusal::new(Step::Inspect, cause, message))
    }
}

/// Cause and sentence for bytes that are no wasm of a known form.
fn foreign(bytes: &[u8]) -> (&'static str, &'static str) {
    let start = bytes.get(..512).unwrap_or(bytes);
    let text = std::str::from_utf8(start.trim_ascii_start()).unwrap_or_default();
    let begins = |prefix: &str| {
        text.get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    if WASM.starts_with(bytes) || (bytes.starts_with(WASM) && bytes.len() < MODULE.len()) {
        (
            "Truncated",
            "The module ends within its first eight bytes. It was cut off; give the whole file.",
        )
    } else if bytes.starts_with(WASM) {
        (
            "Invalid",
            "The module is of a WebAssembly version that this host does not know. Build it as a component of the final \
             format, for wasm32-wasip2 or wasm32-unknown-unknown.",
        )
    } else if bytes.starts_with(b"\x7fELF") {
        (
            "Precompiled",
            "The file is machine code (an ELF file, as `wasmtime compile` makes .cwasm), which is never taken from \
             outside. Give the .wasm file that it was made of.",
        )
    } else if begins("(module") || begins("(component") || begins(";;") || begins("(;") {
        (
            "NotWasm",
            "The file is WebAssembly text (wat). Give the binary form, as `wasm-tools parse` makes it.",
        )
    } else if begins("<!doctype") || begins("<html") || begins("<?xml") {
        (
            "NotWasm",
            "The file is an HTML or XML page, probably an error page of the server it was fetched from. Fetch the \
             .wasm file itself.",
        )
    } else if begins("AGFzbQ") {
        (
            "NotWasm",
            "The file is base64 text. Put it under binaryData as it is, which is base64 already, not under data.",
        )
    } else if begins("version https://git-lfs") {
        (
            "NotWasm",
            "The file is a pointer of Git LFS. Fetch the file that it points to with `git lfs pull`.",
        )
    } else if bytes.starts_with(b"PK\x03\x04") {
        (
            "NotWasm",
            "The file is a zip archive. Give the .wasm file in it, plain or packed with gzip or zstd.",
        )
    } else {
        (
            "NotWasm",
            "The file is not WebAssembly: it does not begin with `\\0asm`. Give the .wasm file that the build made.",
        )
    }
}
