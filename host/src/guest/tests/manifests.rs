//! What a guest says about itself is checked before any watch is opened for it.

use crate::guest::Step;
use crate::guest::bindings::{manifest as wit, types};
use crate::guest::describe::checked;

fn kind(group: &str, kind: &str, plural: &str) -> types::KindInfo {
    let of = types::KindRef {
        group: group.into(),
        version: "v1".into(),
        kind: kind.into(),
    };
    types::KindInfo {
        of,
        plural: plural.into(),
        namespaced: true,
    }
}

fn child(group: &str, of: &str, plural: &str) -> wit::ChildKind {
    wit::ChildKind {
        kind: kind(group, of, plural),
        projection: types::Projection::Metadata,
        optional: false,
    }
}

fn good() -> wit::Manifest {
    wit::Manifest {
        name: "web".into(),
        version: "1.0.0-rc.1+build".into(),
        primary: wit::Primary {
            kind: kind("demo.example.com", "Web", "webs"),
            projection: types::Projection::Full,
            selector: "tier in (a, b)".into(),
        },
        children: vec![
            child("apps", "Deployment", "deployments"),
            child("", "ConfigMap", "configmaps"),
        ],
        reads: Vec::new(),
        writes_status: true,
        writes_primary: vec![".metadata.annotations".into()],
        finalizes: false,
        needs_clock: false,
        needs_seed: false,
    }
}

/// A manifest, what is made wrong about it, and a word of the sentence about that.
type Case = (fn(&mut wit::Manifest), &'static str);

#[test]
fn f_02_a_manifest_that_cannot_be_is_refused_for_what_is_wrong() {
    assert_eq!(checked(Ok(good())).expect("is as it should be").name, "web");
    let cases: [Case; 14] = [
        (|manifest| manifest.name.clear(), "`name`"),
        (|manifest| manifest.name = "line\nbreak".into(), "`name`"),
        (|manifest| manifest.version = "x".repeat(64), "`version`"),
        (
            |manifest| manifest.primary.kind = kind("windlass.dev", "Reconciler", "reconcilers"),
            "host's own",
        ),
        (
            |manifest| manifest.primary.kind = kind("x.windlass.dev", "Reconciler", "reconcilers"),
            "host's own",
        ),
        (|manifest| manifest.primary.kind.of.kind.clear(), "the kind of"),
        (
            |manifest| manifest.primary.kind.plural = "webs/status".into(),
            "the plural of",
        ),
        (
            |manifest| manifest.primary.kind.of.version = "v1/../../secrets".into(),
            "the version of",
        ),
        (|manifest| manifest.primary.kind.of.group = "..".into(), "the group of"),
        (|manifest| manifest.primary.selector = "a in (".into(), "parenthesis"),
        (
            |manifest| manifest.primary.projection = types::Projection::Fields(vec!["spec".into()]),
            "demo.example.com",
        ),
        (
            |manifest| manifest.writes_primary = vec![String::new()],
            "writes-primary",
        ),
        (
            |manifest| manifest.children.push(child("apps", "Deployment", "deployments")),
            "twice",
        ),
        (
            |manifest| manifest.children = vec![child("", "ConfigMap", "configmaps"); 65],
            "64 is the most",
        ),
    ];
    for (number, (break_it, words)) in cases.into_iter().enumerate() {
        let mut manifest = good();
        break_it(&mut manifest);
        let refusal = checked(Ok(manifest)).expect_err(words);
        assert_eq!(
            (refusal.step, refusal.cause),
            (Step::Describe, "ManifestInvalid"),
            "{number}: {refusal}"
        );
        assert!(refusal.message.contains(words), "{number}: no {words:?} in {refusal}");
        assert!(!refusal.message.contains('\n'), "{number}");
    }
}

#[test]
fn the_guest_refuses_settings_in_its_own_words_and_in_one_line() {
    let refusal = checked(Err(format!("replicas: must be positive\n{}", "x".repeat(10_000)))).expect_err("refused");
    assert_eq!(refusal.cause, "SettingsRefused");
    assert!(
        refusal.message.contains("replicas: must be positive") && refusal.message.len() < 1_000,
        "{refusal}"
    );
    assert!(!refusal.message.contains('\n'), "{refusal}");
}
