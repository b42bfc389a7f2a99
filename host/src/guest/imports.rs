//! Reads what a module wants from its host and offers to it, before any of it is compiled.

use super::bindings::{PACKAGE, VERSION};
use super::encode::COMPONENT_TYPE;
use super::refusal::{Refusal, Step};
use super::text::one_line;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use wasmparser::{BinaryReaderError, Parser, Payload};

/// Package of WASI whose interfaces have stand-ins.
const WASI: &str = "wasi:";
/// WASI packages of which every interface has a stand-in.
const WASI_PACKAGES: [&str; 6] = ["cli", "clocks", "filesystem", "io", "random", "sockets"];
/// How the names of functions begin in core modules of the newer of two spellings.
const MANGLED: &str = "cm32p2|";

/// What a component wants and offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Interface {
    /// Names of all imports, sorted.
    pub(super) imports: BTreeSet<String>,
    /// Names of all exports, sorted.
    pub(super) exports: BTreeSet<String>,
}

impl Interface {
    /// Whether nothing but the contract's own imports are there.
    pub(super) fn is_strict(&self) -> bool {
        self.imports.iter().all(|name| name.starts_with(PACKAGE))
    }

    /// Refuses what this host has not got, by name.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        self.imports.iter().try_for_each(|name| check_import(name))?;
        check_exports(&self.exports)
    }
}

/// Reads a component's own imports and exports; those of what is nested in it do not matter.
pub(super) fn of_component(bytes: &[u8]) -> Result<Interface, Refusal> {
    let mut interface = Interface::default();
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(|why| unreadable(&why))? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    interface
                        .imports
                        .insert(import.map_err(|why| unreadable(&why))?.name.0.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    interface
                        .exports
                        .insert(export.map_err(|why| unreadable(&why))?.name.0.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(interface)
}

/// Refuses a core module that is no guest, with what it is instead.
pub(super) fn check_core_module(bytes: &[u8]) -> Result<(), Refusal> {
    let mut carries_contract = false;
    let mut modules = BTreeSet::new();
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(|why| unreadable(&why))? {
            Payload::CustomSection(section) => carries_contract |= section.name().starts_with(COMPONENT_TYPE),
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    modules.insert(import.map_err(|why| unreadable(&why))?.module.to_owned());
                }
            }
            _ => {}
        }
    }
    for module in &modules {
        match module.strip_prefix(MANGLED) {
            Some(name) if name.starts_with(PACKAGE) => {}
            None if module.starts_with(PACKAGE) => check_version("imports", module)?,
            _ => return Err(foreign(module, core_advice(module))),
        }
    }
    if !carries_contract {
        return Err(Refusal::new(
            Step::Inspect,
            "CoreModule",
            format!(
                "The file is a plain core module: it has no `{COMPONENT_TYPE}` section that says which world it is for. \
                 Export the guest with the SDK's macro, and do not strip custom sections."
            ),
        ));
    }
    Ok(())
}

fn core_advice(module: &str) -> &'static str {
    match module {
        "wasi_snapshot_preview1" | "wasi_unstable" => {
            "That is WASI preview 1: build for wasm32-unknown-unknown or wasm32-wasip2."
        }
        "__wbindgen_placeholder__" | "wbg" => {
            "That is wasm-bindgen, which needs a browser: switch off the crate feature that brings it in, often `js`."
        }
        _ if module.starts_with(WASI) => {
            "A core module cannot bring that along: give a component, as wasm32-wasip2 builds."
        }
        _ => "A guest may import only `windlass:reconciler` and WASI 0.2.",
    }
}

fn check_import(name: &str) -> Result<(), Refusal> {
    if name.starts_with(PACKAGE) {
        return check_version("imports", name);
    }
    let wasi = name.strip_prefix(WASI).and_then(|rest| rest.split_once('/'));
    match wasi {
        Some((package, rest)) if WASI_PACKAGES.contains(&package) && rest.contains("@0.2.") => Ok(()),
        Some((package, _)) if WASI_PACKAGES.contains(&package) => Err(foreign(
            name,
            "This host has stand-ins for WASI 0.2 only: build for wasm32-wasip2.",
        )),
        Some(_) => Err(foreign(
            name,
            "A guest gets no network, files or devices: leave out what needs it.",
        )),
        None => Err(foreign(
            name,
            "A guest may import only `windlass:reconciler` and WASI 0.2.",
        )),
    }
}

fn check_exports(exports: &BTreeSet<String>) -> Result<(), Refusal> {
    let guest = format!("{PACKAGE}guest@{VERSION}");
    if exports.contains(&guest) {
        return Ok(());
    }
    if let Some(other) = exports.iter().find(|name| name.starts_with(PACKAGE)) {
        check_version("exports", other)?;
    }
    let offered: Vec<_> = exports.iter().map(String::as_str).collect();
    let offered = if offered.is_empty() {
        "nothing".to_owned()
    } else {
        shown(&offered.join(", "))
    };
    Err(Refusal::new(
        Step::Inspect,
        "WrongWorld",
        format!(
            "The component is no guest: it exports {offered}, and not `{guest}`. Export the guest with the SDK's macro."
        ),
    ))
}

/// Refuses another version of the contract than this host's, with both.
fn check_version(verb: &str, name: &str) -> Result<(), Refusal> {
    let version = name.rsplit_once('@').map_or("none", |(_, version)| version);
    if version == VERSION {
        return Ok(());
    }
    Err(Refusal::new(
        Step::Inspect,
        "WrongVersion",
        format!(
            "The guest {verb} `{}`, version {} of the contract; this host speaks version {VERSION}. Build the guest with \
             the SDK of that version, or run a host that speaks the guest's.",
            shown(name),
            shown(version)
        ),
    ))
}

fn foreign(name: &str, advice: &str) -> Refusal {
    Refusal::new(
        Step::Inspect,
        "ForeignImport",
        format!(
            "The guest imports `{}`, which this host has not got. {advice}",
            shown(name)
        ),
    )
}

/// Cause and sentence for wasm that cannot be read to its end.
fn unreadable(why: &BinaryReaderError) -> Refusal {
    if why.message().starts_with("unexpected end") {
        return Refusal::new(
            Step::Inspect,
            "Truncated",
            format!("The module ends too early ({why}). It was cut off; give the whole file."),
        );
    }
    Refusal::new(
        Step::Inspect,
        "Invalid",
        format!("The module is damaged: {why}. Build it again, and compare the digests."),
    )
}

/// A name from a module, as messages show it.
fn shown(text: &str) -> String {
    one_line(text, 200)
}
