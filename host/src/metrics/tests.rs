//! Shows which labels there are, and that they go.

use super::{Metrics, RESULTS, result};
use crate::guest::{Allocation, Capacity, Compiler, Loader, Runtime};
use std::time::Duration;
use windlass_core::decision::{ChildrenPlan, Decided, Failure, FailureKind, Fault, FaultKind, Outcome};
use windlass_core::key::ReconcilerId;

fn metrics() -> Metrics {
    let capacity = Capacity {
        allocation: Allocation::OnDemand,
        ..Capacity::default()
    };
    let runtime = Runtime::new(capacity).expect("nothing is reserved");
    Metrics::new(&Loader::new(runtime, Compiler::InProcess))
}

fn all() -> Vec<Decided> {
    let kinds = [
        FaultKind::GuestTrapped,
        FaultKind::GuestTimedOut,
        FaultKind::GuestOutOfMemory,
        FaultKind::GuestOutputRejected,
        FaultKind::InternalError,
    ];
    let failed = |kind| {
        Decided::Failed(Failure {
            kind,
            message: String::new(),
            status: None,
            conditions: Vec::new(),
        })
    };
    let mut all: Vec<_> = kinds
        .into_iter()
        .map(|kind| {
            Decided::Faulted(Fault {
                kind,
                message: String::new(),
            })
        })
        .collect();
    all.extend([FailureKind::Waiting, FailureKind::Invalid].map(failed));
    all.extend([Decided::Done, Decided::Skipped(String::new())]);
    all
}

#[test]
fn a_reconciler_that_is_gone_leaves_no_counters_behind() {
    let metrics = metrics();
    let [stays, goes] = ["stays", "goes"].map(|name| ReconcilerId::new("windlass-system", name));
    for decided in all() {
        assert!(RESULTS.contains(&result(&decided)), "{decided:?}");
        for reconciler in [&stays, &goes] {
            metrics.decided(reconciler, &decided, Duration::ZERO);
        }
    }
    let count = |name: &str| metrics.text(&Default::default()).matches(name).count();
    let (before, of) = (count("windlass-system/goes"), "reconciler=\"windlass-system/stays\"");
    metrics.forget(&goes);
    assert_eq!((before, count("windlass-system/goes"), count(of)), (9, 0, 9));
}

#[test]
fn wishes_that_are_not_granted_are_counted() {
    let metrics = metrics();
    let reconciler = ReconcilerId::new("windlass-system", "one");
    for seconds in [0, 1, 60, 86_400, 86_401, u64::MAX] {
        let outcome = Outcome {
            children: ChildrenPlan::NoneWanted,
            primary: None,
            status: None,
            conditions: Vec::new(),
            events: Vec::new(),
            requeue_after: Some(Duration::from_secs(seconds)),
        };
        metrics.decided(&reconciler, &Decided::Outcome(Box::new(outcome)), Duration::ZERO);
    }
    let text = metrics.text(&Default::default());
    assert!(text.contains("windlass_requeues_clamped_total 3"), "{text}");
}

#[test]
fn the_way_of_allocating_is_told() {
    let text = metrics().text(&Default::default());
    assert!(text.contains("windlass_pool_mode{mode=\"on-demand\"} 1"), "{text}");
    assert!(text.contains("windlass_guest_calls_in_flight 0"), "{text}");
}
