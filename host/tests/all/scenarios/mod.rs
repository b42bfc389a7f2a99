//! Plays one table of scenarios on both clusters: what comes out must be equal, and what the committed file says.
//!
//! Each scenario has a namespace of its own on one cluster in memory and on one control plane. It acts as people do, waits
//! for states, and puts down what it sees; `tests/golden/scenarios` holds that (`BLESS=1` writes what comes out of the
//! cluster in memory, and the real one still has to agree).

pub(crate) mod stage;
pub(crate) mod memory;
pub(crate) mod real;
mod observe;
pub(crate) mod play;
mod nginx;
mod drift;
mod names;
mod friend;
mod hostile;
mod refused;

use self::memory::Memory;
use self::play::Play;
use self::real::Real;
use crate::cases::ownership::{conditions, lists, marks, neighbours, strangers};
use crate::cases::settle::{endings, shared, sizes, spelling};
use crate::golden;
use anyhow::Result;
use serde_json::{Value, json};
use std::sync::LazyLock;
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

/// The CRDs of the guests' kinds.
pub(crate) const CRDS: [&str; 4] = [
    "deploy/samples/nginx/crd.yaml",
    "deploy/samples/friend/crd.yaml",
    "guests/hostile/crd.yaml",
    "host/tests/kinds/told.yaml",
];

/// The Reconcilers: name, guest, settings. The last two want what their primaries tell them.
fn guests() -> [(&'static str, &'static str, Value); 5] {
    let told = |kind: &str, plural: &str| {
        let child = |group: &str, kind: &str, plural: &str| json!({"group": group, "version": "v1", "kind": kind, "plural": plural, "metadata": true});
        let children = [
            child("apps", "Deployment", "deployments"),
            child("", "ConfigMap", "configmaps"),
            child("", "Service", "services"),
        ];
        let primary = json!({"group": "told.windlass.test", "version": "v1", "kind": kind, "plural": plural});
        json!({"describe": "told", "manifest": {"primary": primary, "children": children}})
    };
    [
        ("nginx", "nginx", json!({})),
        ("friend", "friend", json!({})),
        ("hostile", "hostile", json!({"finalizes": true})),
        ("told", "hostile", told("Told", "tolds")),
        ("tale", "hostile", told("Tale", "tales")),
    ]
}

/// One for all tests: what the hosts and clients started must not end with the first test.
pub(crate) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// The stage in memory.
pub(crate) async fn memory() -> &'static Memory {
    static MEMORY: OnceCell<Memory> = OnceCell::const_new();
    MEMORY.get_or_init(Memory::new).await
}

/// The real stage. Where it cannot be set up, that is tried once.
pub(crate) async fn real() -> &'static Real {
    static REAL: OnceCell<Result<Real>> = OnceCell::const_new();
    let real = REAL.get_or_init(Real::new).await;
    real.as_ref()
        .unwrap_or_else(|error| panic!("the real stage cannot be set up: {error:#}"))
}

macro_rules! scenarios {
    ($($module:ident::$name:ident,)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name), async |play| $module::$name(play).await);
        })*
    };
}

scenarios! {
    nginx::an_nginx_gets_its_deployment,
    nginx::without_replicas_there_is_one,
    nginx::changed_replicas_are_followed,
    nginx::a_deleted_nginx_takes_its_deployment_along,
    nginx::bad_replicas_are_refused_and_where_they_are_stored_reported,
    drift::a_scaled_deployment_is_put_right,
    drift::an_edited_image_is_put_right,
    drift::a_stripped_label_is_put_back,
    drift::a_stripped_mark_of_the_host_is_put_back,
    drift::a_deleted_deployment_comes_back,
    drift::a_stranger_in_the_way_is_left_alone_and_named,
    drift::a_fight_over_replicas_is_slowed_down_and_names_who_fights,
    refused::a_08_a_status_field_that_the_schema_lacks_is_named,
    names::j_01_long_names_get_their_deployments,
    names::j_02_names_that_begin_alike_do_not_collide,
    names::equal_names_in_two_namespaces_do_not_collide,
    friend::a_friend_is_healthy_while_its_pod_exists,
    hostile::a_forbidden_child_is_refused_with_all_the_rest,
    hostile::a_primary_is_held_until_its_guest_lets_it_go,
    refused::i_01_ready_never_belongs_to_an_older_generation,
    spelling::a_01_a_quantity_is_written_once_however_the_server_spells_it,
    spelling::a_02_what_the_server_fills_in_is_no_difference,
    spelling::a_09_what_only_the_server_sets_is_no_wish,
    spelling::a_09_zeros_of_typed_builders_settle,
    shared::a_06_replicas_that_the_guest_leaves_out_are_left_to_who_scales,
    sizes::j_03_a_config_map_as_large_as_can_be_is_written_and_changed,
    endings::k_05_an_object_of_another_shape_is_reported_with_path_and_type_and_nothing_is_written,
    endings::n_01_an_empty_answer_prunes_nothing_and_a_deliberate_one_does,
    endings::n_02_a_failing_guest_changes_and_deletes_no_child,
    strangers::b_01_an_object_of_somebody_else_stays_as_it_is_and_is_named,
    strangers::b_02_an_object_of_somebody_else_outlives_the_primary,
    strangers::b_06_a_stranger_that_goes_makes_way_without_any_edit,
    strangers::g_06_a_child_in_conflict_stops_no_other_child,
    neighbours::b_03_two_kinds_that_want_one_object_do_not_fight_over_it,
    neighbours::b_04_a_child_that_moved_to_another_primary_is_not_pruned,
    marks::b_12_one_lost_mark_is_put_back_and_an_object_without_any_is_a_strangers,
    lists::b_08_an_entry_twice_is_refused_with_its_key_and_two_protocols_are_fine,
    conditions::b_10_the_condition_of_another_controller_outlives_every_status_of_ours,
}

/// Plays a scenario on both clusters, one after the other.
fn check(name: &str, scenario: impl AsyncFn(&Play) -> Result<()>) {
    let file = format!("tests/golden/scenarios/{name}.json");
    let known: Option<Value> =
        (!golden::blesses()).then(|| serde_json::from_str(&golden::text(&file)).unwrap_or_default());
    RUNTIME.block_on(async {
        let in_memory = played(Play::new(memory().await, name, known.clone()), &scenario).await;
        golden::assert(&file, &shown(&in_memory));
        let on_real = played(Play::new(real().await, name, Some(in_memory.clone())), &scenario).await;
        let identities = real().await.cluster.check_identities();
        identities.unwrap_or_else(|error| panic!("{error:#}"));
        let difference = golden::difference(&shown(&in_memory), &shown(&on_real));
        assert!(
            difference.is_empty(),
            "the real cluster differs from the one in memory:\n{difference}"
        );
    });
}

async fn played(play: Play, scenario: impl AsyncFn(&Play) -> Result<()>) -> Value {
    let result = scenario(&play).await;
    result.unwrap_or_else(|error| panic!("on {}: {error:#}", play.stage.name()));
    play.seen()
}

fn shown(seen: &Value) -> String {
    let mut text = serde_json::to_string_pretty(seen).unwrap();
    text.push('\n');
    text
}
