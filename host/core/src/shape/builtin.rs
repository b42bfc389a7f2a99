//! Holds how lists and maps of the builtin kinds are merged, by the names of their fields.
//!
//! A test compares it with what the API server publishes of its kinds (`host/tests/all/shapes.rs`).

use super::ListShape;

/// The groups that are built into the API server. A CRD can have a kind of the same name in another group, and groups that end
/// in `.k8s.io` besides.
pub(super) const GROUPS: &[&str] = &[
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// How entries of the list in a field are told apart.
pub(super) fn list(kind: &str, field: &str) -> ListShape<'static> {
    let keys: &[&str] = match (kind, field) {
        ("Service", "ports") => &["port", "protocol"],
        ("NetworkPolicy" | "Endpoints" | "EndpointSlice", "ports")
        | ("Job" | "CronJob", "conditions")
        | ("ServiceAccount", "imagePullSecrets")
        | ("MutatingAdmissionPolicy", "variables") => &[],
        ("Namespace", "finalizers") => return ListShape::Atomic,
        (
            _,
            "finalizers"
            | "bindMountOptions"
            | "skipNodeOperations"
            | "validationActions"
            | "volumeLifecycleModes"
            | "disableResizePreemption"
            | "podCIDRs",
        ) => return ListShape::Set,
        (_, "ports") => &["containerPort", "protocol"],
        (_, "conditions") | ("Node", "addresses") => &["type"],
        (_, "containers" | "initContainers" | "ephemeralContainers" | "volumes" | "env" | "imagePullSecrets")
        | (_, "resourceClaims" | "schedulingGates" | "claims" | "evictionResponders" | "variables" | "drivers")
        | (_, "matchConditions" | "webhooks")
        | ("ServiceAccount", "secrets") => &["name"],
        (_, "volumeMounts") => &["mountPath"],
        (_, "volumeDevices") => &["devicePath"],
        (_, "hostAliases" | "podIPs" | "hostIPs") => &["ip"],
        (_, "topologySpreadConstraints") => &["topologyKey", "whenUnsatisfiable"],
        (_, "ownerReferences") => &["uid"],
        _ => &[],
    };
    if keys.is_empty() {
        ListShape::Atomic
    } else {
        ListShape::Keyed(keys.to_vec())
    }
}

/// Whether anybody chooses the keys of the map in a field.
pub(super) fn is_open(kind: &str, field: &str) -> bool {
    match (kind, field) {
        ("LimitRange", "limits") | ("RuntimeClass", "overhead") | ("IngressClass", "parameters") => false,
        ("ResourceClaim" | "ResourceClaimTemplate", "requests") => false,
        (_, field) => OPEN.contains(&field),
    }
}

/// Whether one manager owns the map in a field as a whole.
pub(super) fn is_atomic(kind: &str, field: &str) -> bool {
    match (kind, field) {
        ("StorageVersionMigration", "resource") => false,
        ("LocalSubjectAccessReview" | "SelfSubjectAccessReview" | "SubjectAccessReview", "labelSelector") => false,
        (_, field) => ATOMIC.contains(&field),
    }
}

/// Whether one manager owns each entry of the keyed list in a field as a whole.
pub(super) fn has_atomic_entries(field: &str) -> bool {
    [
        "evictionResponders",
        "imagePullSecrets",
        "ownerReferences",
        "secrets",
        "variables",
    ]
    .contains(&field)
}

const OPEN: &[&str] = &[
    "all",
    "allocatable",
    "annotations",
    "attestations",
    "basic",
    "binaryData",
    "capacity",
    "data",
    "extra",
    "hard",
    "labels",
    "limits",
    "options",
    "overhead",
    "parameters",
    "podFixed",
    "requests",
    "single",
    "stringData",
    "unverifiedUserAnnotations",
    "used",
    "volumeAttributes",
];

const ATOMIC: &[&str] = &[
    "configMapKeyRef",
    "controllerExpandSecretRef",
    "controllerPublishSecretRef",
    "dataSource",
    "fieldRef",
    "fileKeyRef",
    "involvedObject",
    "labelSelector",
    "matchConstraints",
    "matchResources",
    "namespaceSelector",
    "nodeExpandSecretRef",
    "nodePublishSecretRef",
    "nodeSelector",
    "nodeStageSecretRef",
    "nodeTopology",
    "objectSelector",
    "paramKind",
    "paramRef",
    "podSelector",
    "port",
    "preference",
    "regarding",
    "related",
    "required",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "resource",
    "resourceFieldRef",
    "roleRef",
    "scopeSelector",
    "secretKeyRef",
    "secretRef",
    "selector",
    "target",
    "targetRef",
];
