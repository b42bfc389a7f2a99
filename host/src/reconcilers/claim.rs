//! Lets one Reconciler alone write the status of a primary and finalize it: the oldest.

use super::halt::{Gate, Halt};
use super::settle;
use super::status;
use crate::api::{Claim, PrimaryKind};
use crate::control;
use crate::host::Host;
use std::time::Duration;
use windlass_core::key::ReconcilerId;
use windlass_core::kind::KindInfo;
use windlass_core::manifest::Manifest;
use windlass_core::object::Object;
use windlass_core::reason::Reason;

/// How soon it is looked again whether the last decisions of a later Reconciler have ended.
const AGAIN: Duration = Duration::from_millis(50);
/// Stands for all namespaces.
const EVERYWHERE: &str = "*";

impl Claim {
    /// What a module claims in these namespaces (none: all of them).
    pub(super) fn of(manifest: &Manifest, namespaces: &[Option<String>]) -> Self {
        let kind = &manifest.primary.kind;
        Self {
            primary: PrimaryKind {
                group: kind.of.group.clone(),
                version: kind.of.version.clone(),
                kind: kind.of.kind.clone(),
                plural: kind.plural.clone(),
                namespaced: kind.namespaced,
            },
            namespaces: namespaces
                .iter()
                .map(|namespace| namespace.clone().unwrap_or_else(|| EVERYWHERE.into()))
                .collect(),
            exclusive: manifest.writes_status || manifest.finalizes,
        }
    }

    /// The kind of the primaries.
    pub(crate) fn kind(&self) -> KindInfo {
        let PrimaryKind {
            group, version, kind, ..
        } = &self.primary;
        if self.primary.namespaced {
            KindInfo::namespaced(group, version, kind, &self.primary.plural)
        } else {
            KindInfo::cluster_scoped(group, version, kind, &self.primary.plural)
        }
    }

    /// Its namespaces; one none for all of them.
    pub(crate) fn scopes(&self) -> Vec<Option<String>> {
        self.namespaces
            .iter()
            .map(|namespace| (namespace != EVERYWHERE).then(|| namespace.clone()))
            .collect()
    }

    /// Whether a primary of this namespace is claimed.
    pub(crate) fn covers(&self, namespace: Option<&str>) -> bool {
        self.namespaces
            .iter()
            .any(|claimed| claimed == EVERYWHERE || Some(claimed.as_str()) == namespace)
    }

    /// Whether both are about the same kind, whatever its version.
    pub(super) fn is_of_same_kind(&self, other: &Self) -> bool {
        (&self.primary.group, &self.primary.kind) == (&other.primary.group, &other.primary.kind)
    }

    /// Whether some primary is in both.
    fn overlaps(&self, other: &Self) -> bool {
        let shared = |namespace: &String| namespace == EVERYWHERE || other.covers(Some(namespace));
        self.is_of_same_kind(other) && (other.covers_everything() || self.namespaces.iter().any(shared))
    }

    fn covers_everything(&self) -> bool {
        self.namespaces.iter().any(|namespace| namespace == EVERYWHERE)
    }
}

/// Takes a claim, if no older Reconciler has an overlapping one. A later one that runs is stopped, and what it has begun is
/// waited for.
pub(super) fn take(host: &Host, id: &ReconcilerId, reconciler: &Object, claim: &Claim) -> Result<(), Halt> {
    let others = host.running.claim(id, claim.clone());
    if !claim.exclusive {
        return Ok(());
    }
    let mut stopping = false;
    for other in host.store.all(&control::reconcilers()) {
        let other_id = ReconcilerId::new(other.namespace().unwrap_or_default(), other.name());
        if other_id == *id {
            continue;
        }
        let running = others.get(&other_id).cloned();
        let theirs = running.or_else(|| {
            // One that this host has not looked at yet, and that ran under the one before.
            let status = status::of(&other);
            status
                .claim
                .filter(|_| status.active.is_some() && !host.slots.is_settled(&other_id))
        });
        if !theirs.is_some_and(|theirs| theirs.exclusive && theirs.overlaps(claim)) {
            continue;
        }
        if age(&other) < age(reconciler) {
            host.running.unclaim(id);
            settle::stop_deciding(host, id);
            let message = format!(
                "{} are taken care of by Reconciler {other_id}, which is older; only one may write their status or \
                 finalize them: give one of both other namespaces, or delete it",
                claim.kind().plural
            );
            return Err(Halt::watched(Gate::Permitted, Reason::PrimaryClaimed, message));
        }
        settle::stop_deciding(host, &other_id);
        host.settling.add(other_id.clone());
        stopping |= host.decisions.is_running(&other_id);
    }
    if stopping {
        host.settling.add_after(id.clone(), AGAIN);
        return Err(Halt::NotYet);
    }
    Ok(())
}

/// Has every Reconciler looked at again that waits for another one's claim.
pub(super) fn freed(host: &Host) {
    for reconciler in host.store.all(&control::reconcilers()) {
        let claimed = Reason::PrimaryClaimed.to_string();
        let waits = status::of(&reconciler)
            .conditions
            .iter()
            .any(|condition| condition.reason == claimed);
        if waits {
            let namespace = reconciler.namespace().unwrap_or_default();
            host.settling.add(ReconcilerId::new(namespace, reconciler.name()));
        }
    }
}

/// Orders Reconcilers by age: RFC 3339 in UTC, then the uid, which never changes.
fn age(reconciler: &Object) -> (String, String) {
    let created = reconciler.text_at(&["metadata", "creationTimestamp"]);
    (created.unwrap_or_default().into(), reconciler.uid().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(kind: &str, version: &str, namespaces: &[&str]) -> Claim {
        Claim {
            primary: PrimaryKind {
                group: "example.com".into(),
                version: version.into(),
                kind: kind.into(),
                plural: "things".into(),
                namespaced: true,
            },
            namespaces: namespaces.iter().map(|name| (*name).into()).collect(),
            exclusive: true,
        }
    }

    #[test]
    fn claims_overlap_where_a_primary_can_be_in_both() {
        let here = claim("Thing", "v1", &["a", "b"]);
        for (other, overlaps) in [
            (claim("Thing", "v1", &["b", "c"]), true),
            (claim("Thing", "v2", &["b"]), true),
            (claim("Thing", "v1", &["*"]), true),
            (claim("Thing", "v1", &["c"]), false),
            (claim("Other", "v1", &["a"]), false),
        ] {
            assert_eq!(here.overlaps(&other), overlaps, "{other:?}");
            assert_eq!(other.overlaps(&here), overlaps, "{other:?} the other way");
        }
    }
}
