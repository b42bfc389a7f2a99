//! Says where and of what the numbers are: machine, versions, commit, time.

use anyhow::Result;
use serde::Serialize;
use std::fs::read_to_string;
use std::process::Command;

/// Where and of what the numbers are.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Machine {
    /// When the run began.
    pub(crate) date: String,
    /// What was built.
    pub(crate) commit: String,
    /// How it was started.
    pub(crate) command: String,
    /// How it was built.
    pub(crate) build: &'static str,
    /// Model and number of processors.
    pub(crate) processor: String,
    /// Memory of the machine.
    pub(crate) memory: String,
    /// Name and version of the system.
    pub(crate) system: String,
    /// Version of the compiler.
    pub(crate) rustc: String,
    /// What ran beside it at the beginning: processes that want a processor, averaged over a minute.
    pub(crate) load: String,
}

impl Machine {
    /// Looks around.
    ///
    /// # Errors
    /// If the system does not say what every Linux says.
    pub(crate) fn look() -> Result<Self> {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let changed = !said("git", &["-C", root, "status", "--porcelain", "--", "."]).is_empty();
        let commit = said("git", &["-C", root, "rev-parse", "--short=12", "HEAD"]);
        let processors = std::thread::available_parallelism()?;
        let model = field(&read_to_string("/proc/cpuinfo")?, "model name")
            .unwrap_or("unknown")
            .to_owned();
        let meminfo = read_to_string("/proc/meminfo")?;
        Ok(Self {
            date: jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string(),
            commit: if changed {
                format!("{commit} with changes")
            } else {
                commit
            },
            command: std::env::args().collect::<Vec<_>>().join(" "),
            build: if cfg!(debug_assertions) { "debug" } else { "release" },
            processor: format!("{processors} x {model}"),
            memory: field(&meminfo, "MemTotal").unwrap_or("unknown").to_owned(),
            system: said("uname", &["-sr"]),
            rustc: said("rustc", &["--version"]),
            load: read_to_string("/proc/loadavg")?
                .split(' ')
                .next()
                .unwrap_or_default()
                .to_owned(),
        })
    }

    /// What and its value, for a list.
    pub(crate) fn facts(&self) -> [(&'static str, &str); 9] {
        [
            ("date", &self.date),
            ("commit", &self.commit),
            ("command", &self.command),
            ("build", self.build),
            ("processors", &self.processor),
            ("memory", &self.memory),
            ("system", &self.system),
            ("compiler", &self.rustc),
            ("load before", &self.load),
        ]
    }
}

/// The first line that a program prints; empty if there is no such program.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

/// The value of a line `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim_start().strip_prefix(':')?.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_proc_are_found() {
        let text = "processor\t: 0\nmodel name\t: Good One\nMemTotal:   12 kB\n";
        assert_eq!(field(text, "model name"), Some("Good One"));
        assert_eq!(field(text, "MemTotal"), Some("12 kB"));
        assert_eq!(field(text, "flags"), None);
    }

    #[test]
    fn every_fact_is_known_here() {
        let machine = Machine::look().unwrap();
        let unknown: Vec<_> = machine
            .facts()
            .into_iter()
            .filter(|(_, value)| value.is_empty())
            .collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
