//! Writes the Deployment of one `Nginx`.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{Container, ContainerPort, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use windlass_sdk::{Metadata, names};

/// `replicas` pods of one container `image`, named and labelled after the `Nginx` with this metadata.
pub(crate) fn of(nginx: &Metadata, replicas: i32, image: &str) -> Deployment {
    let labels = labels(&nginx.name);
    Deployment {
        metadata: ObjectMeta {
            name: Some(names::object_name(&nginx.name, "-deploy", names::DEPLOYMENT)),
            namespace: Some(nginx.namespace.clone()),
            labels: Some(labels.clone()),
            ..ObjectMeta::default()
        },
        spec: DeploymentSpec {
            replicas: Some(replicas),
            selector: LabelSelector {
                match_labels: Some(labels.clone()),
                ..LabelSelector::default()
            },
            template: pod_template(labels, image),
            ..DeploymentSpec::default()
        },
        ..Deployment::default()
    }
}

fn labels(name: &str) -> BTreeMap<String, String> {
    BTreeMap::from([
        ("app".to_owned(), "underneathall".to_owned()),
        (
            "underneathall-app".to_owned(),
            names::label_value(&format!("nginx-{name}")),
        ),
    ])
}

fn pod_template(labels: BTreeMap<String, String>, image: &str) -> PodTemplateSpec {
    PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(labels),
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec {
            containers: vec![Container {
                name: "nginx".to_owned(),
                image: Some(image.to_owned()),
                ports: Some(vec![ContainerPort {
                    container_port: 80,
                    ..ContainerPort::default()
                }]),
                ..Container::default()
            }],
            ..PodSpec::default()
        }),
    }
}
