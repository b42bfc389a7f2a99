//! Checks that modules fit where they are dropped in.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// A ConfigMap holds 1 MiB in all; base64 and metadata are counted by etcd's limit, not by this one.
const CONFIG_MAP: usize = 1 << 20;

/// For labels, settings and growth.
const MARGIN: usize = CONFIG_MAP / 4;

#[test]
fn every_module_fits_a_config_map() {
    for (name, path) in windlass_artifacts::ALL {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder
            .write_all(&windlass_artifacts::bytes(path))
            .expect("memory takes all");
        let size = encoder.finish().expect("memory takes all").len();
        assert!(size < CONFIG_MAP - MARGIN, "{name} is {size} bytes, gzipped");
    }
}
