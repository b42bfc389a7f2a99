//! Lists objects of any kind with their namespace and start time: `windlass list`.

use super::objects::{ObjectsError, Output, Selection};
use crate::cluster::WatchKey;
use crate::cluster::kube::KubeCluster;
use clap::Args;
use comfy_table::Table;
use comfy_table::presets;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;
use std::io::Write;
use windlass_core::manifest::Projection;
use windlass_core::object::Object;

/// Lists objects of any kind the cluster serves
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  windlass list pods -A
  windlass list nginx -n team-a -o json
  windlass list deployments.apps -l app=web")]
pub struct ListOptions {
    /// Which objects, and in which form.
    #[command(flatten)]
    pub selection: Selection,
}

/// One object, as it is shown.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    namespace: Option<String>,
    name: String,
    /// `status.startTime`, the creation time where there is none.
    start_time: Option<String>,
}

/// Lists what is selected on standard output.
///
/// # Errors
/// Where there is no cluster, no such kind, or no right to list it.
pub async fn list(options: &ListOptions) -> Result<(), ObjectsError> {
    let cluster = KubeCluster::connect().await?;
    let projection = Projection::Fields(vec![".status.startTime".into()]);
    let key = options.selection.key(&cluster, projection).await?;
    let objects = cluster.list(&key).await.map_err(|source| ObjectsError::List {
        kind: key.kind.of.clone(),
        source,
    })?;
    let rows = rows(&objects, &TimeZone::system());
    if rows.is_empty() && options.selection.output == Output::Table {
        eprintln!("{}", nothing(&key));
        return Ok(());
    }
    match print(&rows, options.selection.output, &mut std::io::stdout()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        printed => Ok(printed?),
    }
}

fn nothing(key: &WatchKey) -> String {
    match &key.namespace {
        Some(namespace) => format!(
            "no {} in namespace {namespace}; -A looks into all namespaces",
            key.kind.plural
        ),
        None => format!("no {}", key.kind.plural),
    }
}

fn rows(objects: &[Object], zone: &TimeZone) -> Vec<Row> {
    let mut rows: Vec<_> = objects
        .iter()
        .map(|object| Row {
            namespace: object.namespace().map(Into::into),
            name: object.name().into(),
            start_time: object
                .text_at(&["status", "startTime"])
                .or_else(|| object.text_at(&["metadata", "creationTimestamp"]))
                .map(|time| local(time, zone)),
        })
        .collect();
    rows.sort();
    rows
}

/// The time in this zone; as it is where it is no time.
fn local(time: &str, zone: &TimeZone) -> String {
    match time.parse::<Timestamp>() {
        Ok(timestamp) => timestamp
            .to_zoned_datetime(zone.clone())
            .strftime("%Y-%m-%dT%H:%M:%S%:z")
            .to_string(),
        Err(_) => time.into(),
    }
}

fn print(rows: &[Row], output: Output, out: &mut impl Write) -> std::io::Result<()> {
    if output == Output::Json {
        serde_json::to_writer_pretty(&mut *out, rows)?;
        return writeln!(out);
    }
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_header(["Namespace", "Name", "Start Time"]);
    for row in rows {
        let missing = || "-".to_owned();
        table.add_row([
            row.namespace.clone().unwrap_or_else(missing),
            row.name.clone(),
            row.start_time.clone().unwrap_or_else(missing),
        ]);
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn objects() -> Vec<Object> {
        let pod = json!({"metadata": {"namespace": "b", "name": "web", "creationTimestamp": "2026-01-02T03:04:00Z"},
            "status": {"startTime": "2026-01-02T03:04:05Z"}});
        let pending =
            json!({"metadata": {"namespace": "a", "name": "pending", "creationTimestamp": "2026-01-02T00:00:00Z"}});
        let node = json!({"metadata": {"name": "node", "creationTimestamp": "not a time"}});
        [pod, pending, node]
            .into_iter()
            .filter_map(Object::from_value)
            .collect()
    }

    fn shown(output: Output) -> String {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let mut out = Vec::new();
        print(&rows(&objects(), &zone), output, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_table_should_show_start_times_in_local_time_or_else_creation_times() {
        let expected = "\
Namespace  Name     Start Time
-          node     not a time
a          pending  2026-01-02T02:00:00+02:00
b          web      2026-01-02T05:04:05+02:00
";
        assert_eq!(shown(Output::Table), expected);
    }

    #[test]
    fn json_should_have_the_same_rows() {
        let rows: serde_json::Value = serde_json::from_str(&shown(Output::Json)).unwrap();
        assert_eq!(
            rows[2],
            json!({"namespace": "b", "name": "web", "startTime": "2026-01-02T05:04:05+02:00"})
        );
        assert_eq!(rows[0]["namespace"], serde_json::Value::Null);
    }
}
