//! Reports each `MyCustomResource` as healthy exactly while a Pod named like its friend exists, anywhere.

use serde::{Deserialize, Serialize};
use windlass_sdk::{Context, Kind, Manifest, NoSettings, Object, Outcome, Projection, Query, Read, Reconciler, Stop};

const CUSTOM_RESOURCES: Kind = Kind::namespaced(
    "mycustomresources.poc.test.domain",
    "v1",
    "MyCustomResource",
    "mycustomresources",
);
const PODS: Kind = Kind::namespaced("", "v1", "Pod", "pods");

/// The guest.
pub struct Friend;

/// The spec of a `MyCustomResource`.
#[derive(Debug, Deserialize)]
pub struct Spec {
    /// The friend it looks for.
    name: String,
}

/// The status: one field, left out when it is not true.
#[derive(Debug, Serialize)]
struct Status {
    #[serde(rename = "Healthy", skip_serializing_if = "std::ops::Not::not")]
    healthy: bool,
}

impl Reconciler for Friend {
    type Primary = Object<Spec>;
    type Settings = NoSettings;

    fn describe(_: &NoSettings) -> Result<Manifest, String> {
        Ok(Manifest::new("friend", env!("CARGO_PKG_VERSION"), CUSTOM_RESOURCES)
            .read(Read::new(PODS, Projection::Metadata).all_namespaces())
            .writes_status())
    }

    fn reconcile(context: &Context<NoSettings>, resource: &Object<Spec>) -> Result<Outcome, Stop> {
        let friend = &resource.spec.name;
        if friend.is_empty() {
            return Err(Stop::invalid("spec.name: must not be empty"));
        }
        let healthy = context.ask(Query::name(&PODS, friend).limit(1))?.exists()?;
        // It never has children, so saying so is a fact and not a guess.
        Ok(Outcome::none_wanted().status(&Status { healthy }))
    }
}

windlass_sdk::export!(Friend);
