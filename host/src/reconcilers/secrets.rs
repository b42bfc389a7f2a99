//! Keeps the values of Secrets from modules: only their metadata reaches a guest.

use crate::guest::{Refusal, Step};
use windlass_core::kind::KindInfo;
use windlass_core::manifest::{Manifest, Projection};

/// The manifest, unless it asks for more of Secrets than their metadata.
pub(super) fn checked(manifest: Manifest) -> Result<Manifest, Refusal> {
    let primary = std::iter::once((&manifest.primary.kind, &manifest.primary.projection));
    let children = manifest.children.iter().map(|child| (&child.kind, &child.projection));
    let reads = manifest.reads.iter().map(|read| (&read.kind, &read.projection));
    let asks_for_values = primary
        .chain(children)
        .chain(reads)
        .any(|(kind, projection)| is_secret(kind) && *projection != Projection::Metadata);
    if asks_for_values {
        return Err(Refusal {
            step: Step::Describe,
            cause: "SecretValues",
            message:
                "The module asks for the values of Secrets, which no module gets. Declare Secrets with the projection \
                      `metadata`; a module may still want Secrets as children."
                    .into(),
        });
    }
    Ok(manifest)
}

fn is_secret(kind: &KindInfo) -> bool {
    kind.of.group.is_empty() && (kind.of.kind == "Secret" || kind.plural == "secrets")
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_core::manifest::{Primary, ReadKind};

    fn manifest(kind: &str, plural: &str, projection: Projection) -> Manifest {
        let group = KindInfo::namespaced("example.com", "v1", "Example", "examples");
        Manifest {
            name: "example".into(),
            version: "1".into(),
            primary: Primary {
                kind: group,
                projection: Projection::Full,
                selector: String::new(),
            },
            children: Vec::new(),
            reads: vec![ReadKind {
                kind: KindInfo::namespaced("", "v1", kind, plural),
                projection,
                selector: String::new(),
                all_namespaces: false,
                optional: false,
            }],
            writes_status: false,
            writes_primary: Vec::new(),
            finalizes: false,
            needs_clock: false,
            needs_seed: false,
        }
    }

    #[test]
    fn only_the_metadata_of_secrets_is_given_whatever_the_kind_is_called() {
        for (kind, plural, projection, allowed) in [
            ("Secret", "secrets", Projection::Metadata, true),
            ("Secret", "secrets", Projection::Full, false),
            ("Secret", "secrets", Projection::Fields(vec![".data".into()]), false),
            ("Other", "secrets", Projection::Full, false),
            ("ConfigMap", "configmaps", Projection::Full, true),
        ] {
            let checked = checked(manifest(kind, plural, projection.clone()));
            assert_eq!(checked.is_ok(), allowed, "{kind} {plural} {projection:?}");
        }
    }
}
