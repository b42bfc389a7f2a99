//! Shows that a module gets no more rights than were approved, and says which are new.

use super::{active, until_condition};
use crate::things::{hostile, hostiles, in_system, in_team, reconcilers};
use crate::world::World;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_that_need_more_rights_are_held_until_those_are_approved() {
    let mut world = World::new();
    world.serve_all();
    let spec = json!({"settings": {}});
    world.install_by_hand("hostile", "hostile", &spec).await;
    let what = in_system(reconcilers(), "hostile");
    let approved = world
        .reconciler("hostile")
        .text_at(&["spec", "approvedRights"])
        .map(String::from);
    assert_eq!(
        approved.as_deref(),
        world.status("hostile")["active"]["rightsHash"].as_str(),
        "the rights of the first module are approved"
    );
    world.patch(&what, &json!({"spec": {"settings": {"describe": "more-rights"}}}));
    let message = until_condition(&world, "hostile", "Permitted", "False RightsGrow").await;
    assert!(message.contains("secrets in its namespaces"), "{message}");
    assert!(!message.contains("configmaps"), "only what is new is listed: {message}");
    world.create(hostile("one", "good"));
    world
        .until_says(&in_team(hostiles(), "one"), "Ready", "True Reconciled")
        .await;

    world.restart().await;
    let message = until_condition(&world, "hostile", "Permitted", "False RightsGrow").await;
    assert!(!message.contains("configmaps"), "after a restart too: {message}");
    let wanted = world.status("hostile")["refused"]["rightsHash"].clone();
    world.patch(&what, &json!({"spec": {"approvedRights": wanted}}));
    world.until_ready("hostile").await;
    assert_eq!(world.status("hostile")["active"]["rightsHash"], wanted);

    world.patch(&what, &json!({"spec": {"settings": {"describe": null}}}));
    world
        .until("fewer rights need no approval", || {
            world.status("hostile")["active"]["rightsHash"].as_str() == approved.as_deref()
        })
        .await;
    world.until_ready("hostile").await;
    assert!(!active(&world, "hostile").is_null());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_that_a_module_refuses_leave_it_running_with_those_before_also_after_a_restart() {
    let mut world = World::new();
    world.serve_all();
    let spec = json!({"settings": {"finalizes": false, "behaviour": "good"}});
    world.install_by_hand("hostile", "hostile", &spec).await;
    let what = in_system(reconcilers(), "hostile");
    world.patch(&what, &json!({"spec": {"settings": {"describe": "error"}}}));
    until_condition(&world, "hostile", "Loaded", "False GuestLoadFailed").await;
    world.restart().await;
    world.create(hostile("one", ""));
    world
        .until_says(&in_team(hostiles(), "one"), "Ready", "True Reconciled")
        .await;
    let message = until_condition(&world, "hostile", "Loaded", "False GuestLoadFailed").await;
    assert!(message.contains("refused on purpose"), "{message}");
    assert_eq!(world.status("hostile")["active"]["settings"], spec["settings"]);
}
