//! Writes the results: a table for people, JSON for programs, and the page that is kept.

use crate::comparison::{Comparison, HEADER};
use crate::machine::Machine;
use comfy_table::{Table, presets};
use serde_json::{Value, json};

/// Everything that a run saw.
pub(crate) struct Results {
    /// Where and of what.
    pub(crate) machine: Machine,
    /// What it saw, part by part.
    pub(crate) parts: Vec<(&'static str, Vec<Comparison>)>,
}

impl Results {
    /// For a terminal.
    pub(crate) fn table(&self) -> String {
        let mut table = Table::new();
        table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_header(HEADER);
        for (_, lines) in &self.parts {
            table.add_rows(lines.iter().map(Comparison::cells));
        }
        format!("{table}\n")
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let parts = self.parts.iter().map(|(part, lines)| {
            let lines: Vec<_> = lines.iter().map(Comparison::json).collect();
            ((*part).to_owned(), Value::Array(lines))
        });
        json!({"machine": self.machine, "parts": parts.collect::<serde_json::Map<_, _>>()})
    }

    /// The page that is kept, which `notes` end.
    pub(crate) fn page(&self, notes: &str) -> String {
        let mut page = String::from("# Results\n\nWritten by `windlass-bench`; times are p50, ratios are of p50.\n\n");
        for (fact, value) in self.machine.facts() {
            page += &format!("- {fact}: {value}\n");
        }
        for (part, lines) in &self.parts {
            let rule = HEADER.map(|_| "---");
            page += &format!("\n## {part}\n\n{}{}", row(&HEADER), row(&rule));
            for line in lines {
                page += &row(&line.cells());
            }
        }
        format!("{page}\n{}\n", notes.trim_end())
    }
}

fn row(cells: &[impl AsRef<str>]) -> String {
    let cells = cells.iter().map(|cell| cell.as_ref().replace('|', "\\|"));
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Target;
    use crate::quantity::{Memory, Quantity};

    fn results() -> Results {
        let memory = |rss| Quantity::Memory(Memory { rss, pss: 0 });
        let line = Comparison::of("one | two", memory(3 << 20))
            .against("less", memory(1 << 20))
            .target(Target::Times(2.0));
        Results {
            machine: Machine::look().unwrap(),
            parts: vec![("memory", vec![line])],
        }
    }

    #[test]
    fn the_table_says_what_was_missed() {
        let table = results().table();
        let line = table.lines().find(|line| line.contains("one | two")).unwrap();
        let missed = ["3.00 MiB", "less: 1.00 MiB", "3.00", "at most 2 times", "missed"];
        assert!(missed.iter().all(|words| line.contains(words)), "{table}");
    }

    #[test]
    fn the_page_has_a_table_of_six_columns_and_ends_with_the_notes() {
        let page = results().page("## Notes\n\nNone.\n");
        assert!(page.ends_with("| missed |\n\n## Notes\n\nNone.\n"), "{page}");
        assert!(
            page.contains("| --- | --- | --- | --- | --- | --- |\n| one \\| two | "),
            "{page}"
        );
    }

    #[test]
    fn the_page_that_is_kept_ends_with_the_notes_that_are_kept() {
        let (page, notes) = (include_str!("../RESULTS.md"), include_str!("../NOTES.md"));
        assert!(
            page.ends_with(notes),
            "run `make bench BENCH='--results host/bench/RESULTS.md'`"
        );
    }

    #[test]
    fn json_has_the_lines_by_part() {
        assert_eq!(results().json()["parts"]["memory"][0]["met"], false);
    }
}
