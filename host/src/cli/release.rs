//! Lets the primaries of a Reconciler go that no host lets go.

use super::Output;
use super::confirm::Consent;
use super::finalizers::{Held, holders, let_go, release as release_held};
use super::objects;
use super::person::{Person, target};
use super::progress::{Progress, say};
use super::taken_up::status;
use crate::api::reconciler_kind;
use anyhow::bail;
use clap::Args;
use serde_json::json;
use std::process::ExitCode;
use windlass_core::key::ReconcilerId;
use windlass_core::kind::KindInfo;
use windlass_core::names::finalizer;
use windlass_core::object::Object;

/// Takes a Reconciler's finalizer off its primaries with your own rights, where no host does it; children stay
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  windlass release nginx
  windlass release nginx -n team-a --primary team-a/web
  windlass release nginx --kind nginx.stable.underneathall.com --yes

Without --primary, a Reconciler that is being deleted is let go too. --kind is for one that is gone already.")]
pub(super) struct ReleaseArguments {
    /// Name of the Reconciler
    #[arg(value_parser = super::reconciler_name)]
    name: String,
    /// Its namespace
    #[arg(short, long, default_value = "windlass-system")]
    namespace: String,
    /// Only this primary, as namespace/name, or name where it has no namespace; can be given several times
    #[arg(long = "primary", value_name = "NAMESPACE/NAME")]
    primaries: Vec<String>,
    /// Kind of the primaries, as plural.group, where the Reconciler is gone or its status does not say
    #[arg(long)]
    kind: Option<String>,
    #[command(flatten)]
    consent: Consent,
    /// How the result is printed
    #[arg(short, long, default_value = "text")]
    output: Output,
}

pub(super) async fn release(arguments: ReleaseArguments) -> anyhow::Result<ExitCode> {
    let person = Person::connect().await?;
    let id = ReconcilerId::new(&arguments.namespace, &arguments.name);
    let reconciler = person.get(&target(&reconciler_kind(), &id.namespace, &id.name)).await?;
    let held = held(&person, &id, reconciler.as_ref(), &arguments).await?;
    let goes = reconciler.as_ref().is_some_and(Object::is_being_deleted) && arguments.primaries.is_empty();
    say(&words(&id, &held, reconciler.as_ref(), goes));
    if !held.objects.is_empty() || goes {
        arguments.consent.ask("Release them?")?;
    }
    let result = release_held(&person, &held, Some(&id), &Progress::new()).await;
    let reconciler_went = goes && result.left.is_empty() && let_go(&person, &id).await?;
    if arguments.output == Output::Json {
        let mut said = serde_json::to_value(&result)?;
        said["reconciler"] = json!(id);
        said["kind"] = json!(held.kind.of);
        said["reconcilerReleased"] = json!(reconciler_went);
        super::print(&format!("{}\n", serde_json::to_string_pretty(&said)?))?;
        let all = result.left.is_empty();
        return Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let kind = &held.kind.of.kind;
    super::print(&format!("{} {kind} released\n", result.released))?;
    if reconciler_went {
        super::print(&format!("Reconciler {id} released\n"))?;
    }
    if !result.left.is_empty() {
        bail!(
            "{} {kind} still carry the finalizer:{}",
            result.left.len(),
            result.words()
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// The primaries that carry the finalizer, of those that are meant.
async fn held(
    person: &Person,
    id: &ReconcilerId,
    reconciler: Option<&Object>,
    arguments: &ReleaseArguments,
) -> anyhow::Result<Held> {
    let claim = reconciler.and_then(|reconciler| status(reconciler).claim);
    let (kind, namespaces) = match (&arguments.kind, &claim) {
        (Some(asked), _) => (
            objects::find(&person.resources().await?, asked)?.kind.clone(),
            vec!["*".into()],
        ),
        (None, Some(claim)) => (claim.kind(), claim.namespaces.clone()),
        (None, None) if reconciler.is_some() => bail!(
            "the status of Reconciler {id} does not say what its primaries are; say it with --kind, such as \
             --kind nginx.stable.underneathall.com"
        ),
        (None, None) => {
            person.require_reconcilers().await?;
            bail!(
                "there is no Reconciler {id}. If it is gone and left finalizers behind, say on which kind with --kind, \
                 such as --kind nginx.stable.underneathall.com"
            )
        }
    };
    if arguments.primaries.is_empty() {
        return claimed(person, id, kind, &namespaces).await;
    }
    let mut objects = Vec::new();
    for named in &arguments.primaries {
        let at = match (named.split_once('/'), kind.namespaced) {
            (Some((namespace, name)), true) => target(&kind, namespace, name),
            (None, false) => target(&kind, "", named),
            (None, true) => bail!(
                "--primary {named}: a {} has a namespace; give namespace/name",
                kind.of.kind
            ),
            (Some(_), false) => bail!(
                "--primary {named}: a {} has no namespace; give its name alone",
                kind.of.kind
            ),
        };
        match person.get(&at).await? {
            Some(object) if holders(&object).any(|holder| holder == *id) => objects.push(object),
            Some(_) => bail!("{} does not carry the finalizer {}", at.reference(), finalizer(id)),
            None => bail!("there is no {}", at.reference()),
        }
    }
    Ok(Held { kind, objects })
}

/// The primaries that carry the finalizer of a Reconciler, in these namespaces; `*` is all of them.
pub(super) async fn claimed(
    person: &Person,
    id: &ReconcilerId,
    kind: KindInfo,
    namespaces: &[String],
) -> anyhow::Result<Held> {
    let mut objects = Vec::new();
    // Where the kind is gone, so are its objects.
    if person.serves(&kind).await? {
        let wanted = |object: &Object| holders(object).any(|holder| holder == *id);
        let everywhere = !kind.namespaced || namespaces.iter().any(|namespace| namespace == "*");
        if everywhere {
            objects = person.search(&kind, None, &wanted).await?;
        } else {
            for namespace in namespaces {
                objects.extend(person.search(&kind, Some(namespace), &wanted).await?);
            }
        }
    }
    Ok(Held { kind, objects })
}

/// What will be done, before it is.
fn words(id: &ReconcilerId, held: &Held, reconciler: Option<&Object>, goes: bool) -> String {
    let (count, kind) = (held.objects.len(), &held.kind.of.kind);
    let mut text = format!(
        "{count} {kind} with the finalizer {} are released. Their children stay, and nothing is finalized.",
        finalizer(id)
    );
    if goes {
        text += &format!(" Reconciler {id}, which is being deleted, is released too.");
    }
    let lives = reconciler.filter(|reconciler| !reconciler.is_being_deleted());
    if count > 0 && lives.is_some_and(|lives| lives.at(&["spec", "suspend"]) != Some(&true.into())) {
        text += &format!(
            " A host that runs puts it on primaries again at its next decision: delete Reconciler {id} first, or set \
             spec.suspend."
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_beforehand_what_stays_and_who_may_undo_it() {
        let held = Held {
            kind: KindInfo::namespaced("g.io", "v1", "Nginx", "nginx"),
            objects: vec![Object::default(), Object::default()],
        };
        let id = ReconcilerId::new("a", "b");
        let object = |value| Object::from_value(value).unwrap();
        let lives = object(json!({"spec": {}}));
        let said = words(&id, &held, Some(&lives), false);
        assert!(said.starts_with(
            "2 Nginx with the finalizer b.a.reconciler.windlass.dev/finalize are released. Their children stay"
        ));
        assert!(
            said.contains("spec.suspend") && !said.contains("is being deleted"),
            "{said}"
        );
        let suspended = object(json!({"spec": {"suspend": true}}));
        assert!(!words(&id, &held, Some(&suspended), false).contains("puts it on"));
        let going = object(json!({"metadata": {"deletionTimestamp": "t"}}));
        let said = words(&id, &held, Some(&going), true);
        assert!(
            said.contains("Reconciler a/b, which is being deleted, is released too") && !said.contains("puts it"),
            "{said}"
        );
        assert!(!words(&id, &held, None, false).contains("puts it on"));
    }
}
