//! Derives from a manifest, and from nothing else, the rights that a guest's ServiceAccount needs.

use crate::kind::KindInfo;
use crate::manifest::{Manifest, ReadKind};
use crate::secrets::{is_secret, shows_values};
use crate::write::{Actor, Identity};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// What a watch needs, and a look at one object as it is now.
const READ: [&str; 3] = ["get", "list", "watch"];
/// What a watch needs alone.
const WATCH: [&str; 2] = ["list", "watch"];
/// What children need besides.
const WRITE_CHILDREN: [&str; 3] = ["create", "patch", "delete"];

/// One thing that an account may or may not do, as an access review asks it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Access {
    /// API verb, such as `list`.
    pub verb: String,
    /// API group, empty for the core group.
    pub group: String,
    /// Resource in the plural, with `/status` for the subresource.
    pub resource: String,
    /// Namespace; none for all namespaces or a cluster-scoped kind.
    pub namespace: Option<String>,
}

impl Access {
    /// Whether it changes nothing in the cluster: such rights the host needs as well, for its watches.
    pub fn is_read(&self) -> bool {
        READ.contains(&self.verb.as_str())
    }
}

/// One rule of a Role or ClusterRole.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRule {
    /// The API group, alone: a rule for two groups would grant every resource in both.
    pub api_groups: Vec<String>,
    /// Resources in the plural, sorted.
    pub resources: Vec<String>,
    /// Verbs, sorted.
    pub verbs: Vec<String>,
}

/// Rules by what they allow and for whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Split {
    /// For the account and for the host, which watches.
    pub read: Vec<PolicyRule>,
    /// For the account alone.
    pub write: Vec<PolicyRule>,
}

/// All rules that a manifest asks for, by where they have to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rules {
    /// In each namespace that the Reconciler claims.
    pub claimed: Split,
    /// In the whole cluster: cluster-scoped kinds, and reads in all namespaces.
    pub everywhere: Split,
}

/// Everything an account needs for a guest in these namespaces (none: in all of them), sorted, each once.
pub fn needed(manifest: &Manifest, namespaces: &[Option<String>]) -> Vec<Access> {
    let mut needed = BTreeSet::new();
    let mut add = |kind: &KindInfo, subresource: &str, verbs: &[&str], namespaces: &[Option<String>]| {
        let everywhere = [None];
        let namespaces = if kind.namespaced { namespaces } else { &everywhere };
        for (verb, namespace) in verbs
            .iter()
            .flat_map(|verb| namespaces.iter().map(move |namespace| (verb, namespace)))
        {
            needed.insert(Access {
                verb: (*verb).into(),
                group: kind.of.group.clone(),
                resource: format!("{}{subresource}", kind.plural),
                namespace: namespace.clone(),
            });
        }
    };
    let primary = &manifest.primary.kind;
    add(primary, "", &READ, namespaces);
    if manifest.writes_status {
        add(primary, "/status", &["patch"], namespaces);
    }
    if manifest.finalizes || !manifest.writes_primary.is_empty() {
        add(primary, "", &["patch"], namespaces);
    }
    for child in &manifest.children {
        add(&child.kind, "", &READ, namespaces);
        add(&child.kind, "", &WRITE_CHILDREN, namespaces);
    }
    for read in &manifest.reads {
        let namespaces = if read.all_namespaces { &[None] } else { namespaces };
        add(&read.kind, "", read_verbs(read), namespaces);
    }
    add(
        &KindInfo::namespaced("events.k8s.io", "v1", "Event", "events"),
        "",
        &["create"],
        namespaces,
    );
    needed.into_iter().collect()
}

/// Only the values of Secrets are fetched one by one; everything else is answered from a watch.
fn read_verbs(read: &ReadKind) -> &'static [&'static str] {
    if is_secret(&read.kind) && shows_values(&read.projection) {
        &READ
    } else {
        &WATCH
    }
}

/// All rules that a manifest asks for.
pub fn rules(manifest: &Manifest) -> Rules {
    // Which namespaces are claimed does not matter for a rule, only whether it is those or all.
    let all = needed(manifest, &[Some(String::new())]);
    let split = |is_claimed: bool| {
        let of = |is_read: bool| {
            policy_rules(
                all.iter()
                    .filter(|access| access.namespace.is_some() == is_claimed && access.is_read() == is_read),
            )
        };
        Split {
            read: of(true),
            write: of(false),
        }
    };
    Rules {
        claimed: split(true),
        everywhere: split(false),
    }
}

/// The rules of the read role, wherever they have to hold; for the account and the host.
pub fn read_rules(manifest: &Manifest) -> Vec<PolicyRule> {
    policy_rules(needed(manifest, &[None]).iter().filter(|access| access.is_read()))
}

/// The rules of the write role, wherever they have to hold; for the account alone.
pub fn write_rules(manifest: &Manifest) -> Vec<PolicyRule> {
    policy_rules(needed(manifest, &[None]).iter().filter(|access| !access.is_read()))
}

/// Merges accesses into as few rules as grant exactly these, sorted; where they hold is up to the binding.
pub fn policy_rules<'a>(accesses: impl IntoIterator<Item = &'a Access>) -> Vec<PolicyRule> {
    let mut verbs: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for access in accesses {
        verbs
            .entry((&access.group, &access.resource))
            .or_default()
            .insert(&access.verb);
    }
    let mut resources: BTreeMap<(&str, Vec<&str>), Vec<String>> = BTreeMap::new();
    for ((group, resource), verbs) in verbs {
        resources
            .entry((group, verbs.into_iter().collect()))
            .or_default()
            .push(resource.into());
    }
    let owned = |texts: Vec<&str>| texts.into_iter().map(Into::into).collect();
    let rules = resources.into_iter().map(|((group, verbs), resources)| PolicyRule {
        api_groups: vec![group.into()],
        resources,
        verbs: owned(verbs),
    });
    let mut rules: Vec<PolicyRule> = rules.collect();
    rules.sort();
    rules
}

/// What an approval names: the [`hash`] of all rules that a manifest asks for.
pub fn rights_hash(manifest: &Manifest) -> String {
    hash(&rules(manifest))
}

/// The sha256 of rules and of where they have to hold, in hexadecimal. A read that grows from the claimed namespaces to all
/// of them is another hash.
pub fn hash(rules: &Rules) -> String {
    let text = serde_json::to_vec(rules).expect("rules are lists of text");
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What `wanted` has and `approved` has not, in words, sorted: `list,watch pods in all namespaces`. What was approved for
/// all namespaces holds in the claimed ones too.
pub fn grown(approved: &Rules, wanted: &Rules) -> Vec<String> {
    difference(approved, wanted).1
}

/// What `before` has and `after` has not, and what `after` has and `before` has not, in words as [`grown`] has them.
pub fn difference(before: &Rules, after: &Rules) -> (Vec<String>, Vec<String>) {
    let new = |approved: &Rules, wanted: &Rules| {
        let everywhere = single(&approved.everywhere);
        let mut claimed = single(&approved.claimed);
        claimed.extend(everywhere.iter().cloned());
        let mut new = words(&single(&wanted.claimed) - &claimed, "its namespaces");
        new.extend(words(&single(&wanted.everywhere) - &everywhere, "all namespaces"));
        new
    };
    (new(after, before), new(before, after))
}

/// Rights in words, one text for each resource and place, sorted: `list,watch pods in namespace team-a`.
pub fn in_words<'a>(rights: impl IntoIterator<Item = &'a Access>) -> Vec<String> {
    let mut places: BTreeMap<Option<&str>, BTreeSet<(String, String, String)>> = BTreeMap::new();
    for right in rights {
        let single = (right.group.clone(), right.resource.clone(), right.verb.clone());
        places.entry(right.namespace.as_deref()).or_default().insert(single);
    }
    let place = |namespace: Option<&str>| namespace.map_or("all namespaces".into(), |name| format!("namespace {name}"));
    let words = places
        .into_iter()
        .flat_map(|(namespace, rights)| words(rights, &place(namespace)));
    words.collect()
}

/// The command that gives a Reconciler's account, and the host, what its module needs in these namespaces (none: in all
/// of them). `MODULE` in it stands for the file of the module, and `FILE` for that of its settings, if it has any.
pub fn granting_command(actor: &Actor, namespaces: &[Option<String>]) -> String {
    let Actor { reconciler, identity } = actor;
    let mut command = format!(
        "windlass rbac MODULE [--settings FILE] --name {} -n {}",
        reconciler.name, reconciler.namespace
    );
    if let Identity::ServiceAccount { name, .. } = identity
        && *name != reconciler.name
    {
        command += &format!(" --service-account {name}");
    }
    for namespace in namespaces.iter().flatten() {
        command += &format!(" --for-namespace {namespace}");
    }
    command + " | kubectl apply --server-side -f -"
}

/// Group, resource and verb of everything that rules allow.
fn single(split: &Split) -> BTreeSet<(String, String, String)> {
    let rules = split.read.iter().chain(&split.write);
    rules
        .flat_map(|rule| {
            let resources = rule.api_groups.iter().flat_map(|group| {
                let with_group = move |resource: &String| (group.clone(), resource.clone());
                rule.resources.iter().map(with_group)
            });
            resources.flat_map(|(group, resource)| {
                let with_verb = move |verb: &String| (group.clone(), resource.clone(), verb.clone());
                rule.verbs.iter().map(with_verb)
            })
        })
        .collect()
}

fn words(rights: BTreeSet<(String, String, String)>, place: &str) -> Vec<String> {
    let mut verbs: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (group, resource, verb) in rights {
        verbs.entry((group, resource)).or_default().push(verb);
    }
    let word = |((group, resource), verbs): ((String, String), Vec<String>)| {
        format!("{} {} in {place}", verbs.join(","), full_name(&group, &resource))
    };
    verbs.into_iter().map(word).collect()
}

/// A resource as people write it: `deployments.apps/status`.
fn full_name(group: &str, resource: &str) -> String {
    match resource.split_once('/') {
        _ if group.is_empty() => resource.into(),
        Some((resource, subresource)) => format!("{resource}.{group}/{subresource}"),
        None => format!("{resource}.{group}"),
    }
}

#[cfg(test)]
mod tests;
