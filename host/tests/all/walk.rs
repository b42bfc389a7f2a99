//! Plays the walk of `make demo` and fails where anything is not as it must be.

use windlass_testing::ControlPlane;
use windlass_testing::walk::{Modules, Walk};

/// The files of the modules.
fn modules() -> Modules {
    Modules {
        nginx: windlass_artifacts::NGINX.into(),
        nginx_next: windlass_artifacts::NGINX_NEXT.into(),
        friend: windlass_artifacts::FRIEND.into(),
        hostile: windlass_artifacts::HOSTILE.into(),
    }
}

/// On a control plane of its own: it kills the host, and looks at all that is in the cluster.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_whole_product_walks_from_bytes_in_a_config_map_to_running_pods() {
    let cluster = ControlPlane::start().await.unwrap();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_windlass"));
    let mut walk = Walk::begin(&cluster, program, modules(), |line| println!("{line}"))
        .await
        .unwrap();
    walk.play().await.unwrap_or_else(|error| panic!("{error:#}"));
    walk.end().unwrap();
}
