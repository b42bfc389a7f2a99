//! Says why an object is as it is: who takes care of it, what the same decision comes to again, and when the next one is.

mod looking;
mod caretakers;
mod again;
mod children;
pub mod answer;
mod text;

use self::again::{Again, Not, again};
use self::answer::{Asked, ChildState, Decision, Explained, NextTime, OfChild, OfReconciler, RunningModule, Said};
use self::caretakers::{Caretaker, caretakers, ready, writers};
use self::looking::Looking;
use super::Output;
use super::objects::{ObjectsError, find};
use crate::api::reconciler_kind;
use crate::cluster::Cluster;
use crate::cluster::kube::KubeCluster;
use crate::control;
use anyhow::{Context, bail};
use clap::Args;
use serde_json::Value;
use std::process::ExitCode;
use std::sync::Arc;
use windlass_core::decision::{Answer, Decided, Query, Selection};
use windlass_core::key::ReconcilerId;
use windlass_core::kind::KindInfo;
use windlass_core::object::Object;
use windlass_core::reason::Reason;
use windlass_core::report::Next;
use windlass_core::write::Target;

/// Says why an object is as it is, what its module wants, and when it is decided about again; writes nothing
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  windlass explain nginx/web
  windlass explain nginx/web -n team-a -o json
  windlass explain nginx/web -n team-a --reconciler windlass-system/nginx

Reads with the rights of your kubeconfig: the object and its children, Reconcilers, the ConfigMaps with the module, and
what the module asks about. What may not be read is named, and so is what cannot be told without it.")]
pub(super) struct ExplainArguments {
    /// Kind and name of the object, such as `nginx/web`
    #[arg(value_name = "KIND/NAME", value_parser = kind_and_name)]
    object: (String, String),
    /// Its namespace; without it the one of the kubeconfig
    #[arg(short, long)]
    namespace: Option<String>,
    /// Only this Reconciler, as namespace and name, such as `windlass-system/nginx`
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = reconciler_id)]
    reconciler: Option<ReconcilerId>,
    /// Namespace of the host, where it keeps modules
    #[arg(long, default_value = "windlass-system")]
    host_namespace: String,
    /// How the result is printed
    #[arg(short, long, default_value = "text")]
    output: Output,
}

fn kind_and_name(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((kind, name)) if !kind.is_empty() && !name.is_empty() => Ok((kind.into(), name.into())),
        _ => Err("give kind and name with a slash between, such as nginx/web".into()),
    }
}

fn reconciler_id(text: &str) -> Result<ReconcilerId, String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => Ok(ReconcilerId::new(namespace, name)),
        _ => Err("give namespace and name with a slash between, such as windlass-system/nginx".into()),
    }
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// Kind of the object.
    pub kind: KindInfo,
    /// Its namespace, none for a cluster-scoped kind.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Only this Reconciler.
    pub reconciler: Option<ReconcilerId>,
    /// Namespace of the host.
    pub host_namespace: String,
}

pub(super) async fn run(arguments: ExplainArguments) -> anyhow::Result<ExitCode> {
    let cluster = KubeCluster::connect().await?;
    let (kind, name) = arguments.object;
    let resources = cluster.resources().await.map_err(|source| ObjectsError::Kinds {
        server: cluster.server().to_owned(),
        source,
    })?;
    let kind = find(&resources, &kind)?.kind.clone();
    let namespace = arguments.namespace;
    let question = Question {
        namespace: kind
            .namespaced
            .then(|| namespace.unwrap_or_else(|| cluster.default_namespace().to_owned())),
        kind,
        name,
        reconciler: arguments.reconciler,
        host_namespace: arguments.host_namespace,
    };
    let explained = explain(Arc::new(cluster), &question).await?;
    super::print(&match arguments.output {
        Output::Text => explained.to_text(),
        Output::Json => serde_json::to_string_pretty(&explained)? + "\n",
    })?;
    Ok(ExitCode::SUCCESS)
}

impl Explained {
    /// The same for people.
    pub fn to_text(&self) -> String {
        text::text(self)
    }
}

/// Explains an object.
///
/// # Errors
/// A sentence with the next step, if the object cannot be found, or the Reconciler that was asked for.
pub async fn explain(cluster: Arc<dyn Cluster>, question: &Question) -> anyhow::Result<Explained> {
    let looking = Looking::new(Arc::clone(&cluster));
    let target = Target {
        kind: question.kind.clone(),
        namespace: question.namespace.clone(),
        name: question.name.clone(),
    };
    let plural = &question.kind.plural;
    let found = looking.find(&target).await.map_err(anyhow::Error::msg);
    let found = found.with_context(|| format!("ask for the right to get {plural}, or use another kubeconfig"))?;
    let Some(primary) = found else {
        bail!(
            "there is no {}; `windlass list {plural} -A` lists those that are there, and -n names another namespace",
            target.reference()
        )
    };
    let mut cannot_tell = Vec::new();
    let (reconcilers, is_all) = reconcilers(&looking, question, &primary, &mut cannot_tell).await?;
    let mut explained = Vec::new();
    for caretaker in caretakers(&reconcilers, &question.kind.of, primary.namespace()) {
        let all = is_all.then_some(reconcilers.as_slice());
        explained.push(of_reconciler(&cluster, question, caretaker, all, &primary).await);
    }
    explained.sort_by_key(|one| !one.takes_care);
    Ok(Explained {
        object: primary.reference(),
        generation: primary.generation(),
        is_being_deleted: primary.is_being_deleted(),
        conditions: said(&primary),
        reconcilers: explained,
        cannot_tell,
    })
}

/// The Reconcilers that there are, as far as they can be read, and whether that is all of them.
async fn reconcilers(
    looking: &Looking,
    question: &Question,
    primary: &Object,
    cannot_tell: &mut Vec<String>,
) -> anyhow::Result<(Vec<Object>, bool)> {
    if let Some(id) = &question.reconciler {
        let found = reconciler(looking, id).await.map_err(anyhow::Error::msg)?;
        let found = found.with_context(|| {
            format!("there is no Reconciler {id}; `kubectl get reconcilers -A` lists those that are there")
        })?;
        return Ok((vec![found], false));
    }
    let unlisted = match looking.list(control::reconcilers()).await {
        Ok(all) => return Ok((all, true)),
        Err(why) => why,
    };
    // Whoever wrote to it is known by name.
    let mut found = Vec::new();
    for id in writers(primary) {
        match reconciler(looking, &id).await {
            Ok(one) => found.extend(one),
            Err(why) => cannot_tell.push(format!("how Reconciler {id} goes, which has written to it: {why}")),
        }
    }
    let others = if found.is_empty() { "" } else { " else" };
    cannot_tell.push(format!(
        "who{others} takes care of it: {unlisted}; name one that you know with --reconciler NAMESPACE/NAME"
    ));
    Ok((found, false))
}

async fn reconciler(looking: &Looking, id: &ReconcilerId) -> Result<Option<Object>, String> {
    let target = Target {
        kind: reconciler_kind(),
        namespace: Some(id.namespace.clone()),
        name: id.name.clone(),
    };
    looking.find(&target).await
}

async fn of_reconciler(
    cluster: &Arc<dyn Cluster>,
    question: &Question,
    caretaker: Caretaker,
    all: Option<&[Object]>,
    primary: &Object,
) -> OfReconciler {
    let mut explained = OfReconciler {
        reconciler: caretaker.id.clone(),
        takes_care: caretaker.not.is_none(),
        why_not: caretaker.not.clone(),
        module: caretaker.status.active.clone().map(|active| RunningModule {
            name: active.name,
            version: active.version,
            digest: active.digest,
        }),
        ready: ready(&caretaker.status),
        decision: None,
        cannot_tell: Vec::new(),
        assumed: Vec::new(),
    };
    if !explained.takes_care {
        return explained;
    }
    match again(cluster, &question.host_namespace, &caretaker, all, primary).await {
        Ok(again) => {
            explained.assumed = assumed(&caretaker, &again);
            let mut decision = decision(&**cluster, &again).await;
            if said(primary)
                .iter()
                .any(|said| said.reason == Reason::PruneHeld.to_string())
            {
                let pruned = |child: &&mut OfChild| child.state == ChildState::Pruned;
                for child in decision.children.iter_mut().filter(pruned) {
                    child.why = Some("held until that is approved, as its status says".into());
                }
            }
            as_its_status_says(&mut decision, primary);
            explained.decision = Some(decision);
        }
        Err(Not::Needed(why)) => (explained.takes_care, explained.why_not) = (false, Some(why)),
        Err(Not::Possible(why)) => {
            explained.cannot_tell.push(format!("what its module wants now: {why}"));
        }
    }
    explained
}

/// A plan says nothing about what the API server answers to it: where there is something to write, what came of it the last time
/// is in the status.
fn as_its_status_says(decision: &mut Decision, primary: &Object) {
    let is_write = |child: &OfChild| {
        matches!(
            child.state,
            ChildState::Created | ChildState::Changed | ChildState::Recreated | ChildState::Pruned
        )
    };
    let writes = decision.children.iter().any(is_write) || !decision.writes.is_empty();
    if !writes || decision.reason != Reason::Reconciled.to_string() {
        return;
    }
    let failed = said(primary).into_iter().find(|said| {
        said.type_ == "Reconciled" && said.status == "False" && said.observed_generation == primary.generation()
    });
    match failed {
        Some(failed) => {
            decision.message = format!(
                "what is said to be written here was tried, and came to what the status says: {}",
                failed.message
            );
            decision.reason = failed.reason;
            decision.next.is_retried = true;
        }
        None => decision.message = "what is said to be written here would be written".into(),
    }
}

fn assumed(caretaker: &Caretaker, again: &Again) -> Vec<String> {
    let mut assumed = Vec::new();
    if !again.believed.is_empty() {
        assumed.push(format!(
            "you may not ask what ServiceAccount {}/{} may do; it is taken to have the right to {}",
            caretaker.id.namespace,
            caretaker.spec.service_account_name,
            again.believed.join(", ")
        ));
    }
    if again.activation.manifest.needs_seed {
        assumed.push("the seed is a stand-in, so that what is derived from it, such as passwords, is another".into());
    }
    if caretaker.spec.secret_values {
        assumed.push("values of Secrets are stand-ins, although the module gets the values themselves".into());
    }
    if again.activation.manifest.needs_clock {
        assumed.push("the module looks at the clock, which stood elsewhere at its last decision".into());
    }
    assumed
}

async fn decision(cluster: &dyn Cluster, again: &Again) -> Decision {
    let Again { activation, looked, .. } = again;
    let outcome = children::outcome(looked);
    let (status, conditions) = match &looked.decided {
        Decided::Failed(failure) => (failure.status.clone(), failure.conditions.as_slice()),
        _ => outcome.map_or((None, &[][..]), |outcome| (outcome.status.clone(), &outcome.conditions)),
    };
    let writes = [
        (
            &looked.plan.finalizer,
            "its finalizer would be put on before anything else",
        ),
        (&looked.plan.primary, "fields of it would be written"),
        (&looked.plan.release, "the finalizer would be taken off"),
    ];
    let writes = writes.iter().filter(|(write, _)| write.is_some());
    let conditions = conditions.iter().map(|condition| Said {
        type_: condition.type_.clone(),
        status: format!("{:?}", condition.status),
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        since: String::new(),
        observed_generation: None,
    });
    Decision {
        asked: looked
            .asked
            .iter()
            .map(|(query, answer)| asked(query, answer.as_ref()))
            .collect(),
        children_in_all: children::in_all(looked),
        children: children::children(cluster, activation, looked).await,
        writes: writes.map(|(_, words)| (*words).to_owned()).collect(),
        status,
        conditions: conditions.collect(),
        reason: looked.report.reason.to_string(),
        message: looked.report.message.clone(),
        next: next(again),
    }
}

fn asked(query: &Query, answer: Option<&Answer>) -> Asked {
    let (word, count, missing) = match answer {
        Some(Answer::Found(found)) => ("found", Some(found.len()), None),
        Some(Answer::Truncated(found)) => ("truncated", Some(found.len()), None),
        Some(Answer::Forbidden(what)) => ("forbidden", None, Some(what.clone())),
        Some(Answer::NotServed) => ("notServed", None, None),
        None => ("unanswered", None, None),
    };
    Asked {
        about: about(query),
        selection: selection(&query.selection),
        answer: word,
        count,
        missing,
    }
}

fn about(query: &Query) -> String {
    match &query.namespace {
        Some(namespace) => format!("{} in namespace {namespace}", query.of.kind),
        None => query.of.kind.clone(),
    }
}

fn selection(selection: &Selection) -> String {
    let name = selection.name.iter().map(|name| format!("named {name}"));
    let labels = [&selection.labels].into_iter().filter(|labels| !labels.is_empty());
    let labels = labels.map(|labels| format!("with labels {labels}"));
    let fields = selection.fields.iter();
    let fields = fields.map(|field| format!("with {} = {}", field.path, field.value));
    let all: Vec<String> = name.chain(labels).chain(fields).collect();
    if all.is_empty() {
        "all of them".into()
    } else {
        all.join(" and ")
    }
}

fn next(again: &Again) -> NextTime {
    let manifest = &again.activation.manifest;
    let mut on_change_of = vec!["the object itself".to_owned()];
    let children = manifest.children.iter();
    on_change_of.extend(children.map(|child| format!("a {} of it", child.kind.of.kind)));
    let asked = again.looked.asked.iter();
    on_change_of.extend(asked.map(|(query, _)| format!("a {} {}", about(query), selection(&query.selection))));
    NextTime {
        on_change_of,
        after_seconds: match again.looked.report.next {
            Next::After(delay) | Next::NotBefore(delay) => Some(delay.as_secs()),
            Next::OnChange | Next::Backoff => None,
        },
        is_retried: again.looked.report.next == Next::Backoff,
    }
}

/// What the conditions of an object say, those of the host first.
fn said(primary: &Object) -> Vec<Said> {
    let conditions = primary.at(&["status", "conditions"]).and_then(Value::as_array);
    let text = |condition: &Value, key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    let mut said: Vec<Said> = conditions
        .into_iter()
        .flatten()
        .map(|condition| Said {
            type_: text(condition, "type"),
            status: text(condition, "status"),
            reason: text(condition, "reason"),
            message: text(condition, "message"),
            since: text(condition, "lastTransitionTime"),
            observed_generation: condition["observedGeneration"].as_i64(),
        })
        .collect();
    let order = ["Reconciled", "Ready"];
    said.sort_by_key(|said| {
        order
            .iter()
            .position(|type_| *type_ == said.type_)
            .unwrap_or(order.len())
    });
    said
}
