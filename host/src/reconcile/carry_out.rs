//! Carries out plans write by write, and plans again where the cluster was not as the store had it.

use super::assemble::{self, Assembled};
use super::contests;
use super::ending;
use super::predecessors;
use super::prune;
use super::send::send;
use crate::host::Host;
use crate::router::route;
use crate::running::Activation;
use windlass_core::change::primary_uid_of;
use windlass_core::decision::{ChildrenPlan, Decided, DesiredChild, WriteMode};
use windlass_core::key::PrimaryName;
use windlass_core::kind::ObjectRef;
use windlass_core::object::Object;
use windlass_core::plan::{Adoption, Blocked, Plan, Situation, plan};
use windlass_core::write::{Applied, Request, Target, Write, WriteError};

/// How often a plan is made again within one run, before the key's delay takes over.
const MAX_PLANS: usize = 3;

/// What became of a decision.
#[derive(Default)]
pub(super) struct Carried {
    /// The primary as it is now, as long as that is the generation which was decided about (I-01).
    pub(super) primary: Object,
    pub(super) blocked: Vec<Blocked>,
    pub(super) applied: Vec<Applied>,
}

/// What was learnt by writing, and makes another plan necessary.
#[derive(Default)]
struct Learnt {
    in_the_way: Vec<Object>,
    immutable: Vec<ObjectRef>,
    refreshed: bool,
}

/// Plans and writes until nothing is left to write, or nothing more can be done now.
pub(super) async fn carry_out(
    host: &Host,
    activation: &Activation,
    assembled: &Assembled,
    decided: &Decided,
) -> Carried {
    let mut primary = assembled.primary.clone();
    let mut decided_about = primary.clone();
    let mut children = assembled.children.clone();
    let mut learnt = Learnt::default();
    let mut applied = Vec::new();
    for round in 1.. {
        let predecessors = predecessors::of(host, activation, &primary, &learnt.in_the_way);
        let contested = activation.contests().contested(host.started.elapsed());
        let situation = Situation {
            actor: &activation.actor,
            manifest: &activation.manifest,
            primary: &primary,
            children: &children,
            in_the_way: &learnt.in_the_way,
            immutable: &learnt.immutable,
            contested: &contested,
            adoption: Adoption {
                from_field_managers: &activation.policy.adopts_from,
                predecessors: &predecessors,
            },
            intent_key: &activation.intent_key,
        };
        let plan = prune::guarded(host, activation, &primary, plan(&situation, decided));
        learnt.refreshed = false;
        let last = round == MAX_PLANS;
        let mut run = Run {
            host,
            activation,
            primary: &primary,
            decided,
            last,
            applied: Vec::new(),
            learnt: &mut learnt,
        };
        run.plan(&plan).await;
        let again = run.learnt.refreshed;
        applied.extend(run.applied);
        primary = stored_primary(host, activation, &primary);
        if primary.generation() == decided_about.generation() {
            decided_about = primary.clone();
        }
        if !again {
            return Carried {
                primary: decided_about,
                blocked: plan.blocked,
                applied,
            };
        }
        applied.retain(|applied: &Applied| applied.error.is_none());
        children = assemble::children(host, activation, primary.uid());
    }
    Carried::default()
}

/// The primary as it is after our own writes.
fn stored_primary(host: &Host, activation: &Activation, primary: &Object) -> Object {
    let watch = activation.watched.primary(primary.namespace());
    watch
        .and_then(|watch| host.store.by_uid(watch, primary.uid()))
        .unwrap_or_else(|| primary.clone())
}

/// One pass over one plan.
struct Run<'a> {
    host: &'a Host,
    activation: &'a Activation,
    primary: &'a Object,
    decided: &'a Decided,
    /// What fails now is final for this run.
    last: bool,
    applied: Vec<Applied>,
    learnt: &'a mut Learnt,
}

impl Run<'_> {
    async fn plan(&mut self, plan: &Plan) {
        if plan.confirm_primary && !self.confirm().await {
            return;
        }
        if let Some(finalizer) = &plan.finalizer {
            // Stored before the first child exists; the other writes were planned without it and are planned again.
            if self.write(finalizer).await {
                self.learnt.refreshed = true;
            }
            return;
        }
        let mut failed: Vec<&Target> = Vec::new();
        for child in &plan.children {
            // One that fails does not stop the others (G-06); what follows for the same child was planned from its success.
            if failed.contains(&&child.target) {
                continue;
            }
            if plan.corrected.contains(&child.target) {
                contests::correct(self.host, self.activation, child).await;
            }
            if !self.write(child).await {
                failed.push(&child.target);
            }
        }
        let mut whole = failed.is_empty();
        if whole {
            for delete in &plan.prune {
                whole &= self.write(delete).await;
            }
        }
        if let Some(primary) = plan.primary.as_ref()
            && whole
        {
            whole &= self.write(primary).await;
        }
        if let Some(release) = plan.release.as_ref()
            && whole
            && plan.blocked.is_empty()
        {
            self.write(release).await;
        }
    }

    /// Whether the live primary is the one that was planned for and not being deleted. If it is not, the watch will say
    /// so and wake it again; nothing of the plan is carried out.
    async fn confirm(&self) -> bool {
        let target = Target::of(&self.activation.manifest.primary.kind, self.primary);
        match self.host.cluster.get(&target).await {
            Ok(Some(live)) => live.uid() == self.primary.uid() && !live.is_being_deleted(),
            Ok(None) | Err(_) => false,
        }
    }

    /// Sends one write; true if it was done, or is no longer needed.
    async fn write(&mut self, write: &Write) -> bool {
        let sent = match ending::refusal(self.host, self.activation, write) {
            Some(refusal) => Err(refusal),
            None => send(self.host, self.activation, &PrimaryName::of(self.primary), write).await,
        };
        if let Err(error) = &sent {
            ending::note(self.host, self.activation, write, error);
        }
        let error = match sent {
            Ok(Some(returned)) if contests::is_dropped(self.host, self.activation, write, &returned) && !self.last => {
                self.learnt.refreshed = true;
                return false;
            }
            Ok(_) => None,
            Err(WriteError::NotFound(_)) if matches!(write.request, Request::Delete { .. }) => None,
            Err(error) if self.learn(write, &error).await => return false,
            Err(error) => Some(error),
        };
        let done = error.is_none();
        self.applied.push(Applied {
            target: write.target.clone(),
            error,
        });
        done
    }

    /// Whether another plan may do better, now that the live object is known.
    async fn learn(&mut self, write: &Write, error: &WriteError) -> bool {
        let is_primary = write.target.reference() == self.primary.reference();
        // What another owns of the primary is never taken, whatever it looks like now.
        if self.last || is_primary && matches!(error, WriteError::Conflict(_)) {
            return false;
        }
        let stale = match (&write.request, error) {
            (_, WriteError::AlreadyExists | WriteError::Conflict(_)) => true,
            (Request::JsonPatch(_), WriteError::Invalid(_) | WriteError::Refused(_)) => true,
            (Request::Apply { .. }, WriteError::Invalid(_)) => {
                let target = write.target.reference();
                if may_recreate(self.decided, &target) && !self.learnt.immutable.contains(&target) {
                    self.learnt.immutable.push(target);
                    self.learnt.refreshed = true;
                    return true;
                }
                false
            }
            _ => false,
        };
        if !stale {
            return false;
        }
        let Ok(Some(live)) = self.host.cluster.get(&write.target).await else {
            return false;
        };
        let in_the_way = &mut self.learnt.in_the_way;
        in_the_way.retain(|object| object.reference() != live.reference());
        let watch = self.activation.watch_of(&write.target);
        let watch = watch.filter(|watch| self.host.store.by_uid(watch, live.uid()).is_some());
        if watch.is_none() || primary_uid_of(&live) != Some(self.primary.uid()) {
            in_the_way.push(live.clone());
        }
        if let Some(watch) = watch {
            let changes = self.host.store.overlay(watch, live);
            route(self.host, watch, &changes, None);
        }
        self.learnt.refreshed = true;
        true
    }
}

/// Whether the guest lets this child be deleted and made again where it cannot be changed.
fn may_recreate(decided: &Decided, target: &ObjectRef) -> bool {
    let (Decided::Outcome(outcome) | Decided::Proceed(outcome)) = decided else {
        return false;
    };
    let ChildrenPlan::Exactly(children) = &outcome.children else {
        return false;
    };
    children.iter().any(|child| match child {
        DesiredChild::Want(wanted) => {
            wanted.mode == WriteMode::ApplyOrRecreate
                && wanted.object.name() == target.name
                && wanted.object.kind().same_group_kind(&target.of)
        }
        DesiredChild::Hold(_) => false,
    })
}
