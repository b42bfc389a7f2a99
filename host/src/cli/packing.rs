//! Packs a module so that it fits ConfigMaps: one, or several parts.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// Bytes that a ConfigMap holds, all its keys together; the API server counts them before base64.
pub(super) const CONFIG_MAP_LIMIT: usize = 1 << 20;
/// Most bytes of one part. Less than a ConfigMap holds, so that a part can be written over one of an older version.
pub(super) const PART_LIMIT: usize = 1_000_000;
/// From here on somebody should know that the next version may not fit.
const FULL_PERCENT: usize = 80;

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// A module as it goes into ConfigMaps.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Packed {
    /// gzip or zstd.
    pub(super) bytes: Vec<u8>,
    /// The key that says what they are.
    pub(super) key: &'static str,
}

/// How a module lies in ConfigMaps.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Layout<'a> {
    /// In one.
    Whole(&'a [u8]),
    /// In as many as there are parts, and one that names them.
    Parts(Vec<&'a [u8]>),
}

/// The bytes as small as gzip makes them.
///
/// # Errors
/// Not for bytes in memory.
pub(super) fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Packs what is not packed yet. Equal bytes give equal ones, so that pushing twice changes nothing.
///
/// # Errors
/// Not for bytes in memory.
pub(super) fn pack(bytes: Vec<u8>) -> std::io::Result<Packed> {
    if bytes.starts_with(ZSTD) {
        let key = "module.wasm.zst";
        return Ok(Packed { bytes, key });
    }
    let key = "module.wasm.gz";
    // Nothing is packed to something; so that what is empty stays to be seen.
    if bytes.starts_with(GZIP) || bytes.is_empty() {
        return Ok(Packed { bytes, key });
    }
    let bytes = gzip(&bytes)?;
    Ok(Packed { bytes, key })
}

/// In one ConfigMap if it fits beside what else is in there, otherwise in parts.
pub(super) fn lay_out(bytes: &[u8], beside: usize) -> Layout<'_> {
    if bytes.len().saturating_add(beside) <= CONFIG_MAP_LIMIT {
        Layout::Whole(bytes)
    } else {
        Layout::Parts(bytes.chunks(PART_LIMIT).collect())
    }
}

/// A warning, if the ConfigMap is nearly full.
pub(super) fn nearly_full(bytes: usize) -> Option<String> {
    let percent = bytes * 100 / CONFIG_MAP_LIMIT;
    (percent >= FULL_PERCENT).then(|| {
        format!(
            "warning: the module takes {percent} % of what one ConfigMap holds ({bytes} of {CONFIG_MAP_LIMIT} bytes); \
             a larger one is split into parts"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_stays_as_it_is_and_the_key_says_how() {
        let plain = b"\0asm\x0d\0\x01\0".repeat(100);
        let packed = pack(plain.clone()).unwrap();
        assert_eq!(packed.key, "module.wasm.gz");
        assert!(packed.bytes.starts_with(GZIP) && packed.bytes.len() < plain.len());
        assert_eq!(crate::guest::digest(&packed.bytes), crate::guest::digest(&plain));
        assert_eq!(pack(plain).unwrap(), packed, "equal bytes give equal ones");
        assert_eq!(pack(packed.bytes.clone()).unwrap(), packed, "packed once is enough");
        let zstd = [ZSTD, b"rest"].concat();
        let kept = Packed {
            bytes: zstd.clone(),
            key: "module.wasm.zst",
        };
        assert_eq!(pack(zstd).unwrap(), kept);
        assert_eq!(pack(Vec::new()).unwrap().bytes, b"");
    }

    #[test]
    fn a_module_is_split_when_it_does_not_fit_beside_what_else_is_there() {
        let bytes: Vec<u8> = (0..CONFIG_MAP_LIMIT + 1).map(|index| index as u8).collect();
        let whole = &bytes[..CONFIG_MAP_LIMIT];
        assert_eq!(lay_out(whole, 0), Layout::Whole(whole));
        assert_eq!(lay_out(&bytes[..10], 0), Layout::Whole(&bytes[..10]));
        for (bytes, beside) in [(whole, 1), (&bytes[..], 0), (&bytes[..10], CONFIG_MAP_LIMIT)] {
            let Layout::Parts(parts) = lay_out(bytes, beside) else {
                panic!("{} bytes beside {beside} fit one", bytes.len());
            };
            assert!(parts.iter().all(|part| !part.is_empty() && part.len() <= PART_LIMIT));
            assert_eq!(parts.concat(), bytes);
        }
    }

    #[test]
    fn the_largest_module_fits_the_parts_that_the_host_takes() {
        let bytes = vec![0; crate::guest::MAX_MODULE];
        let Layout::Parts(parts) = lay_out(&bytes, 0) else {
            panic!("16 MiB fit one ConfigMap");
        };
        assert!(parts.len() <= crate::api::MAX_PARTS, "{}", parts.len());
    }

    #[test]
    fn a_warning_comes_from_four_fifths_on() {
        assert_eq!(nearly_full(CONFIG_MAP_LIMIT * 79 / 100), None);
        let warning = nearly_full(CONFIG_MAP_LIMIT * 4 / 5 + 1).unwrap();
        assert!(warning.contains("80 %") && warning.contains("1048576"), "{warning}");
    }
}
