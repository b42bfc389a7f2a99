//! Group J: names that are too long, or alike.

use crate::things::{condition, deployments, hostile, hostiles, in_team, nginx, nginxes};
use crate::world::{TEAM, World};
use std::collections::BTreeSet;
use windlass_core::decision::Propagation;
use windlass_core::kind::ObjectRef;
use windlass_core::object::Object;

/// A name of this length: many labels of nine characters with dots between them.
fn long(length: usize) -> String {
    let mut name = "very-long.".repeat(26);
    name.truncate(length);
    if name.ends_with(['.', '-']) {
        name.pop();
        name.push('x');
    }
    name
}

/// The Deployments that belong to an Nginx.
fn children(world: &World, primary: &Object) -> Vec<Object> {
    let mut all = world.cluster.list(&deployments());
    all.retain(|child| child.label("windlass.dev/primary-uid") == Some(primary.uid()));
    all
}

fn is_label(value: &str) -> bool {
    let ends = [value.chars().next(), value.chars().last()];
    value.len() <= 63
        && ends
            .iter()
            .all(|end| end.is_some_and(|end| end.is_ascii_alphanumeric()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j_01_long_names_with_dots_give_valid_labels_and_converge() {
    let world = World::with_guests(&["nginx"]).await;
    for length in [63, 64, 200, 253] {
        let name = long(length);
        let primary = world.create(nginx(&name, 1));
        let what = in_team(nginxes(), &name);
        world.until_says(&what, "Ready", "True Reconciled").await;
        let [child] = children(&world, &primary).try_into().unwrap();
        let labels = child.at(&["metadata", "labels"]).unwrap().as_object().unwrap().clone();
        for (label, value) in labels {
            assert!(is_label(value.as_str().unwrap()), "{label}: {value}");
        }
        assert_eq!(child.label("windlass.dev/primary-uid"), Some(primary.uid()));
    }
    world.canary("web").await;
    world.counted("nginx", "5/5").await;
    assert_eq!(world.host.metrics.panics.get(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j_01_a_name_that_breaks_a_rule_is_refused_with_the_rule() {
    let world = World::with_guests(&["hostile", "nginx"]).await;
    // At each of these lengths another character comes where a name of an Event might be cut.
    for length in [63, 64, 199, 200, 201, 210, 253] {
        let name = long(length);
        world.create(hostile(&name, "bad-name"));
        let what = in_team(hostiles(), &name);
        world.until_says(&what, "Ready", "False GuestOutputRejected").await;
        let message = condition(&world.get(&what), "Ready")["message"].clone();
        assert!(message.as_str().unwrap().contains("Not_A_Name"), "{message}");
        world
            .until(&format!("an Event tells of {name}"), || !world.events(&name).is_empty())
            .await;
    }
    world.canary("web").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j_02_names_that_are_alike_for_long_never_collide() {
    let world = World::with_guests(&["nginx"]).await;
    let mut primaries = Vec::new();
    // The first 120 characters are equal; then so many that even a Deployment's name has to be cut.
    for stem in [long(120), long(251)] {
        for end in ["a", "b"] {
            primaries.push(world.create(nginx(&format!("{stem}{end}"), 1)));
        }
    }
    for namespace in [TEAM, "team-b"] {
        let mut same = nginx("same", 1);
        same["metadata"]["namespace"] = namespace.into();
        primaries.push(world.create(same));
    }
    world.counted("nginx", "6/6").await;
    let labels: BTreeSet<String> = primaries[..5]
        .iter()
        .map(|primary| {
            children(&world, primary)[0]
                .label("underneathall-app")
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(labels.len(), 5, "{labels:?}");
    let owned = |primary: &Object| -> Vec<Object> { children(&world, primary) };
    let names: BTreeSet<ObjectRef> = primaries
        .iter()
        .flat_map(owned)
        .map(|child| child.reference())
        .collect();
    assert_eq!(names.len(), 6, "{names:?}");
    for pair in primaries.chunks(2) {
        let kept = children(&world, &pair[1]);
        world
            .cluster
            .delete(&pair[0].reference(), Propagation::Background)
            .unwrap();
        world.quiet().await;
        assert_eq!(children(&world, &pair[0]), []);
        assert_eq!(children(&world, &pair[1]), kept, "the other one's child is left alone");
    }
}
