//! Takes one decision and plans it, without carrying anything out: the pipeline for whoever only wants to know.

use super::assemble::{self, Assembled, Unreadable};
use super::{decide, predecessors};
use crate::host::Host;
use crate::running::Activation;
use std::collections::BTreeMap;
use windlass_core::check::{check, rejected};
use windlass_core::decision::{Answer, Decided, Query};
use windlass_core::key::Key;
use windlass_core::object::Object;
use windlass_core::plan::{Adoption, Plan, Situation, plan};
use windlass_core::report::{self, Report};
use windlass_core::write::Request;

/// What a decision comes to before anything of it is written.
pub(crate) struct Preview {
    /// Namespace of the primary.
    pub(crate) namespace: Option<String>,
    /// The children that there are, as stored.
    pub(crate) children: Vec<Object>,
    /// What was asked, and what was answered as far as it came to that.
    pub(crate) asked: Vec<(Query, Option<Answer>)>,
    /// What was decided.
    pub(crate) decided: Decided,
    /// What would be written.
    pub(crate) plan: Plan,
    /// What would be said once that is written.
    pub(crate) report: Report,
}

/// Decides about one primary from what is in the store; none if there is nothing to decide about.
///
/// # Errors
/// A sentence, if something that it needs cannot be read.
pub(crate) async fn preview(host: &Host, activation: &Activation, key: &Key) -> Result<Option<Preview>, String> {
    let words = |why: Unreadable| why.to_string();
    let Some(assembled) = assemble::assemble(host, activation, key).await.map_err(words)? else {
        return Ok(None);
    };
    let (decided, asked) = match &assembled.call {
        Some(call) => decide::decide_and_show(host, activation, &assembled, call)
            .await
            .map_err(words)?,
        None => (Decided::Leaving, Vec::new()),
    };
    let (manifest, primary) = (&activation.manifest, &assembled.primary);
    let findings = check(manifest, primary, &decided, &activation.outcome_limits);
    let decided = rejected(&findings).map_or(decided, Decided::Faulted);
    let plan = planned(host, activation, &assembled, &decided).await?;
    let report = report::report(&report::Ended {
        actor: &activation.actor,
        manifest,
        policy: &activation.policy,
        served: &activation.served,
        primary,
        decided: &decided,
        blocked: &plan.blocked,
        applied: &[],
        now: &format!("{:.0}", host.now()),
    });
    Ok(Some(Preview {
        namespace: assembled.name.namespace,
        children: assembled.children,
        asked,
        decided,
        plan,
        report,
    }))
}

/// The plan once everything that would be created was looked for: what is there would be in the way.
async fn planned(
    host: &Host,
    activation: &Activation,
    assembled: &Assembled,
    decided: &Decided,
) -> Result<Plan, String> {
    let with = |in_the_way: &[Object]| {
        let predecessors = predecessors::of(host, activation, &assembled.primary, in_the_way);
        let situation = Situation {
            actor: &activation.actor,
            manifest: &activation.manifest,
            primary: &assembled.primary,
            children: &assembled.children,
            in_the_way,
            immutable: &[],
            // Whoever fights over a child is known to the host alone, and named in the status.
            contested: &BTreeMap::new(),
            adoption: Adoption {
                from_field_managers: &activation.policy.adopts_from,
                predecessors: &predecessors,
            },
            intent_key: &activation.intent_key,
        };
        plan(&situation, decided)
    };
    let first = with(&[]);
    let mut in_the_way = Vec::new();
    for write in &first.children {
        if matches!(write.request, Request::Create(_)) {
            let there = host.cluster.get(&write.target).await;
            in_the_way.extend(there.map_err(|error| format!("{}: {error}", write.target.reference()))?);
        }
    }
    Ok(if in_the_way.is_empty() {
        first
    } else {
        with(&in_the_way)
    })
}
