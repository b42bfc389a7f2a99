//! Takes one key through the pipeline: the table of contents of the host.
//!
//! ```text
//! look -> assemble -> decide (ask <-> answer) -> check -> plan, guard (prune), carry out -> report, tell
//! ```
//! All thinking is done before the first write; status is the last thing written, also after a failure.

mod look;
mod assemble;
mod secret_values;
mod decide;
mod carry_out;
mod contests;
mod ending;
mod prune;
mod predecessors;
mod faults;
mod tell;
mod send;
pub(crate) mod preview;

use crate::host::Host;
use crate::queue::Ended;
use crate::running::Activation;
use assemble::{Assembled, Call, Unreadable};
use std::time::Instant;
use windlass_core::check::{check, rejected};
use windlass_core::decision::{Decided, Entry, Fault, FaultKind};
use windlass_core::key::Key;

/// Decides about one primary and carries that out.
pub async fn reconcile(host: &Host, key: &Key) -> Ended {
    let Some(activation) = host.running.active(&key.reconciler) else {
        return Ended::Done;
    };
    if activation.is_leaving() {
        return Ended::Done;
    }
    if let Err(error) = look::look(host, &activation, key).await {
        tracing::warn!(%key, "what became of a write cannot be looked at: {error}");
        return Ended::Failed;
    }
    let assembled = match assemble::assemble(host, &activation, key).await {
        Ok(Some(assembled)) => assembled,
        Ok(None) => return Ended::Done,
        Err(refusal) => return tell::not_readable(host, &activation, key, &refusal),
    };
    let Some(call) = &assembled.call else {
        return carried_out(host, &activation, &assembled, &Decided::Leaving).await;
    };
    let begun = Instant::now();
    let decided = match call.entry {
        Entry::Reconcile => checked(host, &activation, &assembled, call).await,
        Entry::Finalize => finalized(host, &activation, &assembled, call).await,
    };
    let decided = match decided {
        Ok(decided) => decided,
        Err(refusal) => return tell::not_readable(host, &activation, key, &refusal),
    };
    host.metrics.decided(&activation.id, &decided, begun.elapsed());
    faults::account(host, &activation, &assembled.name, &decided, begun);
    carried_out(host, &activation, &assembled, &decided).await
}

async fn carried_out(host: &Host, activation: &Activation, assembled: &Assembled, decided: &Decided) -> Ended {
    let carried = carry_out::carry_out(host, activation, assembled, decided).await;
    tell::tell(host, activation, assembled, decided, &carried).await
}

/// Tells of a primary whose decision ended in a panic, which stops at this one (G-07).
pub async fn panicked(host: &Host, key: &Key) -> Ended {
    let Some(activation) = host.running.active(&key.reconciler) else {
        return Ended::Done;
    };
    if let Ok(Some(assembled)) = assemble::assemble(host, &activation, key).await {
        let decided = Decided::Faulted(Fault {
            kind: FaultKind::InternalError,
            message:
                "A fault of the host's own ended this decision; it is tried again with a growing delay. Please report \
                      it with the host's log."
                    .into(),
        });
        let carried = carry_out::Carried {
            primary: assembled.primary.clone(),
            ..carry_out::Carried::default()
        };
        tell::tell(host, &activation, &assembled, &decided, &carried).await;
    }
    Ended::Failed
}

/// What the guest decided, checked whole.
async fn checked(
    host: &Host,
    activation: &Activation,
    assembled: &Assembled,
    call: &Call,
) -> Result<Decided, Unreadable> {
    let decided = decide::decide(host, activation, assembled, call).await?;
    let findings = check(
        &activation.manifest,
        &assembled.primary,
        &decided,
        &activation.outcome_limits,
    );
    Ok(rejected(&findings).map_or(decided, Decided::Faulted))
}

/// The same for a primary that is being deleted; the host's own decision once the guest has failed too often (D-06).
async fn finalized(
    host: &Host,
    activation: &Activation,
    assembled: &Assembled,
    call: &Call,
) -> Result<Decided, Unreadable> {
    let (name, uid) = (&assembled.name, assembled.primary.uid());
    let failures = activation.finalize_failures(name, uid);
    let decided = match failures.skipped(&activation.policy) {
        Some(skipped) => skipped,
        None => checked(host, activation, assembled, call).await?,
    };
    activation.note_finalize_failures(name, uid, failures.after(&decided));
    Ok(decided)
}
