//! Finds out which objects a person means by `pods -A` or `nginx -n team-a`.

use crate::cluster::kube::{ConnectError, KubeCluster, Resource};
use crate::cluster::{ReadError, WatchKey};
use clap::{Args, ValueEnum};
use windlass_core::kind::KindRef;
use windlass_core::manifest::Projection;

/// How alike two names are, from 0 to 1, before one is suggested for the other.
const ALIKE: f64 = 0.75;

/// Which objects, and in which form.
#[derive(Clone, Debug, Args)]
pub struct Selection {
    /// Any kind the cluster serves, by kind, plural, singular or short name: `nginx`, `pods`, `deploy`, `deployments.apps`
    pub kind: String,
    /// Namespace to look into; without it the one of the kubeconfig
    #[arg(short, long, conflicts_with = "all_namespaces")]
    pub namespace: Option<String>,
    /// Look into all namespaces
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
    /// Only objects with these labels, in kubectl's syntax: `app=web,tier!=test`
    #[arg(short = 'l', long, default_value = "", hide_default_value = true)]
    pub selector: String,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Output,
}

/// Form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A table for people.
    #[default]
    Table,
    /// JSON for programs.
    Json,
}

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum ObjectsError {
    /// No cluster.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Nothing of that name is served.
    #[error("the cluster serves no kind called `{asked}`; {}", suggestion(near))]
    UnknownKind {
        /// What was asked for.
        asked: String,
        /// What may have been meant, most alike first.
        near: Vec<String>,
    },
    /// The kinds cannot be asked for.
    #[error(
        "the cluster at {server} does not say which kinds it serves; is it running, and does KUBECONFIG name the right one?"
    )]
    Kinds {
        /// The API server that was asked.
        server: String,
        /// Why not.
        #[source]
        source: ReadError,
    },
    /// The objects cannot be listed.
    #[error("{kind} cannot be listed")]
    List {
        /// What was to be listed.
        kind: KindRef,
        /// Why not.
        #[source]
        source: ReadError,
    },
    /// The objects cannot be watched.
    #[error("{kind} cannot be watched: {words}")]
    Watch {
        /// What was to be watched.
        kind: KindRef,
        /// The server's words.
        words: String,
    },
    /// The output cannot be written.
    #[error("the output cannot be written")]
    Output(#[from] std::io::Error),
}

impl Selection {
    /// The watch that brings these objects.
    ///
    /// # Errors
    /// Where the cluster does not answer, or serves no such kind.
    pub async fn key(&self, cluster: &KubeCluster, projection: Projection) -> Result<WatchKey, ObjectsError> {
        let kinds = |source| ObjectsError::Kinds {
            server: cluster.server().to_owned(),
            source,
        };
        let resources = cluster.resources().await.map_err(kinds)?;
        let kind = find(&resources, &self.kind)?.kind.clone();
        let namespace = match (kind.namespaced && !self.all_namespaces, &self.namespace) {
            (false, _) => None,
            (true, Some(namespace)) => Some(namespace.clone()),
            (true, None) => Some(cluster.default_namespace().to_owned()),
        };
        Ok(WatchKey {
            kind,
            namespace,
            selector: self.selector.clone(),
            projection,
        })
    }
}

/// The resource that is meant by `pods`, `Pod`, `po`, `deployments.apps` or `deployments.v1.apps`.
pub(super) fn find<'a>(resources: &'a [Resource], asked: &str) -> Result<&'a Resource, ObjectsError> {
    let asked_lower = asked.to_lowercase();
    let (name, group) = asked_lower.split_once('.').unwrap_or((&asked_lower, ""));
    let in_group = |resource: &&Resource| {
        let of = &resource.kind.of;
        group.is_empty() || group == of.group || group == format!("{}.{}", of.version, of.group)
    };
    // What somebody else calls by a short name must not hide what is really called so.
    let ways: [fn(&Resource, &str) -> bool; 3] = [
        |resource, name| resource.kind.plural == name || resource.singular == name,
        |resource, name| resource.kind.of.kind.to_lowercase() == name,
        |resource, name| resource.short_names.iter().any(|short| short == name),
    ];
    ways.iter()
        .find_map(|is_called| {
            resources
                .iter()
                .filter(in_group)
                .find(|resource| is_called(resource, name))
        })
        .ok_or_else(|| ObjectsError::UnknownKind {
            asked: asked.into(),
            near: near(resources, name),
        })
}

/// Plurals that look like the name, most alike first.
fn near(resources: &[Resource], name: &str) -> Vec<String> {
    let alike = |resource: &Resource| {
        [&resource.kind.plural, &resource.singular]
            .map(|other| strsim::jaro_winkler(name, other))
            .into_iter()
            .fold(0.0, f64::max)
    };
    let mut found: Vec<_> = resources
        .iter()
        .map(|resource| (alike(resource), &resource.kind.plural))
        .collect();
    found.retain(|(alike, _)| *alike >= ALIKE);
    found.sort_by(|(left, left_name), (right, right_name)| right.total_cmp(left).then(left_name.cmp(right_name)));
    found.dedup_by(|(_, left), (_, right)| left == right);
    found.into_iter().take(3).map(|(_, plural)| plural.clone()).collect()
}

fn suggestion(near: &[String]) -> String {
    match near {
        [] => "`kubectl api-resources` lists what it serves; a CustomResourceDefinition may have to be installed first"
            .into(),
        near => format!(
            "did you mean {}?",
            near.iter()
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(" or ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_core::kind::KindInfo;

    fn resource(group: &str, kind: &str, plural: &str, short: &str) -> Resource {
        let info = KindInfo::namespaced(group, "v1", kind, plural);
        Resource {
            kind: info,
            singular: kind.to_lowercase(),
            short_names: vec![short.into()],
        }
    }

    fn resources() -> Vec<Resource> {
        vec![
            resource("", "Pod", "pods", "po"),
            resource("", "Event", "events", "ev"),
            resource("apps", "Deployment", "deployments", "deploy"),
            resource("events.k8s.io", "Event", "events", "ev"),
            resource("stable.underneathall.com", "Nginx", "nginx", "ng"),
            resource("example.com", "Po", "pos", "pods"),
        ]
    }

    #[test]
    fn a_kind_should_be_found_by_all_of_its_names() {
        let table = [
            ("pods", "Pod."),
            ("pod", "Pod."),
            ("Pod", "Pod."),
            ("po", "Po.example.com"),
            ("pods.example.com", "Po.example.com"),
            ("deploy", "Deployment.apps"),
            ("deployments.apps", "Deployment.apps"),
            ("deployments.v1.apps", "Deployment.apps"),
            ("Nginx", "Nginx.stable.underneathall.com"),
            ("nginx.stable.underneathall.com", "Nginx.stable.underneathall.com"),
            ("events", "Event."),
            ("events.events.k8s.io", "Event.events.k8s.io"),
        ];
        for (asked, expected) in table {
            let resources = resources();
            let of = &find(&resources, asked).unwrap().kind.of;
            assert_eq!(format!("{}.{}", of.kind, of.group), expected, "{asked}");
        }
    }

    #[test]
    fn an_unknown_kind_should_be_refused_with_what_may_be_meant() {
        let error = find(&resources(), "ngnix").unwrap_err().to_string();
        assert_eq!(
            error,
            "the cluster serves no kind called `ngnix`; did you mean `nginx`?"
        );
        let error = find(&resources(), "zzz").unwrap_err().to_string();
        assert!(error.contains("may have to be installed first"), "{error}");
        assert!(find(&resources(), "deployments.batch").is_err());
    }
}
