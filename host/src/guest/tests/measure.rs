//! Prints what decisions and modules cost; run by name, with `--ignored --nocapture`, alone on the machine.

use super::decisions::befriend;
use super::{LOADER, bytes_of, generous, guest, module};
use serde_json::json;
use std::time::Instant;

/// Resident memory of this process in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .expect("Linux");
    line.trim_end_matches("kB").trim().parse().expect("a number")
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "prints numbers and asserts none"]
async fn what_a_decision_costs() {
    let guest = guest("friend", &generous()).await;
    let pod = [json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "buddy"}})];
    let mut times = Vec::new();
    for _ in 0..5_000 {
        let began = Instant::now();
        befriend(&*guest, &pod).await;
        times.push(began.elapsed());
    }
    times.sort();
    println!(
        "ask and decide: p50 {:?}, p99 {:?}",
        times[times.len() / 2],
        times[times.len() * 99 / 100]
    );
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "prints numbers and asserts none"]
async fn what_a_module_costs() {
    let first = module("friend").await;
    println!("compile: {:?} of {} bytes", first.compile_time(), first.size());
    let (before, mut modules) = (resident(), Vec::new());
    for number in 0..50_u8 {
        // A custom section of one byte makes another module of it.
        let mut bytes = bytes_of("friend");
        bytes.extend_from_slice(&[0, 3, 1, b'x', number]);
        let module = LOADER.load(bytes).await.expect("loads");
        module.describe(&json!({}), &generous()).await.expect("describes");
        modules.push(module);
    }
    println!(
        "each of {} modules: {} KiB",
        modules.len(),
        (resident().saturating_sub(before)) / 50
    );
}
