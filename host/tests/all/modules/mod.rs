//! Shows how modules get in, are kept, held back and left, on the cluster in memory with real guests.

use crate::world::World;
use serde_json::Value;

mod sources;
mod kept;
mod rights;
mod claims;
mod leaving;
mod settings;
mod real;
mod namespaces;

/// Waits until a Reconciler says this in a condition, such as `False Incomplete`; gives the message.
async fn until_condition(world: &World, name: &str, type_: &str, wanted: &str) -> String {
    world
        .until(&format!("{name} has {type_} {wanted}"), || {
            crate::things::says(&world.reconciler(name), type_) == wanted
        })
        .await;
    world.message(name, type_)
}

/// Waits until this module runs.
async fn until_active(world: &World, name: &str, digest: &str) {
    world
        .until(&format!("{name} runs {}", &digest[..12]), || {
            active(world, name) == digest
        })
        .await;
}

fn active(world: &World, name: &str) -> Value {
    world.status(name)["active"]["digest"].clone()
}
