//! Keeps the list of failure cases in `tests/README.md` true to the tests that are there.
//!
//! `BLESS=1` writes the tests that are named after a case into its row, beside others that somebody put there; words stay where
//! there is no test.

use crate::golden;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const PAGE: &str = "tests/README.md";
const FOLDERS: [&str; 4] = ["core", "src", "testing", "tests"];

/// What a row says of a case.
#[derive(Debug)]
struct Row {
    id: String,
    title: String,
    /// Tests, as `file::name`, or words.
    shown_by: String,
}

impl Row {
    /// The cells of a line that begins with the id of a case.
    fn of(line: &str) -> Option<Self> {
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.splitn(3, " | ");
        let (id, title, shown_by) = (cells.next()?, cells.next()?, cells.next()?);
        let is_id = |id: &str| matches!(id.as_bytes(), [b'A'..=b'N', b'-', b'0'..=b'9', b'0'..=b'9']);
        is_id(id).then(|| Self {
            id: id.into(),
            title: title.into(),
            shown_by: shown_by.into(),
        })
    }

    /// The tests that it names.
    fn tests(&self) -> BTreeSet<&str> {
        self.shown_by.split('`').skip(1).step_by(2).collect()
    }
}

/// Every source file below a folder, by its path below this package's.
fn sources(folder: &Path, into: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("case_index.rs") {
            let below = path.strip_prefix(golden::path("")).unwrap().display().to_string();
            into.insert(below, std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The cases that a function is named after: `a_03_a_04_what` is `A-03` and `A-04`.
fn cases_of(name: &str) -> Vec<String> {
    let mut parts = name.split('_');
    let mut cases = Vec::new();
    while let (Some(letter), Some(number)) = (parts.next(), parts.next())
        && let ([b'a'..=b'n'], [b'0'..=b'9', b'0'..=b'9']) = (letter.as_bytes(), number.as_bytes())
    {
        cases.push(format!("{}-{number}", letter.to_uppercase()));
    }
    cases
}

/// The tests of a file that are named after a case: functions with a test's attribute, and scenarios of the table.
fn tests_of(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut is_test = false;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("#[") || line.starts_with("//") {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            continue;
        }
        if let Some((_, name)) = line.split_once("fn ") {
            let name = name.split('(').next().unwrap_or_default();
            if (is_test || line.contains("(play: &Play)")) && !cases_of(name).is_empty() {
                found.push(name);
            }
        }
        is_test = false;
    }
    found
}

/// Every test that is named after a case, by the case.
fn named_tests(sources: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in sources {
        for name in tests_of(text) {
            for case in cases_of(name) {
                named.entry(case).or_default().insert(format!("{file}::{name}"));
            }
        }
    }
    named
}

fn exists(sources: &BTreeMap<String, String>, test: &str) -> bool {
    let Some((file, name)) = test.split_once("::") else {
        return false;
    };
    sources
        .get(file)
        .is_some_and(|text| text.contains(&format!("fn {name}(")))
}

/// The page with each row as it should be.
fn blessed(page: &str, sources: &BTreeMap<String, String>) -> String {
    let named = named_tests(sources);
    let line = |line: &str| {
        let Some(row) = Row::of(line) else {
            return line.to_owned();
        };
        let mut tests: BTreeSet<&str> = row.tests().into_iter().filter(|test| exists(sources, test)).collect();
        tests.extend(named.get(&row.id).into_iter().flatten().map(String::as_str));
        if tests.is_empty() {
            return line.to_owned();
        }
        let tests: Vec<String> = tests.into_iter().map(|test| format!("`{test}`")).collect();
        format!("| {} | {} | {} |", row.id, row.title, tests.join(", "))
    };
    page.lines().map(|text| line(text) + "\n").collect()
}

#[test]
fn every_case_is_listed_once_with_the_tests_that_show_it() {
    let mut all = BTreeMap::new();
    for folder in FOLDERS {
        sources(&golden::path(folder), &mut all);
    }
    let page = golden::text(PAGE);
    golden::assert(PAGE, &blessed(&page, &all));
    let rows: Vec<Row> = golden::text(PAGE).lines().filter_map(Row::of).collect();

    // The page says itself how many there are of each group.
    let counts = page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ");
        let (group, count) = (cells.next()?, cells.next()?);
        Some((group.to_owned(), count.parse::<usize>().ok()?))
    });
    let counts: Vec<(String, usize)> = counts.filter(|(group, _)| group.len() == 1).collect();
    assert_eq!(counts.iter().map(|(_, count)| count).sum::<usize>(), 124, "{counts:?}");
    let wanted = counts
        .iter()
        .flat_map(|(group, count)| (1..=*count).map(move |number| format!("{group}-{number:02}")));
    let listed: Vec<String> = rows.iter().map(|row| row.id.clone()).collect();
    assert_eq!(listed, wanted.collect::<Vec<_>>(), "each case once, in order");

    for row in &rows {
        assert!(!row.title.is_empty() && !row.shown_by.is_empty(), "{row:?}");
        for test in row.tests() {
            assert!(exists(&all, test), "{}: there is no test {test}", row.id);
        }
    }
}

#[test]
fn only_tests_and_scenarios_are_taken_for_tests_of_a_case() {
    let text = "
        #[tokio::test(flavor = \"multi_thread\")]
        async fn a_05_what_it_shows() {}
        /// Why.
        #[test]
        #[ignore]
        fn b_01_this() {}
        async fn b_02_not_this() {}
        pub(super) async fn i_01_a_scenario(play: &Play) -> Result<()> {}
        #[test]
        fn a_plain_one() {}
    ";
    assert_eq!(cases_of("a_03_b_10_and_more"), ["A-03", "B-10"]);
    assert_eq!(tests_of(text), ["a_05_what_it_shows", "b_01_this", "i_01_a_scenario"]);
}
