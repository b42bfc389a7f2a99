//! Reads and writes objects as YAML or JSON.

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use windlass_core::object::Object;

/// All objects of files, folders and `-`, in order.
///
/// # Errors
/// Names the file, and the document in it, that cannot be read.
pub(super) fn objects(paths: &[PathBuf]) -> anyhow::Result<Vec<Object>> {
    let mut objects = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .context("standard input cannot be read as text")?;
            objects.extend(parse("standard input", &text)?);
        } else if path.is_dir() {
            for file in files_of(path)? {
                objects.extend(read(&file)?);
            }
        } else {
            objects.extend(read(path)?);
        }
    }
    Ok(objects)
}

/// A value as YAML.
///
/// # Errors
/// If it cannot be written as YAML.
pub(super) fn yaml(value: &impl Serialize) -> anyhow::Result<String> {
    let mut text = serde_saphyr::to_string(value).context("cannot be written as YAML")?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

fn files_of(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|ending| ending == "yaml" || ending == "yml" || ending == "json")
        })
        .collect();
    files.sort();
    if files.is_empty() {
        bail!("{} has no .yaml, .yml or .json file", folder.display());
    }
    Ok(files)
}

fn read(path: &Path) -> anyhow::Result<Vec<Object>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    parse(&path.display().to_string(), &text)
}

/// Every object of a text; a `List` is what is in it.
fn parse(name: &str, text: &str) -> anyhow::Result<Vec<Object>> {
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(text).with_context(|| format!("{name} is not YAML or JSON"))?;
    let mut objects = Vec::new();
    for (index, document) in documents.into_iter().enumerate() {
        if document.is_null() {
            continue;
        }
        let place = format!("document {} of {name}", index + 1);
        let object = Object::from_value(document).with_context(|| format!("{place} is not a Kubernetes object"))?;
        if object.kind().kind.is_empty() || object.kind().version.is_empty() {
            bail!("{place} has no apiVersion or no kind");
        }
        match object.at(&["items"]) {
            Some(items) if object.kind().kind.ends_with("List") => {
                objects.extend(Vec::<Object>::deserialize(items).with_context(|| format!("{place} is not a list"))?);
            }
            _ if object.name().is_empty() => bail!("{place} has no metadata.name"),
            _ => objects.push(object),
        }
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_lists_are_read_in_order_and_a_bad_one_is_named() {
        let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\n---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: b}\n";
        let names: Vec<String> = parse("x", text)
            .unwrap()
            .iter()
            .map(|object| object.name().to_owned())
            .collect();
        assert_eq!(names, ["a", "b"]);
        for (text, wanted) in [
            ("- 1\n", "document 1 of x is not a Kubernetes object"),
            ("metadata: {name: a}\n", "document 1 of x has no apiVersion or no kind"),
            ("apiVersion: v1\nkind: Pod\n", "document 1 of x has no metadata.name"),
            ("a: [\n", "x is not YAML or JSON"),
        ] {
            let error = parse("x", text).unwrap_err();
            assert!(format!("{error}").contains(wanted), "{error:#}");
        }
    }
}
