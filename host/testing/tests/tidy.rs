//! Enforces what reviewers forget: sizes, first lines, and that what the documents name is there.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Longest file that people can hold in their heads.
const MAX_LINES: usize = 500;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every file that git knows or would know, so that nothing built is looked at.
fn files(ending: &str) -> Vec<(String, String)> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files");
    let names = String::from_utf8(output.stdout).expect("names are text");
    let files: Vec<_> = names
        .lines()
        .filter(|name| name.ends_with(ending))
        .filter_map(|name| Some((name.to_owned(), std::fs::read_to_string(root().join(name)).ok()?)))
        .collect();
    assert!(!files.is_empty(), "no {ending} file was found");
    files
}

#[test]
fn every_rust_file_says_what_it_does_in_its_first_line() {
    let silent: Vec<_> = files(".rs")
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//! "))
        .collect();
    let names: Vec<_> = silent.iter().map(|(name, _)| name).collect();
    assert!(names.is_empty(), "these do not begin with `//! `: {names:?}");
}

#[test]
fn no_rust_file_is_too_long() {
    let long: Vec<_> = files(".rs")
        .into_iter()
        .map(|(name, text)| (name, text.lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .collect();
    assert!(
        long.is_empty(),
        "more than {MAX_LINES} lines, split by concept: {long:?}"
    );
}

#[test]
fn only_the_adapters_name_kube_and_wasmtime() {
    let names = |text: &str, krate: &str| {
        text.lines().any(|line| {
            line.trim_start().starts_with(&format!("use {krate}::")) || line.contains(&format!(" {krate}::"))
        })
    };
    for (name, text) in files(".rs")
        .into_iter()
        .filter(|(name, _)| name.starts_with("host/src/"))
    {
        let adapter = name.starts_with("host/src/cluster/kube") || name.starts_with("host/src/api/");
        assert!(adapter || !names(&text, "kube"), "{name} names kube");
        assert!(
            name.starts_with("host/src/guest/") || !names(&text, "wasmtime"),
            "{name} names wasmtime"
        );
    }
}

#[test]
fn paths_in_the_readme_exist() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let words = readme.split(|character: char| character.is_whitespace() || "`(),;:".contains(character));
    let missing: Vec<_> = words
        .filter(|word| {
            ["deploy/", "host/", "guests/", "wit/"]
                .iter()
                .any(|folder| word.starts_with(folder))
        })
        .map(|word| word.trim_end_matches(['.', '/']))
        .filter(|word| !root().join(word).exists())
        .collect();
    assert!(missing.is_empty(), "the README names what is not there: {missing:?}");
}
