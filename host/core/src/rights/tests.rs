//! Shows which rights follow from a manifest.

use super::*;
use crate::manifest::{ChildKind, Primary, Projection, ReadKind};

fn child(kind: KindInfo) -> ChildKind {
    ChildKind {
        kind,
        projection: Projection::Metadata,
        optional: false,
    }
}

fn read(kind: KindInfo, all_namespaces: bool) -> ReadKind {
    ReadKind {
        kind,
        projection: Projection::Metadata,
        selector: String::new(),
        all_namespaces,
        optional: false,
    }
}

fn manifest() -> Manifest {
    Manifest {
        name: "nginx".into(),
        version: "1.0.0".into(),
        primary: Primary {
            kind: KindInfo::namespaced("example.com", "v1", "Nginx", "nginxes"),
            projection: Projection::Full,
            selector: String::new(),
        },
        children: vec![
            child(KindInfo::namespaced("", "v1", "Service", "services")),
            child(KindInfo::namespaced("", "v1", "ConfigMap", "configmaps")),
            child(KindInfo::namespaced("apps", "v1", "Deployment", "deployments")),
        ],
        reads: vec![
            read(KindInfo::namespaced("", "v1", "Pod", "pods"), true),
            read(KindInfo::cluster_scoped("", "v1", "Node", "nodes"), false),
        ],
        writes_status: true,
        writes_primary: Vec::new(),
        finalizes: false,
        needs_clock: false,
        needs_seed: false,
    }
}

fn shown(accesses: &[Access]) -> Vec<String> {
    let shown = accesses.iter().map(|access| {
        let place = access.namespace.as_deref().unwrap_or("*");
        format!("{} {}.{} in {place}", access.verb, access.resource, access.group)
    });
    shown.collect()
}

fn lines(rules: &[PolicyRule]) -> Vec<String> {
    let line = |rule: &PolicyRule| {
        format!(
            "[{}] {} {}",
            rule.api_groups.join(","),
            rule.resources.join(","),
            rule.verbs.join(",")
        )
    };
    rules.iter().map(line).collect()
}

#[test]
fn every_right_follows_from_the_manifest() {
    let mut manifest = manifest();
    manifest.children.truncate(1);
    let needed = needed(&manifest, &[Some("team-b".into()), Some("team-a".into())]);
    let here = |text: &str| ["team-a", "team-b"].map(|namespace| format!("{text} in {namespace}"));
    let mut expected = vec![
        "list nodes. in *",
        "list pods. in *",
        "watch nodes. in *",
        "watch pods. in *",
    ]
    .into_iter()
    .map(String::from)
    .collect::<Vec<_>>();
    for text in [
        "get services.",
        "list services.",
        "watch services.",
        "create services.",
        "patch services.",
        "delete services.",
        "get nginxes.example.com",
        "list nginxes.example.com",
        "watch nginxes.example.com",
        "patch nginxes/status.example.com",
        "create events.events.k8s.io",
    ] {
        expected.extend(here(text));
    }
    let mut shown = shown(&needed);
    shown.sort();
    expected.sort();
    assert_eq!(shown, expected);
    assert!(needed.is_sorted());
}

#[test]
fn the_primary_itself_is_patched_only_where_the_guest_says_so() {
    let patch = "patch nginxes.example.com in *".to_string();
    let mut manifest = manifest();
    assert!(!shown(&needed(&manifest, &[None])).contains(&patch));
    manifest.finalizes = true;
    assert!(shown(&needed(&manifest, &[None])).contains(&patch));
    manifest.finalizes = false;
    manifest.writes_primary = vec![".spec.suspend".into()];
    assert!(shown(&needed(&manifest, &[None])).contains(&patch));
    manifest.writes_status = false;
    assert!(!shown(&needed(&manifest, &[None])).contains(&"patch nginxes/status.example.com in *".to_string()));
}

#[test]
fn rules_are_merged_within_a_group_and_never_across() {
    let rules = rules(&manifest());
    assert_eq!(
        lines(&rules.claimed.read),
        [
            "[] configmaps,services get,list,watch",
            "[apps] deployments get,list,watch",
            "[example.com] nginxes get,list,watch"
        ]
    );
    assert_eq!(
        lines(&rules.claimed.write),
        [
            "[] configmaps,services create,delete,patch",
            "[apps] deployments create,delete,patch",
            "[events.k8s.io] events create",
            "[example.com] nginxes/status patch",
        ]
    );
    assert_eq!(lines(&rules.everywhere.read), ["[] nodes,pods list,watch"]);
    assert!(rules.everywhere.write.is_empty());
    assert_eq!(
        lines(&read_rules(&manifest()))[..2],
        ["[] configmaps,services get,list,watch", "[] nodes,pods list,watch"]
    );
    assert_eq!(write_rules(&manifest()), rules.claimed.write);
}

#[test]
fn the_hash_depends_on_rights_alone() {
    let hash = rights_hash(&manifest());
    assert_eq!(hash.len(), 64);
    let mut other = manifest();
    other.version = "2.0.0".into();
    other.children.reverse();
    other.needs_seed = true;
    assert_eq!(rights_hash(&other), hash);
    other.reads[0].all_namespaces = false;
    assert_ne!(rights_hash(&other), hash, "where a right holds is part of it");
    let mut other = manifest();
    other.finalizes = true;
    assert_ne!(rights_hash(&other), hash);
}

#[test]
fn the_hash_that_users_approved_stays_the_same() {
    assert_eq!(
        rights_hash(&manifest()),
        "a96cf28a3f33610aaa91dbad29de42b169fec0583952503d8e35bdf04115768b"
    );
}

#[test]
fn a_rule_is_written_as_kubernetes_has_it() {
    let rule = &read_rules(&manifest())[2];
    assert_eq!(
        serde_json::to_string(rule).unwrap(),
        r#"{"apiGroups":["apps"],"resources":["deployments"],"verbs":["get","list","watch"]}"#
    );
}

#[test]
fn only_what_is_new_counts_as_grown() {
    let approved = rules(&manifest());
    assert!(grown(&approved, &approved).is_empty());
    let mut less = manifest();
    less.children.pop();
    assert!(
        grown(&approved, &rules(&less)).is_empty(),
        "fewer rights need no approval"
    );
    let mut more = manifest();
    more.children
        .push(child(KindInfo::namespaced("", "v1", "Secret", "secrets")));
    more.reads
        .push(read(KindInfo::namespaced("", "v1", "Endpoints", "endpoints"), true));
    assert_eq!(
        grown(&approved, &rules(&more)),
        [
            "create,delete,get,list,patch,watch secrets in its namespaces",
            "list,watch endpoints in all namespaces",
        ]
    );
    let mut wider = manifest();
    wider
        .reads
        .push(read(KindInfo::namespaced("", "v1", "Service", "services"), true));
    assert_eq!(
        grown(&approved, &rules(&wider)),
        ["list,watch services in all namespaces"],
        "a right in the claimed namespaces is none elsewhere"
    );
    assert!(
        grown(&rules(&wider), &approved).is_empty(),
        "a right everywhere is one here"
    );
}

#[test]
fn only_secrets_whose_values_are_shown_are_fetched_one_by_one() {
    let secrets = || read(KindInfo::namespaced("", "v1", "Secret", "secrets"), false);
    let verbs = |projection: Projection| {
        let mut manifest = manifest();
        manifest.children.clear();
        manifest.reads = vec![ReadKind {
            projection,
            ..secrets()
        }];
        lines(&rules(&manifest).claimed.read)[0].clone()
    };
    assert_eq!(verbs(Projection::Full), "[] secrets get,list,watch");
    assert_eq!(verbs(Projection::Metadata), "[] secrets list,watch");
}

#[test]
fn rights_are_told_in_words_and_with_the_command_that_grants_them() {
    let mut manifest = manifest();
    manifest.children.clear();
    manifest.reads.truncate(1);
    assert_eq!(
        in_words(&needed(&manifest, &[Some("team-a".into())])),
        [
            "list,watch pods in all namespaces",
            "create events.events.k8s.io in namespace team-a",
            "get,list,watch nginxes.example.com in namespace team-a",
            "patch nginxes.example.com/status in namespace team-a",
        ]
    );
    let actor = |account: &str| Actor {
        reconciler: crate::key::ReconcilerId::new("team-a", "nginx"),
        identity: Identity::ServiceAccount {
            namespace: "team-a".into(),
            name: account.into(),
        },
    };
    assert_eq!(
        granting_command(&actor("nginx"), &[None]),
        "windlass rbac MODULE [--settings FILE] --name nginx -n team-a | kubectl apply --server-side -f -"
    );
    assert_eq!(
        granting_command(&actor("other"), &[Some("b".into()), Some("c".into())]),
        "windlass rbac MODULE [--settings FILE] --name nginx -n team-a --service-account other --for-namespace b --for-namespace c | kubectl \
         apply --server-side -f -"
    );
}

#[test]
fn a_difference_is_told_both_ways() {
    let mut after = manifest();
    after.reads.remove(0);
    after.finalizes = true;
    assert_eq!(
        difference(&rules(&manifest()), &rules(&after)),
        (
            vec!["list,watch pods in all namespaces".to_owned()],
            vec!["patch nginxes.example.com in its namespaces".to_owned()]
        )
    );
}
