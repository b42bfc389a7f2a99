//! Makes a component of a core module that carries the contract.
//!
//! What the module says about its own types is not read: it comes from outside, and the decoder of `wit-parser` recurses
//! without end over packages that use each other. This host's own contract is put in its place, and `wit-component` checks
//! the module's functions against that.

use super::refusal::{Refusal, Step};
use std::path::Path;
use std::sync::LazyLock;
use wasmparser::{Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding};
use wit_parser::{Resolve, SourceMap, WorldId};

/// Custom section in which a core module carries the contract.
pub(super) const COMPONENT_TYPE: &str = "component-type";

/// The files of the contract.
const CONTRACT: [(&str, &str); 4] = [
    ("types.wit", include_str!("../../../wit/types.wit")),
    ("manifest.wit", include_str!("../../../wit/manifest.wit")),
    ("decision.wit", include_str!("../../../wit/decision.wit")),
    ("world.wit", include_str!("../../../wit/world.wit")),
];

/// The contract, parsed once.
static WORLD: LazyLock<(Resolve, WorldId)> = LazyLock::new(|| {
    let mut sources = SourceMap::new();
    for (name, text) in CONTRACT {
        sources.push(Path::new(name), text);
    }
    let group = sources.parse().map_err(|(_, why)| why);
    let mut resolve = Resolve::default();
    let package = resolve
        .push_group(group.expect("built in, and tested"))
        .expect("built in, and tested");
    let world = resolve
        .select_world(&[package], Some("reconciler"))
        .expect("built in, and tested");
    (resolve, world)
});

/// Encodes the module against this host's contract.
pub(super) fn encode(module: &[u8]) -> Result<Vec<u8>, Refusal> {
    let (resolve, world) = &*WORLD;
    let mut module = without_component_type(module);
    let encoded = wit_component::embed_component_metadata(&mut module, resolve, *world, StringEncoding::UTF8)
        .and_then(|()| ComponentEncoder::default().validate(true).module(&module)?.encode());
    encoded.map_err(|why| {
        Refusal::new(
            Step::Inspect,
            "Invalid",
            format!(
                "The core module cannot be made a component: {why:#}. Build it with the SDK, or give a component as \
                 `wasm-tools component new` makes it."
            ),
        )
    })
}

/// The module without what it says about its types. It was read to its end before.
fn without_component_type(module: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(module.len());
    let mut start = 0;
    for payload in Parser::new(0).parse_all(module).map_while(Result::ok) {
        let is_component_type =
            matches!(&payload, Payload::CustomSection(section) if section.name().starts_with(COMPONENT_TYPE));
        let end = match &payload {
            Payload::Version { range, .. } => range.end,
            _ => match payload.as_section() {
                Some((_, range)) => range.end,
                None => continue,
            },
        };
        if !is_component_type {
            kept.extend_from_slice(module.get(start..end).unwrap_or_default());
        }
        start = end;
    }
    kept
}
