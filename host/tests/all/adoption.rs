//! Objects that exist already: which are taken over as children, and that nothing else happens to any.

use crate::meddler::Verdict;
use crate::things::{condition, deployments, in_system, in_team, nginx, nginxes, object, reconcilers, says};
use crate::world::{TEAM, World};
use serde_json::{Value, json};
use windlass::cluster::Cluster;
use windlass_core::decision::Propagation;
use windlass_core::kind::{KindInfo, ObjectRef};
use windlass_core::managed_fields::managers;
use windlass_core::object::Object;
use windlass_core::write::{Identity, Request, Subresource, Target, Write, WriteError};

const CLIENT_SIDE: &str = "kubectl-client-side-apply";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const OURS: &str = "windlass:windlass-system:nginx";

fn web() -> ObjectRef {
    in_team(nginxes(), "web")
}

fn deployment() -> ObjectRef {
    in_team(deployments(), "web-deploy")
}

/// What an earlier operator left: another image, another count, and a label that no guest of ours wants.
fn earlier() -> Value {
    let labels = json!({"app": "underneathall", "underneathall-app": "nginx-web"});
    let mut shown = labels.clone();
    shown["tier"] = json!("front");
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "namespace": TEAM, "name": "web-deploy", "labels": shown, "annotations": {LAST_APPLIED: "{}", "kept": "yes"},
        },
        "spec": {
            "replicas": 7, "selector": {"matchLabels": labels}, "minReadySeconds": 5,
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "nginx", "image": "nginx:0.1", "ports": [{"containerPort": 80}]}]},
            },
        },
    })
}

/// Creates an object under a field manager.
async fn create_as(world: &World, manager: &str, value: Value) -> Object {
    let object = object(value);
    let write = Write {
        identity: Identity::Host,
        target: Target::of(
            &KindInfo::namespaced("apps", "v1", "Deployment", "deployments"),
            &object,
        ),
        subresource: Subresource::None,
        manager: manager.into(),
        request: Request::Create(object),
    };
    world.cluster.apply(&write).await.unwrap().unwrap()
}

/// Says something about the Deployment, without force.
fn apply_as(world: &World, manager: &str, part: Value) {
    let mut value = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": TEAM, "name": "web-deploy"},
    });
    json_patch::merge(&mut value, &part);
    world.cluster.apply_as(manager, &object(value)).unwrap();
}

fn adopting(managers: &[&str]) -> Value {
    json!({"adoption": {"fromFieldManagers": managers}})
}

async fn with(spec: &Value) -> World {
    let world = World::with_guests(&[]).await;
    world.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}}));
    world.install_by_hand("nginx", "nginx", spec).await;
    world
}

fn at<'a>(object: &'a Object, path: &[&str]) -> Option<&'a Value> {
    object.at(path)
}

async fn until_refused(world: &World, words: &str) -> String {
    world.until_says(&web(), "Ready", "False OwnershipConflict").await;
    let message = condition(&world.get(&web()), "Reconciled")["message"].to_string();
    assert!(message.contains(words), "{message}");
    message
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_client_side_apply_made_is_taken_over_with_what_others_say_of_it() {
    let world = with(&adopting(&[CLIENT_SIDE])).await;
    let before = create_as(&world, CLIENT_SIDE, earlier()).await;
    apply_as(&world, "other", json!({"metadata": {"labels": {"theirs": "stays"}}}));
    world.create(nginx("web", 2));
    world.until_says(&web(), "Ready", "True Reconciled").await;
    let taken = world.get(&deployment());
    assert_eq!(taken.uid(), before.uid(), "not made again");
    assert_eq!(at(&taken, &["spec", "replicas"]), Some(&json!(2)));
    assert_eq!(
        taken.0["spec"]["template"]["spec"]["containers"][0]["image"],
        "nginx:1.7.9"
    );
    for gone in [
        &["metadata", "labels", "tier"][..],
        &["spec", "minReadySeconds"],
        &["metadata", "annotations", "kept"],
    ] {
        assert_eq!(at(&taken, gone), None, "{gone:?} is given up");
    }
    assert_eq!(taken.annotation(LAST_APPLIED), None);
    assert_eq!(taken.label("theirs"), Some("stays"));
    let mut owners = managers(&taken);
    owners.sort_unstable();
    assert_eq!(owners, ["other", OURS]);
    assert_eq!(taken.owner_references()[0].uid, world.get(&web()).uid());
    world.quiet().await;
    let mark = world.cluster.mark();
    world.touch(&web(), "again");
    world.quiet().await;
    assert_eq!(world.writes_for("nginx", mark), [], "as wanted");
    world.cluster.scale(&deployment(), 9).unwrap();
    world
        .until("it is put right like any child", || {
            at(&world.get(&deployment()), &["spec", "replicas"]) == Some(&json!(2))
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_owns_is_named_and_nothing_is_touched_before_it_is_given_up() {
    let world = with(&adopting(&["helm", "before"])).await;
    let mut made = earlier();
    made["spec"].as_object_mut().unwrap().remove("replicas");
    create_as(&world, "helm", made).await;
    apply_as(&world, "scaler", json!({"spec": {"replicas": 1}}));
    let before = world.get(&deployment());
    world.create(nginx("web", 2));
    until_refused(&world, "scaler owns .spec.replicas").await;
    assert_eq!(world.get(&deployment()), before);
    apply_as(&world, "scaler", json!({}));
    world.touch(&web(), "again");
    world.until_says(&web(), "Ready", "True Reconciled").await;
    assert_eq!(world.get(&deployment()).uid(), before.uid());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adoption_follows_the_spec_without_another_module() {
    let world = with(&json!({})).await;
    let before = create_as(&world, "helm", earlier()).await;
    world.create(nginx("web", 2));
    until_refused(&world, "is not ours").await;
    world.patch(
        &in_system(reconcilers(), "nginx"),
        &json!({"spec": adopting(&["other"])}),
    );
    let swaps = || world.host.metrics.swaps.get();
    world.until("the spec is followed", || swaps() == 2).await;
    world.quiet().await;
    until_refused(&world, "is not ours").await;
    assert_eq!(world.get(&deployment()), before, "not from those");
    world.patch(
        &in_system(reconcilers(), "nginx"),
        &json!({"spec": adopting(&["other", "helm"])}),
    );
    world.until_says(&web(), "Ready", "True Reconciled").await;
    assert_eq!(world.get(&deployment()).uid(), before.uid());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_take_over_that_breaks_off_is_finished_later_and_never_forced() {
    let world = with(&adopting(&["helm"])).await;
    let before = create_as(&world, "helm", earlier()).await;
    world.meddler.before_writes(|write| match &write.request {
        Request::Apply { object, force } if object.kind() == deployments() => {
            assert!(!force, "an adopted object is not forced");
            Verdict::Fail(WriteError::Unavailable("no connection".into()))
        }
        _ => Verdict::Pass,
    });
    world.create(nginx("web", 2));
    world.until_says(&web(), "Ready", "False ClusterUnavailable").await;
    let half = world.get(&deployment());
    assert_eq!(
        (managers(&half), at(&half, &["spec", "replicas"])),
        (vec![OURS], Some(&json!(7)))
    );
    world.meddler.let_pass();
    world.until_says(&web(), "Ready", "True Reconciled").await;
    let taken = world.get(&deployment());
    assert_eq!(
        (taken.uid(), at(&taken, &["spec", "replicas"])),
        (before.uid(), Some(&json!(2)))
    );
    assert_eq!(taken.label("tier"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_in_the_middle_of_a_take_over_is_seen_and_respected() {
    let world = with(&adopting(&["helm"])).await;
    let mut made = earlier();
    made["spec"].as_object_mut().unwrap().remove("replicas");
    create_as(&world, "helm", made).await;
    let (cluster, mut once) = (world.cluster.clone(), true);
    // Between the look and the patch.
    world.meddler.before_writes(move |write| {
        if once && matches!(write.request, Request::JsonPatch(_)) {
            once = false;
            cluster.scale(&deployment(), 4).unwrap();
        }
        Verdict::Pass
    });
    world.create(nginx("web", 2));
    until_refused(&world, "owns .spec.replicas").await;
    let left = world.get(&deployment());
    assert_eq!(at(&left, &["spec", "replicas"]), Some(&json!(4)));
    assert!(managers(&left).contains(&"helm"), "{:?}", managers(&left));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_in_the_middle_of_a_take_over_leaves_nothing_half_taken() {
    let world = with(&adopting(&["helm"])).await;
    // As wanted but for one label, so that no value would be in conflict.
    let mut made = earlier();
    made["spec"]["replicas"] = json!(2);
    made["spec"]["template"]["spec"]["containers"][0]["image"] = json!("nginx:1.7.9");
    create_as(&world, "helm", made).await;
    let (cluster, mut once) = (world.cluster.clone(), true);
    world.meddler.before_writes(move |write| {
        if once && matches!(write.request, Request::JsonPatch(_)) {
            once = false;
            let note = json!({"metadata": {"annotations": {"note": "edited"}}});
            cluster.patch(&deployment(), &note).unwrap();
        }
        Verdict::Pass
    });
    world.create(nginx("web", 2));
    world.until_says(&web(), "Ready", "True Reconciled").await;
    world.quiet().await;
    let taken = world.get(&deployment());
    let mut owners = managers(&taken);
    owners.sort_unstable();
    assert_eq!(owners, ["kubectl", OURS]);
    assert_eq!((taken.label("tier"), taken.annotation("note")), (None, Some("edited")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn children_that_were_orphaned_are_taken_over_by_their_own_reconciler_if_it_says_so() {
    let world = with(&adopting(&[OURS])).await;
    world.create(nginx("web", 2));
    world.until_says(&web(), "Ready", "True Reconciled").await;
    let before = world.get(&deployment());
    world.cluster.delete(&web(), Propagation::Orphan).unwrap();
    world
        .until("the primary is gone", || world.find(&web()).is_none())
        .await;
    world.quiet().await;
    world.create(nginx("web", 3));
    world.until_says(&web(), "Ready", "True Reconciled").await;
    let taken = world.get(&deployment());
    assert_eq!(
        (taken.uid(), at(&taken, &["spec", "replicas"])),
        (before.uid(), Some(&json!(3)))
    );
    assert_eq!(taken.owner_references()[0].uid, world.get(&web()).uid());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_13_another_reconciler_takes_over_from_one_that_is_gone_and_makes_no_child_again() {
    let world = with(&json!({})).await;
    world.create(nginx("web", 2));
    world.create(nginx("shop", 1));
    world.until_says(&web(), "Ready", "True Reconciled").await;
    world.quiet().await;
    let before = world.get(&deployment());
    world.account("second", "second");
    let source = json!({"source": {"configMap": {"name": "nginx"}}});
    world.create(crate::things::reconciler("second", &source));
    world
        .until("the second one is held", || {
            condition(&world.reconciler("second"), "Ready")["reason"] == "PrimaryClaimed"
        })
        .await;
    let mark = world.cluster.mark();
    let first = in_system(reconcilers(), "nginx");
    world.cluster.delete(&first, Propagation::Background).unwrap();
    let label = |name: &str| {
        let deployment = world.find(&in_team(deployments(), name))?;
        deployment.label("windlass.dev/reconciler").map(str::to_owned)
    };
    for name in ["web-deploy", "shop-deploy"] {
        world
            .until(&format!("{name} is taken over"), || {
                label(name).as_deref() == Some("second")
            })
            .await;
    }
    world.quiet().await;
    assert_eq!(says(&world.get(&web()), "Ready"), "True Reconciled");
    let taken = world.get(&deployment());
    assert_eq!(taken.uid(), before.uid());
    assert_eq!(managers(&taken), ["windlass:windlass-system:second"]);
    let writes = world.cluster.writes_since(mark);
    let made_or_gone = writes
        .iter()
        .filter(|write| write.target.kind.of == deployments() && (write.before.is_none() || write.after.is_none()));
    assert_eq!(made_or_gone.count(), 0);
    world.patch(&web(), &json!({"spec": {"replicas": 5}}));
    world
        .until("an edit is followed", || {
            at(&world.get(&deployment()), &["spec", "replicas"]) == Some(&json!(5))
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f_13_what_a_reconciler_that_is_only_suspended_made_stays_its_own() {
    let world = with(&json!({})).await;
    world.create(nginx("web", 2));
    world.until_says(&web(), "Ready", "True Reconciled").await;
    world.account("second", "second");
    let source = json!({"source": {"configMap": {"name": "nginx"}}});
    world.create(crate::things::reconciler("second", &source));
    let first = in_system(reconcilers(), "nginx");
    world.patch(&first, &json!({"spec": {"suspend": true}}));
    world
        .until("it is suspended", || {
            !says(&world.reconciler("nginx"), "Ready").starts_with("True")
        })
        .await;
    world.touch(&web(), "again");
    world.quiet().await;
    crate::world::window(500).await;
    world.quiet().await;
    let left = world.get(&deployment());
    assert_eq!(left.label("windlass.dev/reconciler"), Some("nginx"));
    assert_eq!(managers(&left), [OURS]);
}
