//! Keeps the threat model true to the tests that it names.

use crate::golden;
use std::path::Path;

/// Every source file below a folder, one after the other.
fn sources(folder: &Path, into: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn every_line_of_the_threat_model_names_tests_that_exist() {
    let page = std::fs::read_to_string(golden::path("../deploy/README.md")).unwrap();
    let (_, model) = page.split_once("## Threat model").expect("the page has a threat model");
    let mut all = String::new();
    for folder in ["core", "src", "tests"] {
        sources(&golden::path(folder), &mut all);
    }
    let rows = model
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| may |"));
    let mut named = 0;
    for row in rows {
        let shown_by = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap_or_default();
        let mut tests = shown_by.split('`').skip(1).step_by(2).peekable();
        assert!(tests.peek().is_some(), "no test is named in: {row}");
        for test in tests {
            assert!(all.contains(&format!("fn {test}()")), "there is no test {test}: {row}");
            named += 1;
        }
    }
    assert!(named > 40, "only {named} tests are named");
}
