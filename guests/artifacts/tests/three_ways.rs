//! Builds both reference guests in each of the three ways that people build guests.

use std::path::{Path, PathBuf};
use std::process::Command;

use wit_component::{ComponentEncoder, DecodedWasm};

const GUESTS: [&str; 2] = ["windlass-nginx", "windlass-friend"];
const COMPONENT_HEADER: [u8; 8] = *b"\0asm\x0d\0\x01\0";

/// The target directory that the tools of this way share with nobody, and the file of the guest in it.
fn built(folder: &str, package: &str) -> PathBuf {
    Path::new(windlass_artifacts::TARGET_DIRECTORY)
        .join(folder)
        .join("guest")
        .join(format!("{}.wasm", package.replace('-', "_")))
}

fn guest_folder(package: &str) -> PathBuf {
    let name = package.strip_prefix("windlass-").expect("all guests are called so");
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// Runs cargo in the guest's folder, as its author would.
fn run(mut command: Command, package: &str, missing: &str) {
    command
        .current_dir(guest_folder(package))
        .env("CARGO_TARGET_DIR", windlass_artifacts::TARGET_DIRECTORY)
        .args(["--profile", "guest"])
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTC_WORKSPACE_WRAPPER");
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}. {missing}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed. {missing}\n{errors}");
}

fn build_for(target: &str) {
    for package in GUESTS {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--target", target]);
        run(
            cargo,
            package,
            &format!("Is the target there? rustup target add {target}"),
        );
    }
}

/// The component as a host sees it: only imports that it can give, and the guest's exports.
fn check_component(bytes: &[u8]) {
    let Ok(DecodedWasm::Component(resolve, world)) = wit_component::decode(bytes) else {
        panic!("this is no component");
    };
    let world = &resolve.worlds[world];
    for key in world.imports.keys() {
        let name = resolve.name_world_key(key);
        let known = name.starts_with("windlass:reconciler/") || (name.starts_with("wasi:") && name.contains("@0.2."));
        assert!(known, "imports {name}, which no host gives");
    }
    let exports: Vec<String> = world.exports.keys().map(|key| resolve.name_world_key(key)).collect();
    assert!(
        exports.contains(&"windlass:reconciler/guest@0.1.0".to_owned()),
        "{exports:?}"
    );
}

#[test]
fn a_core_module_becomes_a_component_that_imports_nothing_but_ours() {
    build_for("wasm32-unknown-unknown");
    for package in GUESTS {
        let module = windlass_artifacts::bytes(&built("wasm32-unknown-unknown", package).to_string_lossy());
        assert_ne!(module[..8], COMPONENT_HEADER, "it is a core module");
        let mut encoder = ComponentEncoder::default()
            .validate(true)
            .module(&module)
            .expect("it has a component-type");
        let component = encoder.encode().expect("it can be encoded");
        check_component(&component);
        assert!(!String::from_utf8_lossy(&component).contains("wasi:"), "it is strict");
    }
}

#[test]
fn wasip2_builds_components() {
    build_for("wasm32-wasip2");
    for package in GUESTS {
        check_component(&windlass_artifacts::bytes(
            &built("wasm32-wasip2", package).to_string_lossy(),
        ));
    }
}

#[test]
fn cargo_component_builds_components() {
    let tool = cargo_component();
    let missing = "Is it there? cargo install cargo-component --version 0.21.1 --locked --root \
                   ${XDG_CACHE_HOME:-~/.cache}/windlass/tools, and rustup target add wasm32-wasip1";
    for package in GUESTS {
        let mut command = Command::new(&tool);
        command.args(["component", "build"]);
        run(command, package, missing);
        // It writes bindings that nobody uses; ours come from the SDK.
        let _ = std::fs::remove_file(guest_folder(package).join("src/bindings.rs"));
        check_component(&windlass_artifacts::bytes(
            &built("wasm32-wasip1", package).to_string_lossy(),
        ));
    }
}

/// Where the Makefile installs the pinned version.
fn cargo_component() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").expect("there is a home")).join(".cache");
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
    cache.join("windlass/tools/bin/cargo-component")
}
