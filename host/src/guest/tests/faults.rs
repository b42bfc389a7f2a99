//! Whatever a guest does, it ends as a fault of that one decision (E-01 to E-12).

use super::{LOADER, decide, generous, guest, hostile, module, outcome, request};
use crate::guest::{Allocation, Capacity, Compiler, Interruption, Limits, Loader, Runtime, Step};
use futures::FutureExt;
use serde_json::json;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use windlass_core::decision::{Entry, FaultKind};

/// Short, so that tests are, and still enough for a decision on a busy machine.
fn short() -> Limits {
    Limits::default().with_time(Duration::from_millis(300))
}

#[tokio::test]
async fn e_07_after_every_fault_the_next_decision_is_as_good_as_ever() {
    let guest = guest("hostile", &short()).await;
    let cases = [
        ("trap", FaultKind::GuestTrapped, "traps on purpose"),
        ("spin", FaultKind::GuestTimedOut, "300 ms"),
        ("memory", FaultKind::GuestOutOfMemory, "64 MiB"),
        ("recurse", FaultKind::GuestTrapped, "stack"),
        ("big-output", FaultKind::GuestOutputRejected, "4096 KiB"),
    ];
    for (behaviour, kind, words) in cases {
        let mut decision = guest.begin(b"uid-1").await.expect("begins");
        let fault = decision
            .call(Entry::Reconcile, &hostile(behaviour))
            .await
            .expect_err(behaviour);
        assert_eq!(fault.kind, kind, "{behaviour}: {}", fault.message);
        assert!(fault.message.contains(words), "{behaviour}: {}", fault.message);
        assert!(fault.message.starts_with("Guest hostile 0.1.0 "), "{}", fault.message);
        let again = decision
            .call(Entry::Reconcile, &hostile("good"))
            .await
            .expect_err("the session is over");
        assert_eq!(
            again, fault,
            "what ended it is said again, and the instance not entered"
        );
        let good = decide(&*guest, &hostile("good"))
            .await
            .expect("the next decision is in a new instance");
        outcome(good);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn e_01_e_03_spinning_guests_leave_the_only_thread_to_others() {
    let slow = guest("hostile", &short()).await;
    let good = guest("hostile", &generous()).await;
    let spinning: Vec<_> = (0..4)
        .map(|_| {
            let slow = Arc::clone(&slow);
            tokio::spawn(async move { decide(&*slow, &hostile("spin")).await })
        })
        .collect();
    let (mut decided, mut longest, started) = (0, Duration::ZERO, Instant::now());
    while spinning.iter().any(|task| !task.is_finished()) {
        let began = Instant::now();
        outcome(
            decide(&*good, &hostile("good"))
                .await
                .expect("decides among spinning ones"),
        );
        longest = longest.max(began.elapsed());
        decided += 1;
    }
    let all = started.elapsed();
    for task in spinning {
        let fault = task.await.expect("no panic").expect_err("spins");
        assert_eq!(fault.kind, FaultKind::GuestTimedOut);
    }
    // In shares of the whole, since the machine may be busy with other tests.
    assert!(decided > 10, "only {decided} decisions in {all:?}");
    assert!(longest < all / 2, "one took {longest:?} of {all:?}");
}

#[tokio::test]
async fn e_07_a_call_given_up_half_way_leaves_nothing_behind() {
    let runtime = Runtime::new(Capacity {
        decisions: 1,
        ..Capacity::default()
    })
    .expect("fits");
    let module = Loader::new(runtime.clone(), Compiler::InProcess)
        .load(super::bytes_of("hostile"))
        .await
        .expect("loads");
    let manifest = module.describe(&json!({}), &generous()).await.expect("describes");
    let guest = module.guest(&manifest, &generous());
    let mut decision = guest.begin(b"uid-1").await.expect("begins");
    let spin = hostile("spin");
    let call = decision.call(Entry::Reconcile, &spin);
    assert!(
        tokio::time::timeout(Duration::from_millis(50), call).await.is_err(),
        "it spins"
    );
    assert_eq!(runtime.free_decisions(), 1, "the instance is gone already");
    let fault = decision
        .call(Entry::Reconcile, &hostile("good"))
        .await
        .expect_err("over");
    assert!(fault.message.contains("given up"), "{}", fault.message);
    outcome(
        decide(&*guest, &hostile("good"))
            .await
            .expect("the only slot is free again"),
    );
}

#[tokio::test]
async fn engines_that_are_only_measured_hold_guests_too() {
    let runtime = Runtime::new(Capacity {
        allocation: Allocation::OnDemand,
        interruption: Interruption::Fuel,
        ..Capacity::default()
    });
    let loader = Loader::new(runtime.expect("fits"), Compiler::InProcess);
    let module = loader.load(super::bytes_of("hostile")).await.expect("loads");
    let manifest = module.describe(&json!({}), &generous()).await.expect("describes");
    let guest = module.guest(&manifest, &short());
    let fault = decide(&*guest, &hostile("spin")).await.expect_err("it never returns");
    assert_eq!(fault.kind, FaultKind::GuestTimedOut, "{}", fault.message);
    outcome(decide(&*guest, &hostile("good")).await.expect("decides"));
}

#[tokio::test]
async fn e_11_more_decisions_than_slots_wait_for_their_turn() {
    let guest = guest("hostile", &generous()).await;
    let decisions = (0..200).map(|_| {
        let guest = Arc::clone(&guest);
        tokio::spawn(async move { decide(&*guest, &hostile("good")).await })
    });
    for decision in decisions.collect::<Vec<_>>() {
        outcome(decision.await.expect("no panic").expect("no error of the pool is seen"));
    }
}

#[tokio::test]
async fn e_05_the_memory_limit_is_that_of_the_guest_in_question() {
    let small = guest(
        "hostile",
        &Limits {
            memory: 4 << 20,
            ..short()
        },
    )
    .await;
    let fault = decide(&*small, &hostile("memory")).await.expect_err("wants more");
    assert_eq!(fault.kind, FaultKind::GuestOutOfMemory);
    assert!(fault.message.contains("4 MiB"), "{}", fault.message);
    let none = guest(
        "hostile",
        &Limits {
            table_entries: 1,
            ..generous()
        },
    )
    .await;
    let fault = decide(&*none, &hostile("good"))
        .await
        .expect_err("its table has more than one entry");
    assert_eq!(fault.kind, FaultKind::GuestOutOfMemory);
}

#[tokio::test]
async fn e_06_refused_memory_is_counted_whatever_the_guest_makes_of_it() {
    let module = module("hostile").await;
    let manifest = module.describe(&json!({}), &generous()).await.expect("describes");
    let guest = module.guest(&manifest, &short());
    let denied = &LOADER.runtime().metrics().memory_denied;
    let before = denied.get();
    let _ = decide(&*guest, &hostile("memory")).await.expect_err("wants more");
    assert!(denied.get() > before);
}

/// Nobody takes a slot without a turn; if it happens all the same, a decision gets its slot as soon as there is one.
#[tokio::test]
async fn e_11_a_pool_without_a_free_slot_is_tried_again_and_seen_by_nobody() {
    let runtime = Runtime::new(Capacity {
        decisions: 1,
        ..Capacity::default()
    });
    let loader = Loader::new(runtime.expect("fits"), Compiler::InProcess);
    let module = loader.load(super::bytes_of("hostile")).await.expect("loads");
    let manifest = module.describe(&json!({}), &generous()).await.expect("describes");
    let guest = module.guest(&manifest, &generous());
    let mut taken = guest.begin(b"uid-1").await.expect("begins");
    outcome(taken.call(Entry::Reconcile, &hostile("good")).await.expect("decides"));
    // A second turn for the one slot, which its decision still holds.
    loader.runtime().decisions().add_permits(1);
    let other = tokio::spawn(async move { decide(&*guest, &hostile("good")).await });
    let retries = &loader.runtime().metrics().slot_retries;
    while retries.get() < 3 {
        assert!(!other.is_finished(), "it found a slot, or gave up");
        tokio::task::yield_now().await;
    }
    drop(taken);
    outcome(other.await.expect("no panic").expect("the slot is free again"));
}

#[tokio::test]
async fn e_05_all_guests_together_have_a_limit_and_wait_for_their_turn() {
    let runtime = Runtime::new(Capacity {
        memory_of_all: 128 << 20,
        ..Capacity::default()
    });
    let loader = Loader::new(runtime.expect("fits"), Compiler::InProcess);
    let module = loader.load(super::bytes_of("hostile")).await.expect("loads");
    let manifest = module.describe(&json!({}), &generous()).await.expect("describes");
    let of = |mebibytes: usize| {
        module.guest(
            &manifest,
            &Limits {
                memory: mebibytes << 20,
                ..generous()
            },
        )
    };
    let (half, more_than_all) = (of(64), of(256));
    let one = half.begin(b"uid-1").await.expect("begins");
    let other = half.begin(b"uid-2").await.expect("begins");
    assert!(half.begin(b"uid-3").now_or_never().is_none(), "it waits");
    drop(one);
    assert!(
        more_than_all.begin(b"uid-3").now_or_never().is_none(),
        "it waits for all"
    );
    let third = half.begin(b"uid-3").await.expect("half of it is free");
    drop((other, third));
    let all = more_than_all.begin(b"uid-4").await.expect("begins");
    assert!(half.begin(b"uid-5").now_or_never().is_none(), "nothing is left");
    drop(all);
    let mut last = half.begin(b"uid-5").await.expect("begins");
    outcome(last.call(Entry::Reconcile, &hostile("good")).await.expect("decides"));
}

#[tokio::test]
async fn faults_in_finalize_are_told_apart_too() {
    let guest = guest("hostile", &short()).await;
    for (finalize, kind) in [("trap", FaultKind::GuestTrapped), ("spin", FaultKind::GuestTimedOut)] {
        let request = request(hostile("good").primary.into_value(), json!({"finalize": finalize}));
        let mut decision = guest.begin(b"uid-1").await.expect("begins");
        assert_eq!(
            decision.call(Entry::Finalize, &request).await.expect_err(finalize).kind,
            kind
        );
    }
}

#[tokio::test]
async fn f_02_a_guest_that_cannot_describe_itself_is_refused() {
    let module = module("hostile").await;
    let cases = [
        ("trap", "Trapped", "traps on purpose"),
        ("spin", "StartBudgetExceeded", "running time"),
        ("memory", "OutOfMemory", "64 MiB"),
        ("error", "SettingsRefused", "these settings are refused on purpose"),
    ];
    for (describe, cause, words) in cases {
        let refusal = module
            .describe(&json!({"describe": describe}), &short())
            .await
            .expect_err(describe);
        assert_eq!((refusal.step, refusal.cause), (Step::Describe, cause), "{refusal}");
        assert!(refusal.message.contains(words), "{refusal}");
    }
    let manifest = module
        .describe(&json!({}), &generous())
        .await
        .expect("it can when it wants to");
    assert_eq!((&*manifest.name, manifest.needs_clock), ("hostile", true));
}

/// Takes what is logged.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_flood_of_log_lines_is_cut_short() {
    let guest = guest("hostile", &generous()).await;
    let written = Written::default();
    let writer = written.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .finish();
    let logging = tracing::subscriber::set_default(subscriber);
    outcome(
        decide(&*guest, &hostile("log-flood"))
            .await
            .expect("a flood is no fault"),
    );
    drop(logging);
    let text = String::from_utf8(written.0.lock().expect("no panic").clone()).expect("text");
    let lines: Vec<_> = text.lines().filter(|line| line.contains("windlass::guest")).collect();
    assert_eq!(lines.len(), 33);
    assert!(
        lines
            .iter()
            .all(|line| line.len() < 1400 && line.contains("hostile 0.1.0")),
        "{:?}",
        lines.first()
    );
    assert!(
        lines.last().is_some_and(|line| line.contains("left out")),
        "{:?}",
        lines.last()
    );
    assert_eq!(LOADER.runtime().capacity().decisions, 16);
}
