//! Knows which lists are keyed and which maps are one value, from a CRD's schema or from a table for the builtin kinds.

use serde_json::Value;

/// What is known about the kind of an object.
#[derive(Clone, Copy, Debug)]
pub(super) enum Known<'a> {
    /// A builtin kind, known by the names of its fields.
    Builtin(&'a str),
    /// A schema in the form of a CRD.
    Schema(&'a Value),
    /// Nothing, of a kind that is known by name only: lists are one value, but for conditions.
    Nothing,
    /// That anything may be here, as where a schema preserves unknown fields.
    Anything,
    /// `metadata`, which is the same for all kinds.
    Metadata,
}

/// A place in an object, with what is known of the values there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape<'a> {
    known: Known<'a>,
    /// Name of the field that holds this place, empty at the top.
    field: &'a str,
    /// Whether this is an entry of the list in `field`.
    item: bool,
    top: bool,
}

/// How entries of a list are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ListShape<'a> {
    /// Not at all: the list is one value.
    Atomic,
    /// Each is its own name.
    Set,
    /// By these fields.
    Keyed(Vec<&'a str>),
}

/// How a map is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MapShape {
    /// As one value.
    Atomic,
    /// Field by field, the fields being those of a type.
    Struct,
    /// Entry by entry, any names.
    Open,
}

impl<'a> Shape<'a> {
    /// The shape of a whole object.
    pub(super) fn of(known: Known<'a>) -> Self {
        Self {
            known,
            field: "",
            item: false,
            top: true,
        }
    }

    /// The place below a map key.
    pub(super) fn field(self, name: &'a str) -> Self {
        let known = match self.known {
            _ if self.top && name == "metadata" => Known::Metadata,
            Known::Schema(schema) => below(schema.get("properties").and_then(|fields| fields.get(name)))
                .or_else(|| below(schema.get("additionalProperties")))
                .unwrap_or(Known::Anything),
            known => known,
        };
        Self {
            known,
            field: name,
            item: false,
            top: false,
        }
    }

    /// The place of an entry of this list.
    pub(super) fn item(self) -> Self {
        let known = match self.known {
            Known::Schema(schema) => below(schema.get("items")).unwrap_or(Known::Anything),
            known => known,
        };
        Self {
            known,
            item: true,
            ..self
        }
    }

    /// Whether a schema says nothing of this place.
    pub(super) fn is_unknown(self) -> bool {
        matches!(self.known, Known::Anything)
    }

    /// The type that the schema wants here.
    pub(super) fn wanted_type(self) -> Option<&'a str> {
        match self.known {
            Known::Schema(schema) if !self.top => schema.get("type").and_then(Value::as_str),
            Known::Builtin(_) if OPEN_MAPS.contains(&self.field) => Some("object"),
            _ => None,
        }
    }

    /// Whether the schema lets anything be below this place.
    pub(super) fn keeps_unknown(self) -> bool {
        let Known::Schema(schema) = self.known else { return true };
        schema
            .get("x-kubernetes-preserve-unknown-fields")
            .and_then(Value::as_bool)
            .unwrap_or(false)
    }

    /// How the map at this place is merged.
    pub(super) fn map(self) -> MapShape {
        match self.known {
            _ if self.top => MapShape::Struct,
            Known::Schema(schema) => {
                let is_struct = schema.get("properties").is_some();
                match schema.get("x-kubernetes-map-type").and_then(Value::as_str) {
                    Some("atomic") => MapShape::Atomic,
                    _ if is_struct => MapShape::Struct,
                    _ => MapShape::Open,
                }
            }
            Known::Nothing => MapShape::Struct,
            Known::Anything => MapShape::Open,
            Known::Builtin(_) | Known::Metadata if self.item => {
                if ATOMIC_ENTRIES.contains(&self.field) {
                    MapShape::Atomic
                } else {
                    MapShape::Struct
                }
            }
            Known::Builtin(_) | Known::Metadata if OPEN_MAPS.contains(&self.field) => MapShape::Open,
            Known::Builtin(_) if ATOMIC_MAPS.contains(&self.field) => MapShape::Atomic,
            Known::Builtin(_) | Known::Metadata => MapShape::Struct,
        }
    }

    /// How entries of the list at this place are told apart.
    pub(super) fn list(self) -> ListShape<'a> {
        match self.known {
            Known::Schema(schema) => match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
                Some("set") => ListShape::Set,
                Some("map") => ListShape::Keyed(texts(schema.get("x-kubernetes-list-map-keys")).collect()),
                _ => ListShape::Atomic,
            },
            Known::Metadata => match self.field {
                "finalizers" => ListShape::Set,
                "ownerReferences" => ListShape::Keyed(vec!["uid"]),
                _ => ListShape::Atomic,
            },
            Known::Nothing if self.field == "conditions" => ListShape::Keyed(vec!["type"]),
            Known::Nothing | Known::Anything => ListShape::Atomic,
            Known::Builtin(kind) => builtin_list(kind, self.field),
        }
    }

    /// What a key of an entry is when the entry does not say.
    pub(super) fn default_of_key(self, key: &str) -> Option<Value> {
        match self.known {
            Known::Schema(schema) => schema
                .get("items")?
                .get("properties")?
                .get(key)?
                .get("default")
                .cloned(),
            Known::Builtin(_) if key == "protocol" => Some("TCP".into()),
            _ => None,
        }
    }
}

fn below(schema: Option<&Value>) -> Option<Known<'_>> {
    schema.filter(|schema| schema.is_object()).map(Known::Schema)
}

fn texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    value
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

fn builtin_list(kind: &str, field: &str) -> ListShape<'static> {
    let keys: &[&str] = match (kind, field) {
        ("Service", "ports") => &["port", "protocol"],
        ("NetworkPolicy" | "Endpoints" | "EndpointSlice", "ports") | ("Job" | "CronJob", "conditions") => &[],
        ("ServiceAccount", "imagePullSecrets") => &[],
        (_, "ports") => &["containerPort", "protocol"],
        (_, "conditions") => &["type"],
        (_, "containers" | "initContainers" | "ephemeralContainers" | "volumes" | "env" | "imagePullSecrets")
        | (_, "resourceClaims" | "schedulingGates" | "claims")
        | ("ServiceAccount", "secrets") => &["name"],
        (_, "volumeMounts") => &["mountPath"],
        (_, "volumeDevices") => &["devicePath"],
        (_, "hostAliases" | "podIPs" | "hostIPs") => &["ip"],
        (_, "topologySpreadConstraints") => &["topologyKey", "whenUnsatisfiable"],
        ("Node", "addresses") => &["type"],
        _ => &[],
    };
    if keys.is_empty() {
        ListShape::Atomic
    } else {
        ListShape::Keyed(keys.to_vec())
    }
}

/// Maps of the builtin kinds whose keys anybody chooses.
const OPEN_MAPS: &[&str] = &[
    "labels",
    "annotations",
    "data",
    "binaryData",
    "stringData",
    "limits",
    "requests",
    "capacity",
    "allocatable",
    "parameters",
    "overhead",
    "hard",
    "used",
    "options",
];

/// Maps of the builtin kinds that one manager owns as a whole.
const ATOMIC_MAPS: &[&str] = &[
    "selector",
    "podSelector",
    "namespaceSelector",
    "labelSelector",
    "nodeSelector",
    "secretKeyRef",
    "configMapKeyRef",
    "fieldRef",
    "resourceFieldRef",
    "roleRef",
    "involvedObject",
    "regarding",
    "related",
    "targetRef",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preference",
    "secretRef",
    "resource",
];

/// Keyed lists whose entries one manager owns as a whole.
const ATOMIC_ENTRIES: &[&str] = &["ownerReferences", "imagePullSecrets", "secrets"];
