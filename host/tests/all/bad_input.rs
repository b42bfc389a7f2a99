//! What people get wrong with modules, accounts and rights: each is said plainly, stops nobody else, and is cured live.

use crate::things::{account, condition, hostile, hostiles, in_system, in_team, object, reconciler, reconcilers, says};
use crate::world::{TEAM, World, base64, module};
use serde_json::{Value, json};
use windlass::cluster::memory::AccessPattern;
use windlass_core::kind::{KindRef, ObjectRef};

/// A world in which nginx runs, and the hostile guest is what people get wrong.
async fn world() -> World {
    World::with_guests(&["nginx"]).await
}

async fn until_refused(world: &World, name: &str, step: &str, reason: &str, words: &str) {
    world
        .until(&format!("{name} is refused for {reason}: {words}"), || {
            let refused = &world.status(name)["refused"];
            refused["reason"] == reason && refused["message"].as_str().unwrap_or_default().contains(words)
        })
        .await;
    assert_eq!(world.status(name)["refused"]["step"], step);
    assert_eq!(world.condition(name, "Loaded"), "False");
    assert_eq!(world.condition(name, "Permitted"), "Unknown");
    assert_eq!(world.condition(name, "Ready"), "False");
    let told = format!("module refused at {step}: {reason}");
    world
        .until(&format!("an Event says {told}"), || {
            world.events(name).iter().any(|event| event.contains(&told))
        })
        .await;
}

async fn until_halted(world: &World, name: &str, gate: &str, reason: &str, words: &str) {
    world
        .until(&format!("{gate} of {name} says {words}"), || {
            world.condition(name, gate) == "False" && world.message(name, gate).contains(words)
        })
        .await;
    let reconciler = world.reconciler(name);
    for type_ in [gate, "Ready"] {
        assert_eq!(condition(&reconciler, type_)["reason"], reason);
    }
}

/// After the cure: ready in the same host, and at work.
async fn cured(world: &World, name: &str) {
    world.until_ready(name).await;
    assert!(world.status(name)["refused"].is_null());
    world.create(hostile("after", "good"));
    let after = in_team(hostiles(), "after");
    world.until_says(&after, "Ready", "True Reconciled").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_config_map_without_exactly_one_module_says_what_is_wrong() {
    let world = world().await;
    world.account("hostile", "hostile");
    let good = base64(&module("hostile"));
    let text = json!({"module.wasm": "AGFzbQ=="});
    let two = json!({"one.wasm": good, "two.wasm": good});
    let cases = [
        (
            json!({"readme.txt": good}),
            json!({}),
            "Fetch",
            "NoModule",
            "ends in .wasm",
        ),
        (json!({}), json!({}), "Fetch", "NoModule", "no key in binaryData"),
        (json!({}), text, "Fetch", "NoModule", "put it into binaryData"),
        (two, json!({}), "Fetch", "SeveralModules", "one.wasm, two.wasm"),
        (json!({"module.wasm": ""}), json!({}), "Unpack", "Empty", "binaryData"),
    ];
    for (number, (binary, data, step, reason, words)) in cases.into_iter().enumerate() {
        world.drop_in_data("hostile", binary, data);
        until_refused(&world, "hostile", step, reason, words).await;
        world.canary(&format!("canary-{number}")).await;
    }
    world.drop_in("hostile", &module("hostile"), json!({}));
    cured(&world, "hostile").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_that_cannot_be_read_or_are_refused_say_why() {
    let world = world().await;
    world.account("hostile", "hostile");
    let binary = json!({"module.wasm": base64(&module("hostile"))});
    let large = format!("behaviour: {}", "x".repeat(70 << 10));
    let cases = [
        (
            large.as_str(),
            "Fetch",
            "Settings",
            "the settings hold 71 KiB and may hold 64",
        ),
        ("behaviour: [", "Fetch", "Settings", "settings.yaml"),
        ("just text", "Fetch", "Settings", "not a YAML map"),
        (
            "describe: error",
            "Describe",
            "SettingsRefused",
            "these settings are refused on purpose",
        ),
        (
            "behavior: none",
            "Describe",
            "SettingsRefused",
            "unknown field `behavior`",
        ),
        ("describe: trap", "Describe", "Trapped", "unreachable"),
    ];
    for (number, (text, step, reason, words)) in cases.into_iter().enumerate() {
        world.drop_in_data("hostile", binary.clone(), json!({"settings.yaml": text}));
        until_refused(&world, "hostile", step, reason, words).await;
        world.canary(&format!("canary-{number}")).await;
    }
    world.drop_in_data("hostile", binary, json!({"settings.yaml": "behaviour: good\n"}));
    cured(&world, "hostile").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_that_were_too_low_are_tried_again_when_they_are_raised() {
    let world = world().await;
    world.account("hostile", "hostile");
    world.drop_in("hostile", &module("hostile"), json!({}));
    world.until_ready("hostile").await;
    let what = in_system(reconcilers(), "hostile");
    world.patch(
        &what,
        &json!({"spec": {"limits": {"memoryMebibytes": 1}, "settings": {"behaviour": "none"}}}),
    );
    until_refused(&world, "hostile", "Describe", "OutOfMemory", "limit of 1 MiB").await;
    world.patch(&what, &json!({"spec": {"limits": {"memoryMebibytes": 16}}}));
    cured(&world, "hostile").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_above_the_hosts_are_refused_and_those_within_are_held_to() {
    let world = world().await;
    world.account("hostile", "hostile");
    world.drop_in("hostile", &module("hostile"), json!({}));
    world.until_ready("hostile").await;
    let what = in_system(reconcilers(), "hostile");
    world.patch(&what, &json!({"spec": {"limits": {"memoryMebibytes": 512}}}));
    let said = || world.message("hostile", "Loaded");
    world
        .until("it is refused", || {
            said().contains("spec.limits.memoryMebibytes: 512 is more than this host allows, which is 256")
        })
        .await;
    assert_eq!(says(&world.reconciler("hostile"), "Loaded"), "False Invalid");
    world.create(hostile("one", "three"));
    let one = in_team(hostiles(), "one");
    // With the limits from before.
    world.until_says(&one, "Ready", "True Reconciled").await;
    for (limits, reason) in [
        (
            json!({"memoryMebibytes": 64, "children": 2}),
            "False GuestOutputRejected",
        ),
        (json!({"children": 3}), "True Reconciled"),
        (json!({"outputKibibytes": 64, "children": 256}), "True Reconciled"),
    ] {
        world.patch(&what, &json!({"spec": {"limits": limits}}));
        world.until_says(&one, "Ready", reason).await;
    }
    world.create(hostile("large", "hundred-kibibytes"));
    world
        .until_says(&in_team(hostiles(), "large"), "Ready", "False GuestOutputRejected")
        .await;
    world.patch(&what, &json!({"spec": {"limits": {"outputKibibytes": 128}}}));
    world
        .until_says(&in_team(hostiles(), "large"), "Ready", "True Reconciled")
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_is_too_long_or_has_dots_is_refused_by_an_event() {
    let world = world().await;
    let long = "a".repeat(41);
    for name in [long.as_str(), "has.dots"] {
        world.drop_in(name, &module("hostile"), json!({}));
        world
            .until(&format!("{name} is refused"), || {
                world
                    .events(name)
                    .iter()
                    .any(|event| event.starts_with("NameRefused: "))
            })
            .await;
        assert!(world.find(&in_system(reconcilers(), name)).is_none());
    }
    world.canary("web").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_that_is_missing_or_does_not_consent_is_named() {
    let world = world().await;
    world.drop_in("hostile", &module("hostile"), json!({}));
    until_halted(&world, "hostile", "Permitted", "ApplyForbidden", "does not exist").await;
    world.canary("one").await;
    world.account("hostile", "another, and-one-more");
    until_halted(&world, "hostile", "Permitted", "ApplyForbidden", "does not consent").await;
    world.canary("two").await;
    let account = in_system(KindRef::new("", "v1", "ServiceAccount"), "hostile");
    let consent = json!({"metadata": {"annotations": {"windlass.dev/reconcilers": "another, hostile"}}});
    world.patch(&account, &consent);
    cured(&world, "hostile").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consent_that_is_taken_back_is_felt() {
    let world = World::with_guests(&["nginx", "hostile"]).await;
    let account = in_system(KindRef::new("", "v1", "ServiceAccount"), "hostile");
    world.patch(
        &account,
        &json!({"metadata": {"annotations": {"windlass.dev/reconcilers": null}}}),
    );
    until_halted(&world, "hostile", "Permitted", "ApplyForbidden", "does not consent").await;
    let mark = world.cluster.mark();
    let taken = world.create(hostile("late", "good"));
    world.canary("web").await;
    world.quiet().await;
    assert_eq!(
        world.writes_for("hostile", mark),
        [],
        "nothing is written as it for {}",
        taken.name()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hosts_own_account_is_never_used() {
    let world = world().await;
    world.account("windlass", "windlass");
    world.drop_in("windlass", &module("hostile"), json!({}));
    until_halted(&world, "windlass", "Permitted", "ApplyForbidden", "the host's own").await;
    world.canary("web").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_that_are_missing_are_listed_and_noticed_once_granted() {
    let world = world().await;
    let rules = vec![
        AccessPattern::new("*", "hostile.windlass.test", "hostiles"),
        AccessPattern::new("list", "", "configmaps"),
    ];
    world.cluster.restrict(account("hostile"), rules);
    world.account("hostile", "hostile");
    world.drop_in("hostile", &module("hostile"), json!({}));
    until_halted(
        &world,
        "hostile",
        "Permitted",
        "ApplyForbidden",
        "create,delete,get,patch,watch configmaps in all namespaces",
    )
    .await;
    let message = world.message("hostile", "Permitted");
    assert!(message.contains("hostiles.hostile.windlass.test/status"), "{message}");
    assert!(!message.contains("list,"), "{message}");
    world.canary("web").await;
    world.cluster.lift(&account("hostile"));
    cured(&world, "hostile").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_may_not_watch_a_kind_says_so_and_goes_on_when_it_may() {
    use windlass_core::write::Identity;
    let world = world().await;
    let pattern = AccessPattern::new("watch", "hostile.windlass.test", "hostiles");
    world.cluster.deny(Identity::Host, pattern);
    world.account("hostile", "hostile");
    world.drop_in("hostile", &module("hostile"), json!({}));
    until_halted(&world, "hostile", "Synced", "DependencyMissing", "forbidden").await;
    world.canary("web").await;
    world.cluster.lift(&Identity::Host);
    cured(&world, "hostile").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_in_a_namespace_that_is_not_read_is_said_to_be_so() {
    let world = world().await;
    let mut elsewhere = reconciler("stray", &json!({}));
    elsewhere["metadata"]["namespace"] = TEAM.into();
    world.create(elsewhere);
    let stray: ObjectRef = in_team(reconcilers(), "stray");
    world
        .until("the stray one says why", || {
            let message = condition(&world.get(&stray), "Loaded")["message"].clone();
            message
                .as_str()
                .is_some_and(|message| message.contains("--source-namespace team-a"))
        })
        .await;
    world.canary("web").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kind_that_is_not_served_yet_is_taken_up_when_its_crd_comes() {
    let world = World::new();
    world.create_file("deploy/samples/nginx/crd.yaml");
    world.install("nginx", "nginx", json!({})).await;
    world.account("hostile", "hostile");
    world.drop_in("hostile", &module("hostile"), json!({}));
    until_halted(&world, "hostile", "Synced", "DependencyMissing", "does not serve").await;
    world.canary("web").await;
    world.create_file("guests/hostile/crd.yaml");
    cured(&world, "hostile").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn primaries_that_are_wrong_say_so_and_stop_no_other() {
    let world = World::with_guests(&["nginx", "friend"]).await;
    let refused = |value: Value| world.cluster.create(&object(value)).unwrap_err().to_string();
    let nginx = |replicas: Value| {
        let mut nginx = crate::things::nginx("bad", 1);
        nginx["spec"]["replicas"] = replicas;
        nginx
    };
    assert!(refused(nginx(json!(-1))).contains("replicas"));
    assert!(refused(nginx(json!("two"))).contains("replicas"));
    let mut nameless = crate::things::friend("bad", "joe");
    nameless["spec"] = json!({});
    assert!(refused(nameless).contains("name"));
    // Objects that are older than the schema: the guest itself has to find it.
    let schema = ["spec", "versions", "0", "schema", "openAPIV3Schema"];
    for name in [
        "nginx.stable.underneathall.com",
        "mycustomresources.mycustomresources.poc.test.domain",
    ] {
        let crd = ObjectRef {
            of: KindRef::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
            namespace: None,
            name: name.into(),
        };
        let mut loose = world.get(&crd);
        let versions = loose.0["spec"]["versions"][0][schema[3]][schema[4]]
            .as_object_mut()
            .unwrap();
        versions["properties"]["spec"] = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        world.cluster.update(&loose).unwrap();
    }
    world.create(nginx(json!(-1)));
    let bad = in_team(crate::things::nginxes(), "bad");
    world.until_says(&bad, "Ready", "False Invalid").await;
    let message = condition(&world.get(&bad), "Reconciled")["message"].clone();
    assert_eq!(message, "spec.replicas: must not be negative, is -1");
    let mut nameless = crate::things::friend("nameless", "joe");
    nameless["spec"] = json!({});
    world.create(nameless);
    // A kind without conditions: an Event, and a count on the Reconciler.
    world
        .until("the nameless one is told", || {
            world
                .events("nameless")
                .iter()
                .any(|event| event.starts_with("Invalid: "))
        })
        .await;
    world
        .until("the nameless one is counted", || {
            world.status("friend")["lastFailure"]["primary"] == "team-a/nameless"
        })
        .await;
    world.canary("web").await;
    world.patch(&bad, &json!({"spec": {"replicas": 2}}));
    world.until_says(&bad, "Ready", "True Reconciled").await;
}
