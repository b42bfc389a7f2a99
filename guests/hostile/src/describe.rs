//! Describes the guest, or fails to, as `settings.describe` says.

use windlass_sdk::{Manifest, Projection, Read};

use crate::behaviour::{count_to, exhaust_memory, spin, trap};
use crate::objects::{
    CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CONFIG_MAPS, HOSTILES, MUCH, ROLE_BINDINGS, SECRETS, WIDGETS,
};
use crate::{Settings, told};

/// `""` honestly; `slow` the same after a while; `trap`, `spin`, `memory`; `error` refuses the settings with a sentence; `more-rights` also
/// wants Secrets as children; `not-served` reads a kind that no cluster serves; `optional` the same, but
/// works without; `much` has kinds as children with which it could give itself rights; `no-status` writes no status;
/// `secrets` reads Secrets whole and has them as children, `passwords` reads of them `.data.password`; `seed` wants a seed
/// and has Secrets as children; `roles` also wants RoleBindings, ClusterRoles and ClusterRoleBindings as children;
/// `told` is about what `settings.manifest` says.
pub(crate) fn run(settings: &Settings) -> Result<Manifest, String> {
    let manifest = honest(settings);
    match settings.describe.as_str() {
        "" => Ok(manifest.writes_status()),
        "slow" => {
            count_to(200_000_000);
            Ok(manifest.writes_status())
        }
        "trap" => trap(),
        "spin" => spin(),
        "memory" => exhaust_memory(),
        "error" => Err("settings: describe: these settings are refused on purpose".to_owned()),
        "more-rights" => Ok(manifest.writes_status().child(SECRETS, Projection::Metadata)),
        "not-served" => Ok(manifest.writes_status().read(Read::new(WIDGETS, Projection::Metadata))),
        "optional" => Ok(manifest
            .writes_status()
            .read(Read::new(WIDGETS, Projection::Metadata).optional())),
        "much" => Ok(MUCH.into_iter().fold(manifest.writes_status(), |manifest, kind| {
            manifest.child(kind, Projection::Metadata)
        })),
        "no-status" => Ok(manifest),
        "secrets" => Ok(manifest
            .writes_status()
            .child(SECRETS, Projection::Full)
            .read(Read::new(SECRETS, Projection::Full))),
        "seed" => Ok(manifest.writes_status().needs_seed().child(SECRETS, Projection::Full)),
        "passwords" => {
            let password = Projection::Fields(vec![".data.password".to_owned()]);
            Ok(manifest.writes_status().read(Read::new(SECRETS, password)))
        }
        "roles" => Ok(manifest
            .writes_status()
            .child(ROLE_BINDINGS, Projection::Metadata)
            .child(CLUSTER_ROLES, Projection::Metadata)
            .child(CLUSTER_ROLE_BINDINGS, Projection::Metadata)),
        "told" => Ok(told::manifest(&settings.manifest, HOSTILES)),
        unknown => Err(format!("settings: describe: there is no {unknown:?}")),
    }
}

fn honest(settings: &Settings) -> Manifest {
    let manifest = Manifest::new("hostile", env!("CARGO_PKG_VERSION"), HOSTILES)
        .child(CONFIG_MAPS, Projection::Metadata)
        .read(Read::new(CONFIG_MAPS, Projection::Metadata))
        .needs_clock();
    if settings.finalizes {
        manifest.finalizes()
    } else {
        manifest
    }
}
