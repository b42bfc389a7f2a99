//! Shows what happens to objects of any kind, live: `windlass watch`.

use super::objects::{ObjectsError, Output, Selection};
use crate::cluster::kube::KubeCluster;
use crate::cluster::{Cluster, WatchEvent};
use clap::Args;
use futures::{Stream, StreamExt};
use jiff::ZonedDateTime;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use windlass_core::kind::KindRef;
use windlass_core::manifest::Projection;
use windlass_core::object::Object;

/// Watches objects of any kind the cluster serves; existing ones count as added
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  windlass watch nginx                    in the namespace of the kubeconfig
  windlass watch deploy -A -l app=web     in all namespaces, with this label
  windlass watch pods -n team-a -o json   one JSON object a line")]
pub struct WatchOptions {
    /// Which objects, and in which form.
    #[command(flatten)]
    pub selection: Selection,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
enum Happened {
    Added,
    Modified,
    Deleted,
}

/// One line of the table.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    number: u64,
    r#type: Happened,
    receive_time: String,
    namespace: Option<String>,
    name: String,
}

/// Shows what happens to what is selected on standard output, until it is interrupted.
///
/// # Errors
/// Where there is no cluster, no such kind, or no right to watch it. A watch that breaks later is mended.
pub async fn watch(options: &WatchOptions) -> Result<(), ObjectsError> {
    let cluster = KubeCluster::connect().await?;
    let key = options.selection.key(&cluster, Projection::Metadata).await?;
    let kind = key.kind.of.clone();
    let screen = Screen {
        output: options.selection.output,
        out: std::io::stdout(),
        number: 0,
    };
    match show(cluster.watch(key), &kind, screen).await {
        Err(ObjectsError::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        shown => shown,
    }
}

async fn show(
    mut events: impl Stream<Item = WatchEvent> + Unpin,
    kind: &KindRef,
    mut screen: Screen<impl Write>,
) -> Result<(), ObjectsError> {
    let mut known: Option<Known> = None;
    while let Some(event) = events.next().await {
        match event {
            WatchEvent::Failed(words) if known.is_none() => {
                return Err(ObjectsError::Watch {
                    kind: kind.clone(),
                    words,
                });
            }
            WatchEvent::Failed(words) => eprintln!("the watch was interrupted and is tried again: {words}"),
            event => {
                if known.is_none() {
                    screen.head()?;
                }
                for (happened, identity) in known.get_or_insert_default().take(event) {
                    screen.row(happened, identity)?;
                }
            }
        }
    }
    Ok(())
}

/// Namespace and name.
type Identity = (Option<String>, String);

/// What is there, so that a new list after a break shows only what happened meanwhile.
#[derive(Default)]
struct Known {
    /// Uid and resourceVersion: the same name with another uid is another object.
    objects: BTreeMap<Identity, (String, String)>,
}

impl Known {
    fn take(&mut self, event: WatchEvent) -> Vec<(Happened, Identity)> {
        match event {
            WatchEvent::Listed(objects) => self.list(&objects),
            WatchEvent::Applied(object) => self.apply(&object),
            WatchEvent::Deleted(object) => {
                self.objects.remove(&identity(&object));
                vec![(Happened::Deleted, identity(&object))]
            }
            WatchEvent::Failed(_) => Vec::new(),
        }
    }

    fn list(&mut self, objects: &[Object]) -> Vec<(Happened, Identity)> {
        let mut listed: Vec<_> = objects.iter().collect();
        listed.sort_by_key(|object| identity(object));
        let names: std::collections::BTreeSet<_> = objects.iter().map(identity).collect();
        let gone: Vec<_> = self
            .objects
            .keys()
            .filter(|identity| !names.contains(*identity))
            .cloned()
            .collect();
        let mut rows = Vec::new();
        for identity in gone {
            self.objects.remove(&identity);
            rows.push((Happened::Deleted, identity));
        }
        rows.extend(listed.into_iter().flat_map(|object| self.apply(object)));
        rows
    }

    fn apply(&mut self, object: &Object) -> Vec<(Happened, Identity)> {
        let identity = identity(object);
        let state = (object.uid().to_owned(), object.resource_version().to_owned());
        match self.objects.insert(identity.clone(), state.clone()) {
            None => vec![(Happened::Added, identity)],
            Some(old) if old == state => Vec::new(),
            Some(old) if old.0 == state.0 => vec![(Happened::Modified, identity)],
            Some(_) => vec![(Happened::Deleted, identity.clone()), (Happened::Added, identity)],
        }
    }
}

fn identity(object: &Object) -> Identity {
    (object.namespace().map(Into::into), object.name().into())
}

/// Where rows are appended, each flushed as it comes.
struct Screen<W> {
    output: Output,
    out: W,
    number: u64,
}

impl<W: Write> Screen<W> {
    fn head(&mut self) -> std::io::Result<()> {
        match self.output {
            Output::Table => self.line("No.", "Type", "Receive Time", "Name"),
            Output::Json => Ok(()),
        }
    }

    fn row(&mut self, happened: Happened, (namespace, name): Identity) -> std::io::Result<()> {
        self.number += 1;
        let receive_time = ZonedDateTime::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
        let row = Row {
            number: self.number,
            r#type: happened,
            receive_time,
            namespace,
            name,
        };
        if self.output == Output::Json {
            serde_json::to_writer(&mut self.out, &row)?;
            writeln!(self.out)?;
            return self.out.flush();
        }
        let name = match &row.namespace {
            Some(namespace) => format!("{namespace}/{}", row.name),
            None => row.name,
        };
        let happened = match happened {
            Happened::Added => "ADDED",
            Happened::Modified => "MODIFIED",
            Happened::Deleted => "DELETED",
        };
        self.line(&row.number.to_string(), happened, &row.receive_time, &name)
    }

    /// Fixed widths: what is printed cannot be moved when a wider row comes.
    fn line(&mut self, number: &str, happened: &str, time: &str, name: &str) -> std::io::Result<()> {
        writeln!(self.out, "{number:<6}  {happened:<8}  {time:<25}  {name}")?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;
    use serde_json::json;

    fn nginx(name: &str, uid: &str, version: u32) -> Object {
        let metadata = json!({"namespace": "a", "name": name, "uid": uid, "resourceVersion": version.to_string()});
        Object::from_value(json!({"metadata": metadata})).unwrap()
    }

    fn kind() -> KindRef {
        KindRef::new("stable.underneathall.com", "v1", "Nginx")
    }

    async fn shown(output: Output, events: Vec<WatchEvent>) -> (Result<(), ObjectsError>, String) {
        let mut out = Vec::new();
        let screen = Screen {
            output,
            out: &mut out,
            number: 0,
        };
        let result = show(stream::iter(events), &kind(), screen).await;
        (result, String::from_utf8(out).unwrap())
    }

    /// The lines without the times.
    async fn happened(events: Vec<WatchEvent>) -> Vec<String> {
        let (result, text) = shown(Output::Table, events).await;
        result.unwrap();
        let columns = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        text.lines()
            .skip(1)
            .map(columns)
            .map(|line| format!("{} {} {}", line[0], line[1], line[3]))
            .collect()
    }

    #[tokio::test]
    async fn rows_should_be_numbered_and_existing_objects_count_as_added() {
        let events = vec![
            WatchEvent::Listed(vec![nginx("y", "2", 1), nginx("x", "1", 1)]),
            WatchEvent::Applied(nginx("x", "1", 2)),
            WatchEvent::Applied(nginx("z", "3", 3)),
            WatchEvent::Deleted(nginx("y", "2", 4)),
        ];
        let expected = [
            "1 ADDED a/x",
            "2 ADDED a/y",
            "3 MODIFIED a/x",
            "4 ADDED a/z",
            "5 DELETED a/y",
        ];
        assert_eq!(happened(events).await, expected);
    }

    #[tokio::test]
    async fn a_new_list_after_a_break_should_show_only_what_happened_meanwhile() {
        let events = vec![
            WatchEvent::Listed(vec![
                nginx("same", "1", 1),
                nginx("changed", "2", 1),
                nginx("gone", "3", 1),
                nginx("new", "4", 1),
            ]),
            WatchEvent::Failed("cut".into()),
            WatchEvent::Listed(vec![
                nginx("same", "1", 1),
                nginx("changed", "2", 2),
                nginx("new", "5", 3),
            ]),
        ];
        let expected = [
            "5 DELETED a/gone",
            "6 MODIFIED a/changed",
            "7 DELETED a/new",
            "8 ADDED a/new",
        ];
        assert_eq!(happened(events).await[4..], expected);
    }

    #[tokio::test]
    async fn a_watch_that_never_worked_should_be_an_error() {
        let (result, text) = shown(Output::Table, vec![WatchEvent::Failed("HTTP 403: no".into())]).await;
        assert_eq!(text, "");
        assert_eq!(
            result.unwrap_err().to_string(),
            "Nginx.stable.underneathall.com/v1 cannot be watched: HTTP 403: no"
        );
    }

    #[tokio::test]
    async fn json_should_be_one_object_a_line_without_a_head() {
        let (result, text) = shown(Output::Json, vec![WatchEvent::Listed(vec![nginx("x", "1", 1)])]).await;
        result.unwrap();
        let row: serde_json::Value = serde_json::from_str(text.trim_end()).unwrap();
        assert_eq!(
            (&row["number"], &row["type"], &row["name"]),
            (&json!(1), &json!("ADDED"), &json!("x"))
        );
    }
}
