//! Takes one key through the pipeline: the table of contents of the host.
//!
//! ```text
//! assemble -> decide (ask <-> answer) -> check -> plan, carry out -> report, tell
//! ```
//! All thinking is done before the first write; status is the last thing written, also after a failure.

mod assemble;
mod decide;
mod carry_out;
mod tell;
mod send;

use crate::host::Host;
use crate::queue::Ended;
use std::time::Instant;
use windlass_core::check::{OutcomeLimits, check, rejected};
use windlass_core::decision::Decided;
use windlass_core::key::Key;

/// Decides about one primary and carries that out.
pub async fn reconcile(host: &Host, key: &Key) -> Ended {
    let Some(activation) = host.running.active(&key.reconciler) else {
        return Ended::Done;
    };
    if activation.is_leaving() {
        return Ended::Done;
    }
    let assembled = match assemble::assemble(host, &activation, key).await {
        Ok(Some(assembled)) => assembled,
        Ok(None) => return Ended::Done,
        Err(refusal) => return tell::not_readable(host, &activation, key, &refusal),
    };
    let begun = Instant::now();
    let decided = decide::decide(host, &activation, &assembled).await;
    let findings = check(
        &activation.manifest,
        &assembled.primary,
        &decided,
        &OutcomeLimits::default(),
    );
    let decided = rejected(&findings).map_or(decided, Decided::Faulted);
    host.metrics
        .decided(&activation.manifest.name, &decided, begun.elapsed());
    let carried = carry_out::carry_out(host, &activation, &assembled, &decided).await;
    tell::tell(host, &activation, &assembled, &decided, &carried).await
}
