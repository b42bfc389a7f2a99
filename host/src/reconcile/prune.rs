//! Asks the guard of a Reconciler before children of a living primary are deleted.

use crate::host::Host;
use crate::running::Activation;
use windlass_core::guard::{Asked, approval, hold, names};
use windlass_core::key::PrimaryName;
use windlass_core::names::ANNOTATION_APPROVE_PRUNE;
use windlass_core::object::Object;
use windlass_core::plan::Plan;

/// The plan as it may be carried out: without its deletions where those are held.
pub(super) fn guarded(host: &Host, activation: &Activation, primary: &Object, plan: Plan) -> Plan {
    let name = PrimaryName::of(primary);
    let forget = || host.running.tally(&activation.id, |tally| tally.prunes.forget(&name));
    if primary.is_being_deleted() || plan.prune.is_empty() {
        forget();
        return plan;
    }
    let hash = approval(primary, &plan.prune);
    let guard = &activation.policy.prune_guard;
    let asked = Asked {
        primary: &name,
        hash: &hash,
        children: plan.prune.len(),
        names: &names(&plan.prune),
        owned: activation
            .watched
            .children
            .iter()
            .map(|watch| host.store.len(watch))
            .sum(),
        approved: primary.annotation(ANNOTATION_APPROVE_PRUNE) == Some(hash.as_str()),
    };
    let now = host.started.elapsed();
    let may = host
        .running
        .tally(&activation.id, |tally| tally.prunes.may(&asked, guard, now));
    if may {
        plan
    } else {
        hold(plan, &activation.actor, &hash, guard)
    }
}
