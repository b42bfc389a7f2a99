//! Whatever bytes come, they end as a module or as a refusal that says what to do (F-02, F-04, F-05).

use super::{LOADER, bytes_of, generous, runtime};
use crate::guest::{Capacity, Compiler, Loader, Runtime, Step, digest};
use flate2::Compression;
use flate2::write::GzEncoder;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::json;
use std::io::Write;
use std::time::Duration;
use wit_component::StringEncoding;
use wit_parser::{LiftLowerAbi, ManglingAndAbi, Resolve};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("the test's own text is right")
}

/// The smallest guest: every function traps.
fn dummy() -> Vec<u8> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir("../wit").expect("the contract parses");
    let world = resolve
        .select_world(&[package], Some("reconciler"))
        .expect("the contract has its world");
    let mut module = wit_component::dummy_module(&resolve, world, ManglingAndAbi::Legacy(LiftLowerAbi::Sync));
    wit_component::embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("embeds");
    module
}

async fn refused(name: &str, bytes: Vec<u8>, step: Step, cause: &str, words: &[&str]) {
    let refusal = LOADER.load(bytes).await.expect_err(name);
    assert_eq!((refusal.step, refusal.cause), (step, cause), "{name}: {refusal}");
    for word in words {
        assert!(
            refusal.message.contains(word),
            "{name}: no {word:?} in {:?}",
            refusal.message
        );
    }
    assert!(
        refusal.message.ends_with('.'),
        "{name}: not whole sentences: {:?}",
        refusal.message
    );
}

#[tokio::test]
async fn f_05_bytes_that_are_no_component_are_refused_for_what_they_are() {
    let good = dummy();
    let packed = gzip(&good);
    let cut = |bytes: &[u8], length: usize| bytes.iter().copied().take(length).collect::<Vec<u8>>();
    let (unpack, inspect) = (Step::Unpack, Step::Inspect);
    refused("empty", Vec::new(), unpack, "Empty", &["binaryData"]).await;
    refused(
        "large",
        vec![0; (16 << 20) + 1],
        unpack,
        "TooLarge",
        &["16 MiB", "opt-level"],
    )
    .await;
    refused("bomb", gzip(&vec![0; 100 << 20]), unpack, "TooLarge", &["64 MiB"]).await;
    refused(
        "gzip cut off",
        cut(&packed, packed.len() / 2),
        unpack,
        "Gzip",
        &["cut off"],
    )
    .await;
    refused("gzip of nothing", cut(&packed, 3), unpack, "Gzip", &["cut off"]).await;
    refused("gzip twice", gzip(&packed), unpack, "Packed", &["twice"]).await;
    refused(
        "zstd damaged",
        b"\x28\xb5\x2f\xfd\xff\xff\xff\xff\xff".to_vec(),
        unpack,
        "Zstd",
        &["zstd"],
    )
    .await;
    refused("four bytes", b"\0asm".to_vec(), inspect, "Truncated", &["whole file"]).await;
    refused("four other bytes", b"abcd".to_vec(), inspect, "NotWasm", &["\\0asm"]).await;
    refused(
        "half",
        cut(&good, good.len() / 2),
        inspect,
        "Truncated",
        &["whole file"],
    )
    .await;
    refused(
        "machine code",
        b"\x7fELF\x02\x01\x01".to_vec(),
        inspect,
        "Precompiled",
        &["machine code"],
    )
    .await;
    refused("text", b"\n(component)".to_vec(), inspect, "NotWasm", &["wat"]).await;
    refused("page", b"<!DOCTYPE html><html>".to_vec(), inspect, "NotWasm", &["HTML"]).await;
    refused("base64", b"AGFzbQ0AAQA=".to_vec(), inspect, "NotWasm", &["binaryData"]).await;
    refused(
        "old version",
        b"\0asm\x0a\0\x01\0".to_vec(),
        inspect,
        "Invalid",
        &["version"],
    )
    .await;
    refused(
        "plain core module",
        wat("(module)"),
        inspect,
        "CoreModule",
        &["component-type", "SDK"],
    )
    .await;
}

#[tokio::test]
async fn f_04_a_foreign_import_or_another_version_is_refused_by_name() {
    let cases = [
        (
            r#"(component (import "acme:db/query@1.0.0" (instance)))"#,
            "ForeignImport",
            "acme:db/query@1.0.0",
        ),
        (
            r#"(component (import "wasi:http/types@0.2.0" (instance)))"#,
            "ForeignImport",
            "wasi:http/types@0.2.0",
        ),
        (
            r#"(component (import "wasi:clocks/wall-clock@0.3.0" (instance)))"#,
            "ForeignImport",
            "wasm32-wasip2",
        ),
        (
            r#"(component (import "windlass:reconciler/log@0.2.0" (instance)))"#,
            "WrongVersion",
            "version 0.2.0",
        ),
        (
            r#"(component (instance $i) (export "windlass:reconciler/guest@0.3.0" (instance $i)))"#,
            "WrongVersion",
            "speaks version 0.1.0",
        ),
        (
            r#"(component (instance $i) (export "wasi:cli/run@0.2.0" (instance $i)))"#,
            "WrongWorld",
            "wasi:cli/run@0.2.0",
        ),
        (r"(component)", "WrongWorld", "exports nothing"),
        (
            r#"(component (instance $i) (export "windlass:reconciler/guest@0.1.0" (instance $i)))"#,
            "WrongWorld",
            "describe",
        ),
        (r#"(module (import "env" "abort" (func)))"#, "ForeignImport", "`env`"),
        (
            r#"(module (import "wasi_snapshot_preview1" "fd_write" (func)))"#,
            "ForeignImport",
            "preview 1",
        ),
        (
            r#"(module (import "__wbindgen_placeholder__" "x" (func)))"#,
            "ForeignImport",
            "wasm-bindgen",
        ),
    ];
    for (text, cause, word) in cases {
        refused(text, wat(text), Step::Inspect, cause, &[word]).await;
    }
}

#[tokio::test]
async fn a_module_is_the_same_however_it_is_packed() {
    let plain = dummy();
    let component = wit_component::ComponentEncoder::default()
        .module(&plain)
        .and_then(|mut encoder| encoder.encode());
    let module = LOADER
        .load(plain.clone())
        .await
        .expect("a core module with the contract loads");
    assert_eq!(
        (module.digest(), module.size(), module.is_strict()),
        (&*digest(&plain).expect("plain"), plain.len(), true)
    );
    assert!(
        module
            .imports()
            .iter()
            .any(|name| name == "windlass:reconciler/log@0.1.0"),
        "{:?}",
        module.imports()
    );
    for packed in [gzip(&plain), zstd(&plain)] {
        assert_eq!(digest(&packed).expect("unpacks"), module.digest());
        assert_eq!(
            LOADER.load(packed).await.expect("loads packed").digest(),
            module.digest()
        );
    }
    let component = LOADER
        .load(gzip(&component.expect("encodes")))
        .await
        .expect("a component loads");
    assert_ne!(component.digest(), module.digest());
}

/// How many bytes are flipped; more with `WINDLASS_FLIPS`.
fn flips() -> u32 {
    let more = std::env::var("WINDLASS_FLIPS").ok();
    more.and_then(|text| text.parse().ok()).unwrap_or(1_000)
}

/// Flips one bit of `good` at a time; says how many of what came out loaded, and how many were refused.
async fn flip(good: &[u8]) -> (u32, u32) {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let (mut loaded, mut refused) = (0, 0);
    for _ in 0..flips() {
        let mut bytes = good.to_vec();
        let at = usize::try_from(random.next_u32()).expect("fits") % bytes.len();
        bytes[at] ^= 1 << (random.next_u32() % 8);
        match LOADER.load(bytes).await {
            Err(refusal) => {
                assert!(refusal.message.ends_with('.'), "{refusal}");
                refused += 1;
            }
            Ok(module) => {
                // All its functions trap, if they are still its functions.
                let refusal = module
                    .describe(&json!({}), &generous())
                    .await
                    .expect_err("nothing describes itself");
                assert_eq!(refusal.step, Step::Describe);
                loaded += 1;
            }
        }
    }
    (loaded, refused)
}

#[tokio::test]
async fn f_05_one_flipped_byte_never_ends_the_process() {
    let (loaded, refused) = flip(&dummy()).await;
    assert!(
        loaded > 0 && refused > 0,
        "core module: {loaded} loaded, {refused} refused"
    );
    let component = crate::guest::encode::encode(&dummy()).expect("encodes");
    let (loaded, refused) = flip(&component).await;
    assert!(
        loaded > 0 && refused > 0,
        "component: {loaded} loaded, {refused} refused"
    );
}

#[tokio::test]
async fn what_a_core_module_says_about_its_types_is_not_believed() {
    let mut module = wat("(module)");
    module.extend_from_slice(b"\0\x14\x0ecomponent-typehello");
    refused("nonsense for types", module, Step::Inspect, "Invalid", &["SDK"]).await;
}

#[tokio::test]
async fn f_08_compiling_ends_with_its_budget_and_others_load_after_it() {
    let capacity = Capacity {
        compile: Duration::ZERO,
        ..runtime().capacity().clone()
    };
    let loader = Loader::new(Runtime::new(capacity).expect("fits"), Compiler::InProcess);
    let refusal = loader
        .load(bytes_of("nginx"))
        .await
        .expect_err("no module compiles in no time");
    assert_eq!((refusal.step, refusal.cause), (Step::Compile, "CompileBudgetExceeded"));
    assert!(loader.load(Vec::new()).await.is_err(), "the next one has its turn");
}

#[test]
fn e_12_a_pool_that_does_not_fit_says_what_to_change() {
    let error = Runtime::new(Capacity {
        decisions: 4_000_000,
        ..Capacity::default()
    })
    .expect_err("16 EiB do not fit");
    let text = error.to_string();
    assert!(
        text.contains("4000000 decisions") && text.contains("address space"),
        "{text}"
    );
}
