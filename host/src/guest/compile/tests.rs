//! Whatever is wrong with the cache of compiled code costs a compile, and nothing else (F-09, F-16).

use super::{Cache, CacheKey, Compiler, Entry, Lookup, TrustedCode, identity};
use crate::guest::Loader;
use crate::guest::imports::Interface;
use crate::guest::tests::{LOADER, bytes_of, generous};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

const RESULTS: [&str; 5] = ["hit", "miss", "torn", "forged", "unwritable"];
const ENGINE: [u8; 32] = [1; 32];

fn key() -> CacheKey {
    CacheKey::derive(b"the host's key")
}

/// A host that just started, on this directory.
fn started(directory: &Path) -> Loader {
    let loader = Loader::new(LOADER.runtime().clone(), Compiler::InProcess);
    loader.with_cache(Cache::new(directory, Cache::LIMIT))
}

/// Loads a guest as a host does that starts with this key; says how often it compiled, and what the cache was good for.
async fn load_with(directory: &Path, key: CacheKey) -> (u64, Vec<&'static str>) {
    let loader = started(directory);
    let module = loader.load_cached(bytes_of("friend"), key).await.expect("loads");
    module.describe(&json!({}), &generous()).await.expect("runs");
    let metrics = loader.metrics();
    let results = RESULTS.into_iter().filter(|result| metrics.cache_count(result) > 0);
    (metrics.compiles.get(), results.collect())
}

async fn load(directory: &Path) -> (u64, Vec<&'static str>) {
    load_with(directory, key()).await
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

fn entry(cache: &Cache, module: &str, engine: &[u8; 32]) -> Entry {
    cache.entry(&key(), module, engine)
}

fn code(size: usize) -> TrustedCode {
    TrustedCode::compiled(vec![7; size])
}

fn hits(entry: &Entry) -> bool {
    matches!(entry.read(), Lookup::Hit(..))
}

#[tokio::test]
async fn a_host_that_starts_again_does_not_compile_again() {
    let directory = TempDir::new().unwrap();
    let inner = directory.path().join("made/when/needed");
    assert_eq!(load(&inner).await, (1, vec!["miss"]));
    assert_eq!(load(&inner).await, (0, vec!["hit"]));
    let [file] = files(&inner).try_into().expect("one file, and nothing unfinished");
    let mode = fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_file_with_one_changed_byte_is_forged_wherever_the_byte_is() {
    let directory = TempDir::new().unwrap();
    load(directory.path()).await;
    let [file] = files(directory.path()).try_into().expect("one file");
    let good = fs::read(&file).unwrap();
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    fs::write(&file, bad).unwrap();
    assert_eq!(load(directory.path()).await, (1, vec!["forged"]));
    assert_eq!(load(directory.path()).await, (0, vec!["hit"]), "it was replaced");
    let small = entry(
        &Cache::new(&directory.path().join("small"), Cache::LIMIT),
        "small",
        &ENGINE,
    );
    small.write(&Interface::default(), &code(100)).unwrap();
    let [file] = files(&directory.path().join("small")).try_into().expect("one file");
    let good = fs::read(&file).unwrap();
    for position in 8..good.len() {
        let mut bad = good.clone();
        bad[position] ^= 1;
        fs::write(&file, bad).unwrap();
        assert!(matches!(small.read(), Lookup::Forged), "byte {position}");
    }
    fs::write(&file, good).unwrap();
    assert!(hits(&small));
}

#[tokio::test]
async fn what_another_key_wrote_or_what_is_of_another_module_is_forged() {
    let directory = TempDir::new().unwrap();
    load_with(directory.path(), CacheKey::derive(b"another host's key")).await;
    assert_eq!(load(directory.path()).await, (1, vec!["forged"]));
    let cache = Cache::new(directory.path(), Cache::LIMIT);
    let (good, other) = (entry(&cache, "good", &ENGINE), entry(&cache, "other", &ENGINE));
    good.write(&Interface::default(), &code(100)).unwrap();
    other.write(&Interface::default(), &code(100)).unwrap();
    let all = files(directory.path());
    let named = |name: &str| {
        let found = all.iter().find(|path| path.to_string_lossy().contains(name));
        found.expect("it was written").clone()
    };
    fs::copy(named("/other-"), named("/good-")).unwrap();
    assert!(
        matches!(good.read(), Lookup::Forged),
        "authentic, but of another module"
    );
    assert!(matches!(good.read(), Lookup::Miss), "it was deleted");
    assert!(hits(&other));
}

#[tokio::test]
async fn f_09_a_torn_file_costs_a_compile() {
    let directory = TempDir::new().unwrap();
    load(directory.path()).await;
    let [file] = files(directory.path()).try_into().expect("one file");
    let good = fs::read(&file).unwrap();
    fs::write(&file, &good[..good.len() - 1]).unwrap();
    assert_eq!(load(directory.path()).await, (1, vec!["torn"]));
    assert_eq!(load(directory.path()).await, (0, vec!["hit"]), "it was replaced");
    let small = entry(&Cache::new(&directory.path().join("small"), 1_000), "small", &ENGINE);
    small.write(&Interface::default(), &code(100)).unwrap();
    let [file] = files(&directory.path().join("small")).try_into().expect("one file");
    let good = fs::read(&file).unwrap();
    for length in 0..good.len() {
        fs::write(&file, &good[..length]).unwrap();
        assert!(matches!(small.read(), Lookup::Torn), "{length} bytes");
    }
    for more in [1, 1_000] {
        fs::write(&file, [good.clone(), vec![0; more]].concat()).unwrap();
        assert!(matches!(small.read(), Lookup::Torn), "{more} bytes more");
    }
    std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
    assert!(matches!(small.read(), Lookup::Torn), "endless, but no file");
}

#[tokio::test]
async fn f_09_authentic_code_that_this_engine_cannot_take_costs_a_compile() {
    let directory = TempDir::new().unwrap();
    let loader = started(directory.path());
    let module = loader.load(bytes_of("friend")).await.expect("loads");
    let cache = Cache::new(directory.path(), Cache::LIMIT);
    let engine = identity(loader.runtime().engine());
    cache
        .entry(&key(), module.digest(), &engine)
        .write(&Interface::default(), &code(5_000))
        .unwrap();
    assert_eq!(load(directory.path()).await, (1, vec!["torn"]));
    assert_eq!(load(directory.path()).await, (0, vec!["hit"]));
}

#[tokio::test]
async fn f_09_a_directory_that_cannot_be_written_costs_compiles() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "no directory").unwrap();
    let full =
        Loader::new(LOADER.runtime().clone(), Compiler::InProcess).with_cache(Cache::new(directory.path(), 1_000));
    for unwritable in [&file, Path::new("/proc/windlass"), Path::new("")] {
        assert_eq!(
            load(unwritable).await,
            (1, vec!["miss", "unwritable"]),
            "{unwritable:?}"
        );
    }
    full.load_cached(bytes_of("friend"), key()).await.expect("loads");
    assert_eq!(
        full.metrics().cache_count("unwritable"),
        1,
        "larger than the whole cache"
    );
    assert_eq!(files(directory.path()), [file], "nothing unfinished is left");
}

#[test]
fn f_16_code_of_two_engines_lives_side_by_side() {
    let directory = TempDir::new().unwrap();
    let cache = Cache::new(directory.path(), Cache::LIMIT);
    let (old, new) = (entry(&cache, "same", &ENGINE), entry(&cache, "same", &[2; 32]));
    old.write(&Interface::default(), &code(100)).unwrap();
    assert!(matches!(new.read(), Lookup::Miss), "of another engine");
    new.write(&Interface::default(), &code(200)).unwrap();
    assert!(hits(&old) && hits(&new));
    assert_eq!(files(directory.path()).len(), 2);
}

#[test]
fn f_16_the_identity_of_an_engine_is_of_its_settings_and_processor() {
    let engine = |config: &wasmtime::Config| identity(&wasmtime::Engine::new(config).unwrap());
    let mut config = wasmtime::Config::new();
    let plain = engine(&config);
    assert_eq!(plain, engine(&config), "equal for equal engines");
    let version = wasmtime::ModuleVersionStrategy::Custom("49".into());
    config.module_version(version).unwrap();
    let newer = engine(&config);
    config.epoch_interruption(true);
    assert!(plain != newer && newer != engine(&config));
    let compiling = crate::guest::runtime::compiling_engine().unwrap();
    assert_eq!(
        identity(&compiling),
        identity(LOADER.runtime().engine()),
        "the child compiles for the host"
    );
}

#[test]
fn what_was_not_used_for_longest_makes_room_and_nothing_else_in_the_directory_does() {
    let directory = TempDir::new().unwrap();
    let others = directory.path().join("not of the cache");
    fs::write(&others, vec![0; 5_000]).unwrap();
    let cache = Cache::new(directory.path(), 3_500);
    let entries = ["a", "b", "c"].map(|name| entry(&cache, name, &ENGINE));
    for (age, entry) in entries.iter().enumerate() {
        entry.write(&Interface::default(), &code(1_000)).unwrap();
        let written = files(directory.path());
        let name = ["/a-", "/b-", "/c-"][age];
        let path = written
            .iter()
            .find(|path| path.to_string_lossy().contains(name))
            .expect("written");
        let time = SystemTime::now() - Duration::from_secs(1_000 - age as u64);
        fs::File::open(path).unwrap().set_modified(time).unwrap();
    }
    let [a, b, c] = &entries;
    assert!(hits(a), "now the one used last");
    let d = entry(&cache, "d", &ENGINE);
    d.write(&Interface::default(), &code(1_000)).unwrap();
    assert!(hits(a) && !hits(b) && hits(c) && hits(&d));
    let total: u64 = files(directory.path())
        .iter()
        .map(|path| fs::metadata(path).unwrap().len())
        .sum();
    assert!(total <= 3_500 + 5_000, "{total} bytes");
    assert!(others.exists());
    assert!(
        d.write(&Interface::default(), &code(4_000)).is_err(),
        "larger than the cache"
    );
    assert!(hits(a), "and nothing had to go for it");
}
