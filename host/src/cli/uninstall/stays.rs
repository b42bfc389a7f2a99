//! Names what stays behind, with the commands that remove it.

use crate::api::reconciler_kind;
use crate::cli::person::{Person, config_maps};
use crate::cli::taken_up::status;
use serde::Serialize;
use std::collections::BTreeSet;
use windlass_core::kind::KindInfo;
use windlass_core::manifest::Projection;
use windlass_core::names::{LABEL_MODULE, LABEL_RECONCILER};
use windlass_core::object::Object;

/// How the names of all roles that come with Windlass begin; the host's own have just this name.
const ROLES: &str = "windlass";

/// The admission policies that come with the host, and their bindings.
const POLICIES: [&str; 2] = ["reconcilers.windlass.dev", "modules.windlass.dev"];

/// Something that stays.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Thing {
    what: String,
    /// What removes it.
    command: String,
}

/// All that stays, as it is found out.
pub(super) struct Stays {
    namespace: String,
    things: Vec<Thing>,
    primaries: Vec<Thing>,
}

impl Stays {
    /// Looks while Reconcilers still say what belongs to them.
    ///
    /// # Errors
    /// If the drop-ins cannot be listed.
    pub(super) async fn look(person: &Person, namespace: &str, reconcilers: &[Object]) -> anyhow::Result<Self> {
        let mut sources: BTreeSet<(String, String)> = sources(reconcilers);
        let selector = format!("{LABEL_MODULE}=true");
        for drop_in in person
            .list(&config_maps(), Some(namespace), &selector, Projection::Metadata)
            .await?
        {
            sources.insert((namespace.into(), drop_in.name().into()));
        }
        let mut things: Vec<Thing> = sources
            .iter()
            .map(|(place, name)| named("module source", "configmap", place, name))
            .collect();
        let account = |object: &Object| {
            let name = object.text_at(&["spec", "serviceAccountName"])?;
            Some((object.namespace()?.to_owned(), name.to_owned()))
        };
        let accounts: BTreeSet<(String, String)> = reconcilers.iter().filter_map(account).collect();
        things.extend(
            accounts
                .iter()
                .map(|(place, name)| named("ServiceAccount of a module", "serviceaccount", place, name)),
        );
        things.extend(roles(person).await);
        Ok(Self {
            namespace: namespace.into(),
            things,
            primaries: primaries(reconcilers),
        })
    }

    /// Adds the children that were found.
    pub(super) fn children(&mut self, children: Vec<(KindInfo, usize)>) {
        self.things.splice(
            0..0,
            children.into_iter().map(|(kind, count)| Thing {
                what: format!("{count} {} that modules made", kind.plural),
                command: format!("kubectl delete {} -A -l {LABEL_RECONCILER}", resource(&kind)),
            }),
        );
    }

    /// All of it.
    pub(super) fn into_things(self) -> Vec<Thing> {
        let namespace = &self.namespace;
        let last = [
            named("key of the host", "secret", namespace, "windlass-key"),
            Thing {
                what: "namespace of the host, with all that is in there".into(),
                command: format!("kubectl delete namespace {namespace}"),
            },
        ];
        self.things.into_iter().chain(self.primaries).chain(last).collect()
    }
}

/// What stays, as lines to read and to copy.
pub(super) fn text(things: &[Thing]) -> String {
    let lines = things
        .iter()
        .map(|thing| format!("  {:<50}  # {}\n", thing.command, thing.what));
    format!("What stays, and what removes it:\n{}", lines.collect::<String>())
}

fn named(what: &str, kind: &str, namespace: &str, name: &str) -> Thing {
    Thing {
        what: what.into(),
        command: format!("kubectl delete {kind} {name} -n {namespace}"),
    }
}

/// As kubectl names a kind without doubt.
fn resource(kind: &KindInfo) -> String {
    match kind.of.group.as_str() {
        "" => kind.plural.clone(),
        group => format!("{}.{group}", kind.plural),
    }
}

fn sources(reconcilers: &[Object]) -> BTreeSet<(String, String)> {
    let names = |object: &Object| {
        let source = object.at(&["spec", "source", "configMap"]);
        let name = source.and_then(|source| source["name"].as_str().map(ToOwned::to_owned));
        let parts = source
            .and_then(|source| source["parts"].as_array().cloned())
            .unwrap_or_default();
        let parts = parts
            .into_iter()
            .filter_map(|part| part["name"].as_str().map(ToOwned::to_owned));
        let namespace = object.namespace().unwrap_or_default().to_owned();
        name.into_iter()
            .chain(parts)
            .map(move |name| (namespace.clone(), name))
            .collect::<Vec<_>>()
    };
    reconcilers.iter().flat_map(names).collect()
}

fn primaries(reconcilers: &[Object]) -> Vec<Thing> {
    let claims = reconcilers.iter().filter_map(|object| status(object).claim);
    let kinds: BTreeSet<KindInfo> = claims
        .map(|claim| claim.kind())
        .filter(|kind| *kind != reconciler_kind())
        .collect();
    let thing = |kind: &KindInfo| {
        let everywhere = if kind.namespaced { " -A" } else { "" };
        Thing {
            what: format!("all {}: the primaries", kind.of.kind),
            command: format!("kubectl delete {}{everywhere} --all", resource(kind)),
        }
    };
    kinds.iter().map(thing).collect()
}

/// Roles, admission policies and bindings of the host and of modules, as far as they may be listed.
async fn roles(person: &Person) -> Vec<Thing> {
    let group = "rbac.authorization.k8s.io";
    let admission = "admissionregistration.k8s.io";
    let policy = "ValidatingAdmissionPolicy";
    let kinds = [
        KindInfo::cluster_scoped(admission, "v1", policy, "validatingadmissionpolicies"),
        KindInfo::cluster_scoped(
            admission,
            "v1",
            &format!("{policy}Binding"),
            "validatingadmissionpolicybindings",
        ),
        KindInfo::cluster_scoped(group, "v1", "ClusterRole", "clusterroles"),
        KindInfo::cluster_scoped(group, "v1", "ClusterRoleBinding", "clusterrolebindings"),
        KindInfo::namespaced(group, "v1", "Role", "roles"),
        KindInfo::namespaced(group, "v1", "RoleBinding", "rolebindings"),
    ];
    let mut things = Vec::new();
    for kind in kinds {
        let wanted = |object: &Object| is_role_of_ours(object.name()) || POLICIES.contains(&object.name());
        for object in person.search(&kind, None, &wanted).await.unwrap_or_default() {
            let place = object
                .namespace()
                .map(|namespace| format!(" -n {namespace}"))
                .unwrap_or_default();
            things.push(Thing {
                what: format!("{} of the host or of a module", kind.of.kind),
                command: format!("kubectl delete {} {}{place}", kind.plural, object.name()),
            });
        }
    }
    things
}

fn is_role_of_ours(name: &str) -> bool {
    name.strip_prefix(ROLES)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reconciler() -> Object {
        let primary = json!({"group": "g.io", "version": "v1", "kind": "Nginx", "plural": "nginx", "namespaced": true});
        Object::from_value(json!({
            "metadata": {"namespace": "a", "name": "b"},
            "spec": {"source": {"configMap": {"parts": [{"name": "one"}, {"name": "two"}]}}},
            "status": {"claim": {"primary": primary, "namespaces": ["*"], "exclusive": true}},
        }))
        .unwrap()
    }

    #[test]
    fn what_stays_is_named_with_what_removes_it() {
        let named_sources = sources(&[reconciler()]);
        let names: Vec<&str> = named_sources.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["one", "two"]);
        let mut stays = Stays {
            namespace: "windlass-system".into(),
            things: Vec::new(),
            primaries: primaries(&[reconciler(), reconciler()]),
        };
        stays.children(vec![(
            KindInfo::namespaced("apps", "v1", "Deployment", "deployments"),
            3,
        )]);
        let commands: Vec<String> = stays.into_things().into_iter().map(|thing| thing.command).collect();
        let wanted = [
            "kubectl delete deployments.apps -A -l windlass.dev/reconciler",
            "kubectl delete nginx.g.io -A --all",
            "kubectl delete secret windlass-key -n windlass-system",
            "kubectl delete namespace windlass-system",
        ];
        assert_eq!(commands, wanted);
    }

    #[test]
    fn only_roles_of_ours_are_named() {
        assert!(is_role_of_ours("windlass") && is_role_of_ours("windlass:windlass-system:nginx:read"));
        assert!(!is_role_of_ours("windlass-other") && !is_role_of_ours("admin"));
    }
}
