//! Replays the corpus of the fuzz targets, and what is made of it by changing bytes, through the same functions.

#[path = "../../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "the fuzz targets are programs of another package")]
mod inputs;

use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

type Target = fn(&[u8]);

/// What takes the inputs, by the name of its fuzz target.
const TARGETS: [(&str, Target); 8] = [
    ("managed_fields", inputs::managed_fields),
    ("module_bytes", inputs::module_bytes),
    ("module_runs", inputs::module_runs),
    ("outcome_conversion", inputs::outcome_conversion),
    ("paths", inputs::paths),
    ("quantities", inputs::quantities),
    ("selectors", inputs::selectors),
    ("yaml", inputs::yaml),
];

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// The names of what is in a folder, without extensions.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let stem = |path: PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    entries.map(|entry| stem(entry.unwrap().path())).collect()
}

/// The inputs that are kept for a target.
fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(fuzz().join("corpus").join(target))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect()
}

#[test]
fn every_target_has_a_corpus_and_is_replayed_here() {
    let here: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&fuzz().join("fuzz_targets")), here);
    assert_eq!(names(&fuzz().join("corpus")), here);
}

#[test]
fn the_corpus_is_read_with_all_promises_kept() {
    for (name, target) in TARGETS {
        let corpus = corpus(name);
        assert!(corpus.len() > 2, "{name} has {} inputs", corpus.len());
        for (path, bytes) in corpus {
            println!("{}", path.display());
            target(&bytes);
        }
    }
}

#[tokio::test]
async fn the_guest_of_the_corpus_decides() {
    use windlass::guest::{Compiler, Limits, Loader};
    use windlass_core::decision::{ChildrenPlan, Decided, Entry, Reply};
    let text = std::fs::read_to_string(fuzz().join("corpus/module_runs/guest.wat")).unwrap();
    let loader = Loader::new(crate::world::RUNTIME.clone(), Compiler::InProcess);
    let module = loader.load(wat::parse_str(text).unwrap()).await.unwrap();
    let limits = Limits::default();
    let manifest = module.describe(&serde_json::Value::Null, &limits).await.unwrap();
    assert_eq!(
        (manifest.name.as_str(), manifest.primary.kind.plural.as_str()),
        ("a", "things")
    );
    let mut decision = module.guest(&manifest, &limits).begin(b"seed").await.unwrap();
    let Reply::Decided(Decided::Outcome(outcome)) = decision.call(Entry::Reconcile, &inputs::request()).await.unwrap()
    else {
        panic!("no outcome");
    };
    assert_eq!(outcome.children, ChildrenPlan::NoneWanted);
}

/// Some bytes of an input changed, taken out, or put in.
fn changed(mut bytes: Vec<u8>, changes: &[(Index, u8, u8)]) -> Vec<u8> {
    for (at, how, byte) in changes {
        let at = at.index(bytes.len() + 1);
        match how % 3 {
            0 => bytes.insert(at, *byte),
            1 if at < bytes.len() => drop(bytes.remove(at)),
            _ if at < bytes.len() => bytes[at] = *byte,
            _ => {}
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_inputs_are_read_with_all_promises_kept(
        target in 0..TARGETS.len(),
        input in any::<Index>(),
        changes in prop::collection::vec((any::<Index>(), any::<u8>(), any::<u8>()), 1..6),
    ) {
        let (name, target) = TARGETS[target];
        let corpus = corpus(name);
        target(&changed(input.get(&corpus).1.clone(), &changes));
    }
}
