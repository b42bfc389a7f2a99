//! Says as whom the host does what, as one table, and finds in the audit log what is not in it.

use crate::product::{HOST_USER, NAMESPACE};
use crate::{Request, Requests};
use anyhow::{Result, ensure};
use std::fmt;

/// What every user name of a ServiceAccount begins with.
const ACCOUNT: &str = "system:serviceaccount:";

/// As whom the host acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// As its own ServiceAccount.
    Itself,
    /// As the ServiceAccount of a Reconciler, impersonated for one request.
    Account,
}

/// Where it does that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In any namespace, or in none.
    Anywhere,
    /// In the host's own namespace.
    Own,
}

/// One row of the table: what is done, by whom, where, by which right and why. `*` stands for any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// As whom.
    pub who: Who,
    /// API verbs.
    pub verbs: &'static [&'static str],
    /// API group, empty for the core group.
    pub group: &'static str,
    /// Resource in the plural; empty for what is no resource, such as discovery.
    pub resource: &'static str,
    /// Subresource, empty for the object itself.
    pub subresource: &'static str,
    /// Where.
    pub place: Place,
    /// What the names begin with, where the request says one.
    pub name: &'static str,
    /// The role that allows it, by the end of its name; empty where it does not matter.
    pub role: &'static str,
    /// The reason.
    pub why: &'static str,
}

/// The end of the name of the host's own roles.
const OWN_ROLE: &str = "Role \"windlass";

const ROW: Row = Row {
    who: Who::Itself,
    verbs: &[],
    group: "",
    resource: "",
    subresource: "",
    place: Place::Anywhere,
    name: "",
    role: OWN_ROLE,
    why: "",
};
const ACCOUNT_ROW: Row = Row {
    who: Who::Account,
    role: "",
    ..ROW
};
const READ: &[&str] = &["get", "list", "watch"];

/// Everything the host does at an API server.
pub const TABLE: &[Row] = &[
    Row {
        verbs: &["get"],
        role: "",
        why: "which kinds are served, and how",
        ..ROW
    },
    Row {
        verbs: READ,
        group: "apiextensions.k8s.io",
        resource: "customresourcedefinitions",
        why: "which kinds come and go, and which status fields they have",
        ..ROW
    },
    Row {
        verbs: &["get", "list", "watch", "patch"],
        group: "windlass.dev",
        resource: "reconcilers",
        why: "which Reconcilers there are; their finalizer while primaries carry one, and the rights of their first module",
        ..ROW
    },
    Row {
        verbs: &["patch"],
        group: "windlass.dev",
        resource: "reconcilers",
        subresource: "status",
        why: "how they go",
        ..ROW
    },
    Row {
        verbs: &["create"],
        group: "windlass.dev",
        resource: "reconcilers",
        why: "those of drop-ins, in the namespaces that may have some",
        ..ROW
    },
    Row {
        verbs: READ,
        resource: "configmaps",
        why: "modules, in the namespaces that bring some",
        ..ROW
    },
    Row {
        verbs: &["create", "delete"],
        resource: "configmaps",
        place: Place::Own,
        name: "windlass-module-",
        why: "the modules that run and ran, which it keeps",
        ..ROW
    },
    Row {
        verbs: READ,
        resource: "serviceaccounts",
        why: "whether the account of a Reconciler exists and consents",
        ..ROW
    },
    Row {
        verbs: &["get", "create"],
        resource: "secrets",
        place: Place::Own,
        name: "windlass-key",
        why: "the key from which seeds come",
        ..ROW
    },
    Row {
        verbs: &["create", "patch"],
        resource: "events",
        why: "its own words about primaries, Reconcilers and ConfigMaps; said again they are counted, in the same Event",
        ..ROW
    },
    Row {
        verbs: &["patch"],
        group: "events.k8s.io",
        resource: "events",
        why: "how often a module has said the same, in the Event that its account made",
        ..ROW
    },
    Row {
        verbs: READ,
        group: "*",
        resource: "*",
        role: ":read",
        why: "primaries, children and what guests ask about: one watch for all guests, under the read role that was given to \
              a guest's account and to the host",
        ..ROW
    },
    Row {
        verbs: &["create"],
        group: "authorization.k8s.io",
        resource: "selfsubjectaccessreviews",
        why: "whether the account may read what its guest is to see, and write what it may want",
        ..ACCOUNT_ROW
    },
    Row {
        verbs: &["create", "patch", "delete"],
        group: "*",
        resource: "*",
        why: "children; fields and the finalizer of primaries; the guest's own Events",
        ..ACCOUNT_ROW
    },
    Row {
        verbs: &["patch"],
        group: "*",
        resource: "*",
        subresource: "status",
        why: "the status of primaries",
        ..ACCOUNT_ROW
    },
];

/// What the host did that is in no row of the table.
///
/// What was sent with kubectl in the host's name is a test's own.
#[must_use]
pub fn strange(requests: &Requests) -> Requests {
    let host = requests.filter(|request| request.user == HOST_USER && !request.user_agent.starts_with("kubectl"));
    host.filter(|request| !TABLE.iter().any(|row| row.covers(request)))
}

/// Fails unless everything the host did is in the table.
///
/// # Errors
/// Lists what is not.
pub fn check(requests: &Requests) -> Result<()> {
    let strange = strange(requests);
    ensure!(
        strange.is_empty(),
        "the host did what is in no row of the table of identities (host/testing/src/identities.rs): {strange}"
    );
    Ok(())
}

impl Row {
    fn covers(&self, request: &Request) -> bool {
        let fits = |pattern: &str, value: &str| pattern == "*" || pattern == value;
        self.is_by(request)
            && self.verbs.contains(&request.verb.as_str())
            && fits(self.group, &request.group)
            && fits(self.resource, &request.resource)
            && self.subresource == request.subresource.as_deref().unwrap_or_default()
            // What has no resource is not an object either.
            && request.resource.is_empty() == self.resource.is_empty()
            && (self.place == Place::Anywhere || request.namespace == NAMESPACE)
            && (request.name.is_empty() || request.name.starts_with(self.name))
            && self.is_granted(request)
    }

    fn is_by(&self, request: &Request) -> bool {
        match (self.who, request.impersonated_user.as_deref()) {
            (Who::Itself, None) => true,
            (Who::Account, Some(user)) => {
                user.starts_with(ACCOUNT) && user != HOST_USER && request.group != "windlass.dev"
            }
            // Where it may not act as the account, the request ends there, and whom it was to be is not logged.
            (Who::Account, None) => request.refusal.contains("cannot impersonate"),
            (Who::Itself, Some(_)) => false,
        }
    }

    /// What was refused was done by nobody's right.
    fn is_granted(&self, request: &Request) -> bool {
        let role = format!("{}\" to ServiceAccount", self.role);
        self.role.is_empty() || request.granted_by.is_empty() || request.granted_by.contains(&role)
    }
}

/// The table as Markdown, without a title.
pub struct Markdown;

impl fmt::Display for Markdown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "| as whom | what | where | why |")?;
        writeln!(formatter, "|---|---|---|---|")?;
        for row in TABLE {
            let who = match row.who {
                Who::Itself => "host",
                Who::Account => "account of the Reconciler",
            };
            let place = match row.place {
                Place::Anywhere => "",
                Place::Own => "its own namespace",
            };
            writeln!(
                formatter,
                "| {who} | {} {} | {place} | {} |",
                row.verbs.join(", "),
                row.what(),
                row.why
            )?;
        }
        Ok(())
    }
}

impl Row {
    fn what(&self) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        let slash = if self.subresource.is_empty() { "" } else { "/" };
        let names = if self.name.is_empty() {
            String::new()
        } else {
            format!(" named `{}`", self.name)
        };
        match (self.resource, self.group) {
            ("", _) => "discovery".into(),
            ("*", _) if self.subresource.is_empty() => "any declared kind".into(),
            ("*", _) => format!("`{}` of any declared kind", self.subresource),
            (resource, group) => format!("`{resource}{dot}{group}{slash}{}`{names}", self.subresource),
        }
    }
}

#[cfg(test)]
mod tests;
