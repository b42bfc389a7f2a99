//! Answers access reviews by rules that a test or a person sets; without any, everything is allowed.

use super::kinds::Kind;
use windlass_core::rights::Access;
use windlass_core::write::{Identity, Subresource, WriteError};

/// Which accesses a rule is about. `*` stands for any verb, group or resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessPattern {
    /// API verb.
    pub verb: String,
    /// API group, empty for the core group.
    pub group: String,
    /// Resource in the plural, with `/status` for the subresource.
    pub resource: String,
    /// One namespace; none for all.
    pub namespace: Option<String>,
}

impl AccessPattern {
    /// A pattern for all namespaces.
    pub fn new(verb: &str, group: &str, resource: &str) -> Self {
        Self {
            verb: verb.into(),
            group: group.into(),
            resource: resource.into(),
            namespace: None,
        }
    }

    /// The same in one namespace.
    pub fn within(self, namespace: &str) -> Self {
        Self {
            namespace: Some(namespace.into()),
            ..self
        }
    }

    fn names(&self, access: &Access) -> bool {
        let fits = |pattern: &str, value: &str| pattern == "*" || pattern == value;
        fits(&self.verb, &access.verb) && fits(&self.group, &access.group) && fits(&self.resource, &access.resource)
    }

    /// Whether this, as a right, covers the access.
    fn grants(&self, access: &Access) -> bool {
        self.names(access) && (self.namespace.is_none() || self.namespace == access.namespace)
    }

    /// Whether this, as a refusal, touches the access.
    fn touches(&self, access: &Access) -> bool {
        let everywhere = self.namespace.is_none() || access.namespace.is_none();
        self.names(access) && (everywhere || self.namespace == access.namespace)
    }
}

/// The rules of all identities.
#[derive(Debug, Default)]
pub(super) struct Rights {
    denied: Vec<(Identity, AccessPattern)>,
    restricted: Vec<(Identity, Vec<AccessPattern>)>,
}

impl Rights {
    /// Refuses what the pattern touches.
    pub(super) fn deny(&mut self, identity: Identity, pattern: AccessPattern) {
        self.denied.push((identity, pattern));
    }

    /// Leaves an identity only what these rules grant, instead of what was set before.
    pub(super) fn restrict(&mut self, identity: Identity, rules: Vec<AccessPattern>) {
        self.restricted.retain(|(restricted, _)| *restricted != identity);
        self.restricted.push((identity, rules));
    }

    /// Allows an identity everything again.
    pub(super) fn lift(&mut self, identity: &Identity) {
        self.denied.retain(|(denied, _)| denied != identity);
        self.restricted.retain(|(restricted, _)| restricted != identity);
    }

    /// Whether the identity may.
    pub(super) fn allows(&self, identity: &Identity, access: &Access) -> bool {
        let denied = self
            .denied
            .iter()
            .any(|(who, pattern)| who == identity && pattern.touches(access));
        let restricted = self.restricted.iter().find(|(who, _)| who == identity);
        !denied && restricted.is_none_or(|(_, rules)| rules.iter().any(|rule| rule.grants(access)))
    }

    /// Fails, in the server's words, unless the identity may.
    pub(super) fn check(&self, identity: &Identity, access: &Access, name: &str) -> Result<(), WriteError> {
        if self.allows(identity, access) {
            return Ok(());
        }
        Err(WriteError::Forbidden(refusal(identity, access, name)))
    }
}

/// What a request needs.
pub(super) fn needed(kind: &Kind, namespace: Option<&str>, subresource: Subresource, verb: &str) -> Access {
    let info = &kind.served.kind;
    let resource = match subresource {
        Subresource::None => info.plural.clone(),
        Subresource::Status => format!("{}/status", info.plural),
    };
    let namespace = namespace.filter(|_| info.namespaced).map(Into::into);
    Access {
        verb: verb.into(),
        group: info.of.group.clone(),
        resource,
        namespace,
    }
}

/// The server's refusal, such as `pods "web" is forbidden: User ".." cannot patch resource ".." in API group ".."`.
pub(super) fn refusal(identity: &Identity, access: &Access, name: &str) -> String {
    let plural = access.resource.split('/').next().unwrap_or_default();
    let resource = if access.group.is_empty() {
        plural.into()
    } else {
        format!("{plural}.{}", access.group)
    };
    let named = if name.is_empty() || access.verb == "create" {
        String::new()
    } else {
        format!(" {name:?}")
    };
    let place = match &access.namespace {
        Some(namespace) => format!("in the namespace {namespace:?}"),
        None => "at the cluster scope".into(),
    };
    format!(
        "{resource}{named} is forbidden: User {:?} cannot {} resource {:?} in API group {:?} {place}",
        user(identity),
        access.verb,
        access.resource,
        access.group
    )
}

/// The name of the identity as the server knows it.
fn user(identity: &Identity) -> String {
    match identity {
        Identity::Host => "system:serviceaccount:windlass-system:windlass".into(),
        Identity::ServiceAccount { namespace, name } => format!("system:serviceaccount:{namespace}:{name}"),
    }
}
