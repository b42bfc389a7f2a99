//! Takes many decisions in parallel for a long time: nothing is left of them (E-08), and memory stays within bounds (E-05).

use super::modules::{bytes, decide as decide_once, load, request};
use super::table::Module;
use serde_json::json;
use std::process::Command;
use std::sync::Arc;
use tokio::runtime::Builder;
use windlass::decide::Decide;
use windlass::guest::{Allocation, Capacity, Compiler, Limits, Loader, Runtime};
use windlass_core::decision::{Answer, Answered, Entry, FaultKind, Reply};
use windlass_core::object::Object;

/// How many guests decide at once.
const GUESTS: usize = 8;
/// What the host needs besides, in KiB: stacks of calls, and pages that are kept.
const MARGIN: usize = 32 << 10;
/// Calls in all, at the first look and at the second; two calls make a decision with a question.
const EARLY: usize = 2_000;
const LATE: usize = 20_000;

/// Set in the processes that play one test of this file and nothing else.
const ALONE: &str = "WINDLASS_TEST_ALONE";

/// Plays in a process of its own, since it is the process that is looked at.
fn alone(test: &str, play: impl Future<Output = ()>) {
    if std::env::var_os(ALONE).is_some() {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        return runtime.unwrap().block_on(play);
    }
    let (_, module) = module_path!().split_once("::").unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::{test}"), "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, failed) = (text(&output.stdout), text(&output.stderr));
    println!("{said}");
    assert!(output.status.success() && said.contains("1 passed"), "{said}{failed}");
}

/// A runtime that allocates like this, and a loader for it.
fn loader(allocation: Allocation) -> Loader {
    let runtime = Runtime::new(Capacity {
        allocation,
        ..Capacity::default()
    });
    Loader::new(runtime.unwrap(), Compiler::InProcess)
}

async fn guest(loader: &Loader, module: Module, limits: &Limits) -> Arc<dyn Decide> {
    let module = load(loader, bytes(module)).await;
    let manifest = module.describe(&json!({}), &Limits::default()).await.unwrap();
    module.guest(&manifest, limits)
}

/// A number of this process in KiB, such as `VmRSS`.
fn kibibytes(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap().trim().trim_end_matches(" kB").trim().parse().unwrap()
}

/// How many files this process has open.
fn files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Asks, is answered, and decides.
async fn decide(guest: &dyn Decide) {
    let mut decision = guest.begin(b"uid-1").await.unwrap();
    let mut request = request("count");
    let Reply::Ask(queries) = decision.call(Entry::Reconcile, &request).await.unwrap() else {
        panic!("it asks first")
    };
    let friend =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "friend", "namespace": "team-a"}});
    let friends = vec![Object::from_value(friend).unwrap(); 50];
    request.answers = queries
        .into_iter()
        .map(|query| Answered {
            id: query.id,
            answer: Answer::Found(friends.clone()),
        })
        .collect();
    let Reply::Decided(_) = decision.call(Entry::Reconcile, &request).await.unwrap() else {
        panic!("then it decides")
    };
}

/// So many calls, in parallel.
async fn calls(guest: &Arc<dyn Decide>, count: usize) {
    let tasks = (0..GUESTS).map(|_| {
        let guest = Arc::clone(guest);
        tokio::spawn(async move {
            for _ in 0..count / 2 / GUESTS {
                decide(&*guest).await;
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

#[test]
fn e_08_twenty_thousand_parallel_calls_leave_nothing_behind() {
    alone("e_08_twenty_thousand_parallel_calls_leave_nothing_behind", async {
        for allocation in [Allocation::Pooling, Allocation::PoolingGivenBack] {
            let loader = loader(allocation);
            let guest = guest(&loader, Module::Rust, &Limits::default()).await;
            calls(&guest, EARLY).await;
            let (early, opened) = (kibibytes("VmRSS"), files());
            calls(&guest, LATE - EARLY).await;
            let late = kibibytes("VmRSS");
            println!("{allocation:?}: {early} KiB after {EARLY} calls, {late} KiB after {LATE}");
            assert!(
                late <= early * 11 / 10,
                "{allocation:?}: memory grows from {early} to {late} KiB"
            );
            assert_eq!(files(), opened, "{allocation:?}: files are left open");
            assert_eq!(loader.runtime().calls_in_flight(), 0, "{allocation:?}");
        }
    });
}

/// E-05: however much they want, eight at once take no more than eight times their limit, tables included.
#[test]
fn e_05_eight_guests_at_once_that_want_all_memory_get_their_limits_and_give_them_back() {
    alone(
        "e_05_eight_guests_at_once_that_want_all_memory_get_their_limits_and_give_them_back",
        async {
            for allocation in [Allocation::Pooling, Allocation::PoolingGivenBack, Allocation::OnDemand] {
                let loader = loader(allocation);
                let limits = Limits::default();
                let hogs = guest(&loader, Module::Rust, &limits).await;
                let tables = guest(&loader, Module::Handmade, &limits).await;
                let before = kibibytes("VmRSS");
                // The peak is counted from here on.
                std::fs::write("/proc/self/clear_refs", "5").unwrap();
                let at_once = (0..2 * GUESTS).map(|number| {
                    let (guest, behaviour) = if number % 2 == 0 {
                        (&hogs, "memory")
                    } else {
                        (&tables, "tables")
                    };
                    let guest = Arc::clone(guest);
                    tokio::spawn(async move { decide_once(&*guest, behaviour).await })
                });
                for decision in at_once.collect::<Vec<_>>() {
                    let fault = decision.await.unwrap().unwrap_err();
                    assert_eq!(fault.kind, FaultKind::GuestOutOfMemory, "{}", fault.message);
                }
                let (peak, after) = (kibibytes("VmHWM"), kibibytes("VmRSS"));
                println!("{allocation:?}: {before} KiB before, {peak} KiB at most, {after} KiB after");
                let most = GUESTS * (limits.memory >> 10) + MARGIN;
                assert!(
                    peak <= before + most,
                    "{allocation:?}: {peak} KiB are more than {before} + {most}"
                );
                assert!(
                    after <= before + MARGIN,
                    "{allocation:?}: {before} KiB, and {after} KiB afterwards"
                );
            }
        },
    );
}
