//! Gives each `Nginx` a Deployment of as many nginx pods as it asks for.

mod deployment;

use serde::Deserialize;
use windlass_sdk::{Child, Context, Kind, Manifest, Object, Outcome, Projection, Reconciler, Stop};

const NGINXES: Kind = Kind::namespaced("stable.underneathall.com", "v1", "Nginx", "nginx");
const DEPLOYMENTS: Kind = Kind::namespaced("apps", "v1", "Deployment", "deployments");

#[cfg(not(feature = "next"))]
const VERSION: &str = env!("CARGO_PKG_VERSION");
#[cfg(feature = "next")]
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+next");

#[cfg(not(feature = "next"))]
const IMAGE: &str = "nginx:1.7.9";
#[cfg(feature = "next")]
const IMAGE: &str = "nginx:1.9.1";

/// The guest.
pub struct Nginx;

/// What a `Reconciler` may set.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    image: String,
    replicas: i32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            image: IMAGE.to_owned(),
            replicas: 1,
        }
    }
}

/// The spec of an `Nginx`.
#[derive(Debug, Deserialize)]
pub struct Spec {
    replicas: Option<i32>,
}

impl Reconciler for Nginx {
    type Primary = Object<Spec>;
    type Settings = Settings;

    fn describe(settings: &Settings) -> Result<Manifest, String> {
        if settings.image.is_empty() {
            return Err("settings: image: must not be empty".to_owned());
        }
        if settings.replicas < 0 {
            return Err(format!(
                "settings: replicas: must not be negative, is {}",
                settings.replicas
            ));
        }
        Ok(Manifest::new("nginx", VERSION, NGINXES)
            .child(DEPLOYMENTS, Projection::Metadata)
            .writes_status())
    }

    fn reconcile(context: &Context<Settings>, nginx: &Object<Spec>) -> Result<Outcome, Stop> {
        let replicas = nginx.spec.replicas.unwrap_or(context.settings.replicas);
        // The schema says so too, but an object may be older than the schema.
        if replicas < 0 {
            return Err(Stop::invalid(format!(
                "spec.replicas: must not be negative, is {replicas}"
            )));
        }
        let deployment = deployment::of(&nginx.metadata, replicas, &context.settings.image);
        Ok(Outcome::exactly([Child::new(&deployment)]))
    }
}

windlass_sdk::export!(Nginx);
