//! Asks the guest, answers what it asks back, and asks again, in one instance.

use super::assemble::Assembled;
use crate::host::Host;
use crate::running::Activation;
use windlass_core::check::{check_queries, rejected};
use windlass_core::decision::{
    Answer, Answered, Decided, Failure, FailureKind, Fault, FaultKind, Query, Reply, Request,
};
use windlass_core::manifest::ReadKind;
use windlass_core::object::Object;
use windlass_core::project;
use windlass_core::rights::Access;

/// How often a guest may ask. Stops: a guest that asks for ever, each time within its running time.
const MAX_ROUNDS: usize = 4;
/// How many objects may be answered in one decision. Stops: copying a whole cluster into each decision.
const MAX_OBJECTS: usize = 10_000;

/// Takes one decision. What was asked becomes the primary's dependencies, whatever it came to.
pub(super) async fn decide(host: &Host, activation: &Activation, assembled: &Assembled) -> Decided {
    let mut asked = Vec::new();
    let decided = rounds(host, activation, assembled, &mut asked)
        .await
        .unwrap_or_else(Decided::Faulted);
    activation.depend(assembled.name.clone(), asked);
    decided
}

async fn rounds(
    host: &Host,
    activation: &Activation,
    assembled: &Assembled,
    asked: &mut Vec<Query>,
) -> Result<Decided, Fault> {
    let mut request = assembled.request.clone();
    let mut session = activation.guest.begin(&assembled.random).await?;
    for _ in 0..=MAX_ROUNDS {
        let queries = match session.call(assembled.entry, &request).await? {
            Reply::Decided(decided) => return Ok(decided),
            Reply::Ask(queries) => queries,
        };
        let findings = check_queries(&activation.manifest, &assembled.primary, &queries);
        if let Some(fault) = rejected(&findings) {
            return Err(fault);
        }
        // Dependencies are taken down before they are answered: a change in between wakes the primary again.
        asked.extend(queries.iter().cloned());
        activation.depend(assembled.name.clone(), asked.clone());
        for query in queries {
            match answer(host, activation, &query).await {
                Ok(answer) => request.answers.push(Answered { id: query.id, answer }),
                Err(message) => return Ok(unknown(message)),
            }
        }
        if objects(&request) > MAX_OBJECTS {
            return Err(too_much(format!(
                "it asked for more than {MAX_OBJECTS} objects in one decision; ask for less"
            )));
        }
    }
    Err(too_much(format!(
        "it asked in more than {MAX_ROUNDS} rounds; ask for everything that is needed at once"
    )))
}

fn too_much(what: String) -> Fault {
    Fault {
        kind: FaultKind::GuestOutputRejected,
        message: what,
    }
}

/// The cluster could not say: that is neither yes nor no, so the decision waits.
fn unknown(message: String) -> Decided {
    Decided::Failed(Failure {
        kind: FailureKind::Waiting,
        message,
        status: None,
        conditions: Vec::new(),
    })
}

fn objects(request: &Request) -> usize {
    let found = |answered: &Answered| match &answered.answer {
        Answer::Found(objects) | Answer::Truncated(objects) => objects.len(),
        Answer::NotServed | Answer::Forbidden(_) => 0,
    };
    request.answers.iter().map(found).sum()
}

/// What is known; an error only if the authorizer could not be asked.
async fn answer(host: &Host, activation: &Activation, query: &Query) -> Result<Answer, String> {
    let Some(read) = activation.manifest.read(&query.of) else {
        return Ok(Answer::NotServed);
    };
    if activation.not_served.iter().any(|kind| kind.same_group_kind(&query.of)) {
        return Ok(Answer::NotServed);
    }
    let namespace = query.namespace.clone().filter(|_| read.kind.namespaced);
    let Some(watch) = activation.watched.read(&query.of, namespace.as_deref()) else {
        return Ok(Answer::Forbidden(format!("{} is not watched there", query.of)));
    };
    let access = Access {
        verb: "list".into(),
        group: read.kind.of.group.clone(),
        resource: read.kind.plural.clone(),
        namespace: namespace.clone(),
    };
    let allowed = host
        .permissions
        .allowed(&*host.cluster, &activation.actor.identity, &access)
        .await;
    if !allowed.map_err(|error| format!("what the ServiceAccount may read could not be found out: {error}"))? {
        let place = namespace.map_or("all namespaces".into(), |namespace| format!("namespace {namespace}"));
        return Ok(Answer::Forbidden(format!("list {} in {place}", read.kind.plural)));
    }
    let (found, more) = host.store.select(watch, query);
    let found = found.iter().map(|object| for_guest(read, object)).collect();
    Ok(if more {
        Answer::Truncated(found)
    } else {
        Answer::Found(found)
    })
}

fn for_guest(read: &ReadKind, object: &Object) -> Object {
    project::for_guest(object, &read.projection)
}
