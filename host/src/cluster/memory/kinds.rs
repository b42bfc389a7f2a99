//! Knows which kinds are served: the builtin ones, those of CRDs, and those that somebody declares.

use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use windlass_core::kind::{KindInfo, KindRef};
use windlass_core::object::Object;
use windlass_core::schema::{ConditionsSchema, Served, served_builtin, served_from_crd};
use windlass_core::shape::{Known, Shape};

/// Where what is known of a kind comes from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Source {
    /// Built into the API server.
    Builtin,
    /// A CRD, with the schema of this version.
    Crd(Value),
    /// Somebody's word.
    Declared,
}

/// One kind in one version.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Kind {
    /// How it is served.
    pub(super) served: Served,
    /// Whether its objects count generations.
    pub(super) generation: bool,
    /// Where this comes from.
    pub(super) source: Source,
}

impl Kind {
    /// The shape of its objects.
    pub(super) fn shape(&self) -> Shape<'_> {
        Shape::of(match &self.source {
            Source::Builtin => Known::Builtin(&self.served.kind.of.kind),
            Source::Crd(schema) => Known::Schema(schema),
            Source::Declared => Known::Nothing,
        })
    }

    /// The schema of its CRD.
    pub(super) fn schema(&self) -> Option<&Value> {
        match &self.source {
            Source::Crd(schema) => Some(schema),
            _ => None,
        }
    }

    /// Its name in messages, such as `deployments.apps`.
    pub(super) fn resource(&self) -> String {
        let kind = &self.served.kind;
        qualified(&kind.plural, &kind.of.group)
    }

    /// Its name in messages about invalid objects, such as `Deployment.apps`.
    pub(super) fn qualified(&self) -> String {
        qualified(&self.served.kind.of.kind, &self.served.kind.of.group)
    }
}

fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() {
        name.into()
    } else {
        format!("{name}.{group}")
    }
}

/// All kinds that are served.
#[derive(Debug)]
pub(super) struct Kinds(HashMap<KindRef, Arc<Kind>>);

impl Kinds {
    /// The builtin kinds.
    pub(super) fn builtin() -> Self {
        let mut kinds = HashMap::new();
        for (group_version, rows) in BUILTIN {
            for (kind, plural, flags) in *rows {
                let of = KindRef::from_api_version(group_version, kind);
                let info = KindInfo {
                    of: of.clone(),
                    plural: (*plural).into(),
                    namespaced: flags.contains('n'),
                };
                let served = served_builtin(info, flags.contains('s'));
                let generation = flags.contains('g');
                kinds.insert(
                    of,
                    Arc::new(Kind {
                        served,
                        generation,
                        source: Source::Builtin,
                    }),
                );
            }
        }
        Self(kinds)
    }

    /// The kind, if it is served.
    pub(super) fn find(&self, of: &KindRef) -> Option<Arc<Kind>> {
        self.0.get(of).cloned()
    }

    /// Serves a kind that is known by somebody's word only.
    pub(super) fn declare(&mut self, kind: KindInfo) {
        let of = kind.of.clone();
        let served = Served {
            kind,
            status_subresource: true,
            conditions: ConditionsSchema::Keyed,
            observed_generation: true,
        };
        self.0.entry(of).or_insert_with(|| {
            Arc::new(Kind {
                served,
                generation: true,
                source: Source::Declared,
            })
        });
    }

    /// Serves what a CRD says, instead of what it said before.
    pub(super) fn establish(&mut self, crd: &Object) {
        self.forget(crd);
        for version in crd
            .at(&["spec", "versions"])
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let name = version.get("name").and_then(Value::as_str).unwrap_or_default();
            let Some(served) = served_from_crd(crd, name) else {
                continue;
            };
            let schema = version.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
            let schema = schema.cloned().unwrap_or_else(|| Value::Object(Default::default()));
            let of = served.kind.of.clone();
            self.0.insert(
                of,
                Arc::new(Kind {
                    served,
                    generation: true,
                    source: Source::Crd(schema),
                }),
            );
        }
    }

    /// Serves what a CRD says no more.
    pub(super) fn forget(&mut self, crd: &Object) {
        let (group, kind) = crd_names(crd);
        self.0.retain(|of, _| of.group != group || of.kind != kind);
    }
}

/// Group and kind of the objects that a CRD describes.
pub(super) fn crd_names(crd: &Object) -> (String, String) {
    let text = |path: &[&str]| crd.text_at(path).unwrap_or_default().to_owned();
    (text(&["spec", "group"]), text(&["spec", "names", "kind"]))
}

/// Whether an object is a CRD.
pub(super) fn is_crd(of: &KindRef) -> bool {
    of.group == "apiextensions.k8s.io" && of.kind == "CustomResourceDefinition"
}

/// Whether an object is a Namespace.
pub(super) fn is_namespace(of: &KindRef) -> bool {
    of.group.is_empty() && of.kind == "Namespace"
}

type Rows = &'static [(&'static str, &'static str, &'static str)];

/// Kind, plural, and flags: `n` namespaced, `s` status subresource, `g` generation.
const BUILTIN: &[(&str, Rows)] = &[
    (
        "v1",
        &[
            ("Pod", "pods", "nsg"),
            ("Service", "services", "ns"),
            ("ConfigMap", "configmaps", "n"),
            ("Secret", "secrets", "n"),
            ("ServiceAccount", "serviceaccounts", "n"),
            ("Namespace", "namespaces", "s"),
            ("Node", "nodes", "s"),
            ("Event", "events", "n"),
            ("Endpoints", "endpoints", "n"),
            ("PersistentVolumeClaim", "persistentvolumeclaims", "ns"),
            ("PersistentVolume", "persistentvolumes", "s"),
            ("LimitRange", "limitranges", "n"),
            ("ResourceQuota", "resourcequotas", "ns"),
            ("PodTemplate", "podtemplates", "ng"),
            ("ReplicationController", "replicationcontrollers", "nsg"),
        ],
    ),
    (
        "apps/v1",
        &[
            ("Deployment", "deployments", "nsg"),
            ("StatefulSet", "statefulsets", "nsg"),
            ("DaemonSet", "daemonsets", "nsg"),
            ("ReplicaSet", "replicasets", "nsg"),
            ("ControllerRevision", "controllerrevisions", "n"),
        ],
    ),
    ("batch/v1", &[("Job", "jobs", "nsg"), ("CronJob", "cronjobs", "nsg")]),
    (
        "networking.k8s.io/v1",
        &[
            ("Ingress", "ingresses", "nsg"),
            ("NetworkPolicy", "networkpolicies", "ng"),
            ("IngressClass", "ingressclasses", "g"),
        ],
    ),
    (
        "rbac.authorization.k8s.io/v1",
        &[
            ("Role", "roles", "n"),
            ("RoleBinding", "rolebindings", "n"),
            ("ClusterRole", "clusterroles", ""),
            ("ClusterRoleBinding", "clusterrolebindings", ""),
        ],
    ),
    ("policy/v1", &[("PodDisruptionBudget", "poddisruptionbudgets", "nsg")]),
    (
        "autoscaling/v2",
        &[("HorizontalPodAutoscaler", "horizontalpodautoscalers", "ns")],
    ),
    ("events.k8s.io/v1", &[("Event", "events", "n")]),
    ("coordination.k8s.io/v1", &[("Lease", "leases", "n")]),
    ("discovery.k8s.io/v1", &[("EndpointSlice", "endpointslices", "ng")]),
    ("scheduling.k8s.io/v1", &[("PriorityClass", "priorityclasses", "g")]),
    ("storage.k8s.io/v1", &[("StorageClass", "storageclasses", "")]),
    (
        "apiextensions.k8s.io/v1",
        &[("CustomResourceDefinition", "customresourcedefinitions", "sg")],
    ),
    (
        "admissionregistration.k8s.io/v1",
        &[
            ("ValidatingAdmissionPolicy", "validatingadmissionpolicies", "sg"),
            (
                "ValidatingAdmissionPolicyBinding",
                "validatingadmissionpolicybindings",
                "g",
            ),
            ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "g"),
            ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "g"),
        ],
    ),
];
