//! Compares what is there with the table, and says in words what is not yet as it must be.

use super::table::{GUESTS, Guest, REFUSED};
use serde_json::Value;
use std::collections::BTreeMap;

/// What is not yet as the table says of one guest's primaries and their children.
pub(super) fn primaries(guest: &Guest, primaries: &[Value], children: &[Value]) -> Vec<String> {
    let named = |objects: &[Value], name: &str| {
        objects
            .iter()
            .find(|object| object["metadata"]["name"] == name)
            .cloned()
    };
    let mut left = Vec::new();
    for (behaviour, reason, words) in guest.behaviours {
        let primary = named(primaries, behaviour).unwrap_or_default();
        let condition = condition(&primary, "Reconciled");
        let child = named(children, behaviour).unwrap_or_default();
        let text = if *reason == "Reconciled" {
            &child["data"]["text"]
        } else {
            &condition["message"]
        };
        let is_said = words.is_empty() || text.as_str().is_some_and(|text| text.contains(words));
        if condition["reason"] != *reason || !is_said {
            let name = guest.name;
            left.push(format!(
                "{name}/{behaviour} must be {reason} with {words:?}, but {condition}, and its child says {text}"
            ));
        }
    }
    left
}

/// Children of primaries of which nothing may be written.
pub(super) fn strays(guest: &Guest, children: &[Value]) -> Vec<String> {
    let ours = |child: &&Value| child["metadata"]["labels"]["windlass.dev/reconciler"] == guest.name;
    let is_wanted = |name: &str| {
        let mut reconciled = guest.behaviours.iter().filter(|(_, reason, _)| *reason == "Reconciled");
        reconciled.any(|(behaviour, ..)| *behaviour == name)
    };
    let names = children
        .iter()
        .filter(ours)
        .filter_map(|child| child["metadata"]["name"].as_str());
    names.filter(|name| !is_wanted(name)).map(ToOwned::to_owned).collect()
}

/// Which modules are not yet refused as the table says.
pub(super) fn refusals(reconcilers: &[Value]) -> Vec<String> {
    let mut left = Vec::new();
    for (name, _, _, reason, words) in REFUSED {
        let found = reconcilers
            .iter()
            .find(|reconciler| reconciler["metadata"]["name"] == name);
        let refused = found
            .map(|found| found["status"]["refused"].clone())
            .unwrap_or_default();
        let is_said = refused["message"].as_str().is_some_and(|text| text.contains(words));
        if refused["reason"] != reason || !is_said {
            left.push(format!(
                "{name} must be refused for {reason} with {words:?}, but {refused}"
            ));
        }
    }
    left
}

/// What the metrics do not count yet, though the table has it; and what they count, though it must never be.
pub(super) fn uncounted(metrics: &str) -> Vec<String> {
    let mut wanted = BTreeMap::new();
    for guest in &GUESTS {
        for (_, reason, _) in guest.behaviours {
            let result = if *reason == "Reconciled" { "Decided" } else { reason };
            let labels = format!("reconciler=\"windlass-system/{}\",result=\"{result}\"", guest.name);
            *wanted
                .entry(format!("windlass_decisions_total{{{labels}}}"))
                .or_insert(0) += 1;
        }
    }
    for (_, _, _, reason, _) in REFUSED {
        *wanted
            .entry(format!("windlass_modules_refused_total{{reason=\"{reason}\"}}"))
            .or_insert(0) += 1;
    }
    wanted.insert("windlass_requeues_clamped_total".into(), 2);
    wanted.insert("windlass_guest_memory_denied_total".into(), 6);
    let low = wanted.iter().filter_map(|(name, least)| {
        let found = value(metrics, name);
        (found < *least).then(|| format!("{name} is {found}, not at least {least}"))
    });
    let never = ["windlass_reconcile_panics_total"].into_iter().filter_map(|name| {
        let found = value(metrics, name);
        (found > 0).then(|| format!("{name} is {found}"))
    });
    low.chain(never).collect()
}

/// The value of a line of the metrics; 0 if it is not there.
pub(super) fn value(metrics: &str, name: &str) -> u64 {
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok()).unwrap_or(0)
}

fn condition(object: &Value, type_: &str) -> Value {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let found = conditions.into_iter().find(|condition| condition["type"] == type_);
    found.cloned().unwrap_or_default()
}
