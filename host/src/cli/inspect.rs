//! Says what a module is, from its bytes and its own word alone.

use super::Output;
use super::module::{ModuleArguments, Opened};
use super::packing::{CONFIG_MAP_LIMIT, gzip};
use clap::Args;
use comfy_table::{Table, presets};
use serde_json::{Value, json};
use std::process::ExitCode;
use windlass_core::kind::KindInfo;
use windlass_core::rights;

/// The version of the contract that this host speaks.
const CONTRACT: &str = "windlass:reconciler@0.1.0";

/// Says what a module is: name, version, digest, sizes, imports, and the kinds that it watches, writes and reads
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  windlass inspect nginx.wasm
  windlass inspect nginx.wasm.gz --settings settings.yaml -o json")]
pub(super) struct InspectArguments {
    #[command(flatten)]
    module: ModuleArguments,
    /// How the result is printed
    #[arg(short, long, default_value = "text")]
    output: Output,
}

pub(super) async fn inspect(arguments: InspectArguments) -> anyhow::Result<ExitCode> {
    let opened = arguments.module.open().await?;
    let said = describe(&opened, gzip(&opened.bytes)?.len());
    match arguments.output {
        Output::Json => super::print(&format!("{}\n", serde_json::to_string_pretty(&said)?))?,
        Output::Text => super::print(&format!("{}\n", table(&said)))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn describe(opened: &Opened, compressed: usize) -> Value {
    let Opened {
        bytes,
        module,
        manifest,
        ..
    } = opened;
    let kind = |kind: &KindInfo| kind.of.to_string();
    json!({
        "name": manifest.name,
        "version": manifest.version,
        "digest": module.digest(),
        "contract": CONTRACT,
        "bytes": {"given": bytes.len(), "plain": module.size(), "gzip": compressed},
        "fitsOneConfigMap": compressed <= CONFIG_MAP_LIMIT,
        "strict": module.is_strict(),
        "imports": module.imports(),
        "watches": kind(&manifest.primary.kind),
        "writes": manifest.children.iter().map(|child| kind(&child.kind)).collect::<Vec<_>>(),
        "reads": manifest.reads.iter().map(|read| kind(&read.kind)).collect::<Vec<_>>(),
        "finalizes": manifest.finalizes,
        "rightsHash": rights::rights_hash(manifest),
    })
}

/// What is said, in the order in which people ask.
const ORDER: [&str; 13] = [
    "name",
    "version",
    "digest",
    "contract",
    "bytes",
    "fitsOneConfigMap",
    "strict",
    "imports",
    "watches",
    "writes",
    "reads",
    "finalizes",
    "rightsHash",
];

/// One line for each thing, lists one below the other.
fn table(said: &Value) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for name in ORDER {
        let text = match &said[name] {
            Value::String(text) => text.clone(),
            Value::Array(items) if items.is_empty() => "nothing".into(),
            Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"),
            Value::Object(map) => map
                .iter()
                .map(|(name, value)| format!("{value} {name}"))
                .collect::<Vec<_>>()
                .join(", "),
            Value::Bool(true) => "yes".into(),
            Value::Bool(false) => "no".into(),
            other => other.to_string(),
        };
        table.add_row([name.to_owned(), text]);
    }
    table
}
