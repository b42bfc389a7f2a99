//! Builds every guest for wasm32-unknown-unknown and writes down where each module is.
//!
//! The modules are built in a target directory of their own inside the one in use (`target/guests`): a second
//! build reuses it, and the two cargos do not wait for each other's lock.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, io};

const TARGET: &str = "wasm32-unknown-unknown";

/// One module: the name tests know it by, and what it is built from.
struct Module {
    name: String,
    package: String,
    features: &'static str,
}

/// Modules that are a guest built with features.
const VARIANTS: &[(&str, &str, &str)] = &[("nginx-next", "windlass-nginx", "next")];

fn main() -> io::Result<()> {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let guests = here.parent().expect("this package is in guests/");
    let workspace = guests.parent().expect("guests/ is in the workspace");
    rerun_if_changed(workspace, guests)?;

    let target = target_directory();
    let built = target.join("modules");
    fs::create_dir_all(&built)?;
    // Two builds of this package (debug and release) must not copy each other's half of nginx and nginx-next.
    let lock = File::create(target.join("modules.lock"))?;
    lock.lock()?;
    let modules = modules(guests)?;
    for module in &modules {
        build(workspace, &target, module);
        let file = format!("{}.wasm", module.package.replace('-', "_"));
        replace(
            &target.join(TARGET).join("guest").join(file),
            &built.join(format!("{}.wasm", module.name)),
        )?;
    }
    fs::write(
        Path::new(&variable("OUT_DIR")).join("modules.rs"),
        source(&modules, &built, &target),
    )
}

/// Every folder of `guests/` whose library is a cdylib, and the variants.
fn modules(guests: &Path) -> io::Result<Vec<Module>> {
    let mut modules: Vec<Module> = VARIANTS
        .iter()
        .map(|&(name, package, features)| Module {
            name: name.to_owned(),
            package: package.to_owned(),
            features,
        })
        .collect();
    for folder in fs::read_dir(guests)? {
        let folder = folder?;
        let name = folder.file_name().to_string_lossy().into_owned();
        let manifest = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap_or_default();
        if manifest.contains("\"cdylib\"") {
            modules.push(Module {
                package: format!("windlass-{name}"),
                name,
                features: "",
            });
        }
    }
    modules.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(modules)
}

fn build(workspace: &Path, target: &Path, module: &Module) {
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .current_dir(workspace)
        .args(["build", "--profile", "guest", "--target", TARGET])
        .args(["--package", &module.package, "--features", module.features])
        .arg("--target-dir")
        .arg(target);
    // What is meant for the host's build, or set by clippy, would make other modules.
    for unwanted in [
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_BUILD_TARGET",
    ] {
        cargo.env_remove(unwanted);
    }
    let status = cargo
        .status()
        .unwrap_or_else(|error| panic!("cannot start cargo: {error}"));
    assert!(
        status.success(),
        "cannot build {} for {TARGET}; if the target is missing: rustup target add {TARGET}",
        module.package
    );
}

/// Copies in one step, and only if the bytes are others: a reader never sees half a module.
fn replace(from: &Path, to: &Path) -> io::Result<()> {
    let bytes = fs::read(from)?;
    if fs::read(to).ok().as_ref() == Some(&bytes) {
        return Ok(());
    }
    let half = to.with_extension("half");
    fs::write(&half, bytes)?;
    fs::rename(half, to)
}

/// The constants and the macro that `src/lib.rs` includes.
fn source(modules: &[Module], built: &Path, target: &Path) -> String {
    let mut source = String::new();
    let mut calls = String::new();
    for Module { name, .. } in modules {
        let path = built.join(format!("{name}.wasm"));
        let (upper, lower) = (name.to_uppercase().replace('-', "_"), name.replace('-', "_"));
        source += &format!("/// Where the module `{name}` is.\npub const {upper}: &str = {path:?};\n");
        calls += &format!("        $mac!({lower});\n");
    }
    source += "/// All modules: name and where it is.\npub const ALL: &[(&str, &str)] = &[\n";
    for Module { name, .. } in modules {
        source += &format!("    ({name:?}, {}),\n", name.to_uppercase().replace('-', "_"));
    }
    source += "];\n";
    source += &format!("/// Cargo's target directory for guests.\npub const TARGET_DIRECTORY: &str = {target:?};\n");
    source += "/// Calls a macro with the name of each module, as an identifier (`nginx_next`).\n";
    source += "#[macro_export]\nmacro_rules! foreach_guest {\n    ($mac:ident) => {\n";
    source + &calls + "    };\n}\n"
}

fn rerun_if_changed(workspace: &Path, guests: &Path) -> io::Result<()> {
    for file in ["Cargo.toml", "Cargo.lock", "wit", "guests/artifacts/build.rs"] {
        println!("cargo::rerun-if-changed={}", workspace.join(file).display());
    }
    for folder in fs::read_dir(guests)? {
        let folder = folder?.path();
        if folder.join("src").is_dir() && !folder.ends_with("artifacts") {
            println!("cargo::rerun-if-changed={}", folder.join("Cargo.toml").display());
            files_changed(&folder.join("src"))?;
        }
    }
    Ok(())
}

/// File by file, not the folder: `cargo component` puts a file of its own there for a while.
fn files_changed(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files_changed(&path)?;
        } else if !path.ends_with("bindings.rs") || path.ends_with("sdk/src/bindings.rs") {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    Ok(())
}

/// `target/guests`, found from `target/debug/build/windlass-artifacts-0123/out`.
fn target_directory() -> PathBuf {
    let out = PathBuf::from(variable("OUT_DIR"));
    out.ancestors()
        .nth(4)
        .map_or_else(|| out.join("guests"), |target| target.join("guests"))
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|error| panic!("cargo sets {name}: {error}"))
}
