//! Lists the modules that a host keeps, and who uses them.

use super::Output;
use super::person::{Person, config_maps, target};
use super::progress::{Progress, say};
use super::taken_up::{short, status};
use crate::api::reconciler_kind;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use comfy_table::{Table, presets};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use windlass_core::key::ReconcilerId;
use windlass_core::manifest::Projection;
use windlass_core::names::{
    ANNOTATION_DIGEST, ANNOTATION_MODULE_NAME, ANNOTATION_MODULE_VERSION, ANNOTATION_PARTS, LABEL_KEPT_MODULE,
};
use windlass_core::object::Object;

/// Lists the modules that a host keeps, so that a Reconciler can go back to them, and who uses them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  windlass modules
  windlass modules -n windlass-system -o json")]
pub(super) struct ModulesArguments {
    /// Namespace of the host
    #[arg(short, long, default_value = "windlass-system")]
    namespace: String,
    /// How the result is printed
    #[arg(short, long, default_value = "text")]
    output: Output,
}

/// One ConfigMap that holds a module or a part of one.
struct KeptPart {
    object: Object,
    /// Of what it holds.
    bytes: usize,
}

/// One module.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    name: String,
    version: String,
    digest: String,
    /// As it is kept.
    bytes: usize,
    /// How many are there, and how many there should be.
    parts: Parts,
    used_by: Vec<Use>,
    created: Option<String>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Parts {
    there: usize,
    wanted: usize,
    complete: bool,
}

/// A Reconciler that needs a module to be kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Use {
    reconciler: ReconcilerId,
    r#as: As,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum As {
    /// It runs.
    Active,
    /// It ran, and can again.
    Earlier,
}

pub(super) async fn modules(arguments: ModulesArguments) -> anyhow::Result<ExitCode> {
    let person = Person::connect().await?;
    person.require_reconcilers().await?;
    let reconcilers = person.list(&reconciler_kind(), None, "", Projection::Full).await?;
    let selector = format!("{LABEL_KEPT_MODULE}=true");
    let namespace = arguments.namespace.as_str();
    let names = person
        .list(&config_maps(), Some(namespace), &selector, Projection::Metadata)
        .await?;
    let progress = Progress::new();
    let mut parts = Vec::new();
    // One at a time: all of them together may be too much for the memory.
    for (number, name) in names.iter().enumerate() {
        progress.count(format!("looking at part {} of {}", number + 1, names.len()));
        let found = person.get(&target(&config_maps(), namespace, name.name())).await?;
        parts.extend(found.map(|object| KeptPart {
            bytes: size(&object),
            object: without_content(object),
        }));
    }
    drop(progress);
    let kept = kept(&parts, &uses(&reconcilers));
    if arguments.output == Output::Json {
        super::print(&format!("{}\n", serde_json::to_string_pretty(&kept)?))?;
    } else if kept.is_empty() {
        say(&format!("no modules are kept in namespace {namespace}"));
    } else {
        super::print(&table(&kept, Timestamp::now()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Which digest is used by whom.
fn uses(reconcilers: &[Object]) -> BTreeMap<String, Vec<Use>> {
    let mut uses: BTreeMap<String, Vec<Use>> = BTreeMap::new();
    for object in reconcilers {
        let reconciler = ReconcilerId::new(object.namespace().unwrap_or_default(), object.name());
        let status = status(object);
        let active = status.active.map(|active| (active.digest, As::Active));
        let earlier = status.earlier.into_iter().map(|earlier| (earlier.digest, As::Earlier));
        for (digest, r#as) in active.into_iter().chain(earlier) {
            let reconciler = reconciler.clone();
            uses.entry(digest).or_default().push(Use { reconciler, r#as });
        }
    }
    uses
}

/// One row a digest, the newest first.
fn kept(parts: &[KeptPart], uses: &BTreeMap<String, Vec<Use>>) -> Vec<Kept> {
    let mut by_digest: BTreeMap<&str, Vec<&KeptPart>> = BTreeMap::new();
    for part in parts {
        let digest = part.object.annotation(ANNOTATION_DIGEST).unwrap_or("unknown");
        by_digest.entry(digest).or_default().push(part);
    }
    let row = |(digest, parts): (&str, Vec<&KeptPart>)| {
        let said = |annotation: &str| {
            let found = parts.iter().find_map(|part| part.object.annotation(annotation));
            found.unwrap_or_default().to_owned()
        };
        let created = parts
            .iter()
            .filter_map(|part| part.object.text_at(&["metadata", "creationTimestamp"]));
        let wanted = said(ANNOTATION_PARTS).parse().unwrap_or(1);
        let names: BTreeSet<&str> = parts.iter().map(|part| part.object.name()).collect();
        let expected = |number| names.contains(windlass_core::names::kept_module(digest, number).as_str());
        Kept {
            name: said(ANNOTATION_MODULE_NAME),
            version: said(ANNOTATION_MODULE_VERSION),
            digest: digest.into(),
            bytes: parts.iter().map(|part| part.bytes).sum(),
            parts: Parts {
                there: parts.len(),
                wanted,
                complete: (0..wanted).all(expected),
            },
            used_by: uses.get(digest).cloned().unwrap_or_default(),
            created: created.min().map(Into::into),
        }
    };
    let mut rows: Vec<Kept> = by_digest.into_iter().map(row).collect();
    rows.sort_by(|one, other| (&one.name, &other.created).cmp(&(&other.name, &one.created)));
    rows
}

fn table(kept: &[Kept], now: Timestamp) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(["Name", "Version", "Digest", "Bytes", "Parts", "Used by", "Age"]);
    for row in kept {
        let parts = match row.parts.complete {
            true => row.parts.wanted.to_string(),
            false => format!("{} of {}, incomplete", row.parts.there, row.parts.wanted),
        };
        let uses = row.used_by.iter().map(|used| match used.r#as {
            As::Active => format!("{} (active)", used.reconciler),
            As::Earlier => format!("{} (earlier)", used.reconciler),
        });
        let uses: Vec<String> = uses.collect();
        let uses = if uses.is_empty() {
            "nobody".into()
        } else {
            uses.join(", ")
        };
        let age = row
            .created
            .as_deref()
            .map_or_else(|| "unknown".into(), |time| age(time, now));
        let digest = short(&row.digest).to_owned();
        table.add_row([
            row.name.clone(),
            row.version.clone(),
            digest,
            row.bytes.to_string(),
            parts,
            uses,
            age,
        ]);
    }
    table
        .lines()
        .fold(String::new(), |text, line| text + line.trim() + "\n")
}

/// How long ago, in the two coarsest units at most, as kubectl says it.
fn age(time: &str, now: Timestamp) -> String {
    let Ok(then) = time.parse::<Timestamp>() else {
        return time.into();
    };
    let seconds = now.as_second().saturating_sub(then.as_second()).max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// Bytes that a ConfigMap holds in `binaryData`.
fn size(object: &Object) -> usize {
    let data = object.at(&["binaryData"]).and_then(Value::as_object);
    let decoded = |value: &Value| {
        STANDARD
            .decode(value.as_str().unwrap_or_default())
            .map_or(0, |bytes| bytes.len())
    };
    data.into_iter().flatten().map(|(_, value)| decoded(value)).sum()
}

fn without_content(mut object: Object) -> Object {
    object.0.remove("binaryData");
    object.0.remove("data");
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn part(digest: &str, number: usize, count: usize, created: &str, bytes: usize) -> KeptPart {
        let object = Object::from_value(json!({"metadata": {
            "name": windlass_core::names::kept_module(digest, number), "creationTimestamp": created,
            "annotations": {ANNOTATION_DIGEST: digest, ANNOTATION_PARTS: count.to_string(),
                ANNOTATION_MODULE_NAME: "nginx", ANNOTATION_MODULE_VERSION: "0.1.0"},
        }}))
        .unwrap();
        KeptPart { object, bytes }
    }

    fn rows() -> Vec<Kept> {
        let (one, two) = ("1".repeat(64), "2".repeat(64));
        let reconcilers = [Object::from_value(json!({
            "metadata": {"namespace": "team-a", "name": "nginx"},
            "status": {
                "active": {"digest": two, "shortDigest": "", "name": "", "version": "", "kind": "", "strict": true,
                    "rightsHash": ""},
                "earlier": [{"digest": one, "name": "", "version": ""}],
            },
        }))
        .unwrap()];
        let parts = [
            part(&one, 0, 1, "2026-01-01T00:00:00Z", 5),
            part(&two, 0, 2, "2026-01-02T00:00:00Z", 7),
            part(&two, 1, 2, "2026-01-02T00:00:01Z", 8),
            part(&"3".repeat(64), 1, 2, "2026-01-01T12:00:00Z", 9),
        ];
        kept(&parts, &uses(&reconcilers))
    }

    #[test]
    fn there_is_one_row_a_digest_with_who_uses_it() {
        let expected = "\
Name   Version  Digest        Bytes  Parts               Used by                 Age
nginx  0.1.0    222222222222  15     2                   team-a/nginx (active)   24h
nginx  0.1.0    333333333333  9      1 of 2, incomplete  nobody                  36h
nginx  0.1.0    111111111111  5      1                   team-a/nginx (earlier)  2d
";
        let now = "2026-01-03T00:00:00Z".parse().unwrap();
        assert_eq!(table(&rows(), now), expected);
    }

    #[test]
    fn json_has_the_same_rows_whole() {
        let wanted = json!({
            "name": "nginx", "version": "0.1.0", "digest": "2".repeat(64), "bytes": 15,
            "parts": {"there": 2, "wanted": 2, "complete": true},
            "usedBy": [{"reconciler": {"namespace": "team-a", "name": "nginx"}, "as": "active"}],
            "created": "2026-01-02T00:00:00Z",
        });
        assert_eq!(serde_json::to_value(rows()).unwrap()[0], wanted);
    }

    #[test]
    fn an_age_is_short() {
        let now = "2026-01-10T00:00:00Z".parse().unwrap();
        for (time, wanted) in [
            ("2026-01-09T23:59:01Z", "59s"),
            ("2026-01-09T23:00:00Z", "60m"),
            ("2026-01-09T00:00:00Z", "24h"),
            ("2026-01-01T00:00:00Z", "9d"),
            ("2026-01-11T00:00:00Z", "0s"),
            ("never", "never"),
        ] {
            assert_eq!(age(time, now), wanted);
        }
    }
}
