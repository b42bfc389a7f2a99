//! Asks the guest, answers what it asks back, and asks again, in one instance.

use super::assemble::{Assembled, Call, Unreadable};
use super::secret_values;
use crate::host::Host;
use crate::running::Activation;
use tracing::Instrument;
use windlass_core::check::{check_queries, rejected};
use windlass_core::decision::{Answer, Answered, Decided, Fault, FaultKind, Query, Reply, Request};
use windlass_core::manifest::ReadKind;
use windlass_core::object::Object;
use windlass_core::rights::Access;
use windlass_core::secrets::{is_secret, shows_values};

/// How often a guest may ask. Stops: a guest that asks for ever, each time within its running time.
const MAX_ROUNDS: usize = 4;
/// How many objects may be answered in one decision. Stops: copying a whole cluster into each decision.
const MAX_OBJECTS: usize = 10_000;

/// How many Secrets may be answered with their values. Stops: reading every Secret there is, one by one, at each decision.
const MAX_SECRETS: usize = 256;

/// How many Secrets may still be fetched in this decision.
struct Fetches(usize);

impl Fetches {
    fn take(&mut self, count: usize) -> Result<(), Stopped> {
        self.0 = self.0.checked_sub(count).ok_or_else(|| {
            too_much(format!(
                "it asked for the values of more than {MAX_SECRETS} Secrets in one decision; ask for less"
            ))
        })?;
        Ok(())
    }
}

/// Why a decision could not be taken.
enum Stopped {
    /// By the guest.
    Fault(Fault),
    /// By the world.
    Unreadable(Box<Unreadable>),
}

impl From<Fault> for Stopped {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Unreadable> for Stopped {
    fn from(unreadable: Unreadable) -> Self {
        Self::Unreadable(Box::new(unreadable))
    }
}

/// Takes one decision. What was asked becomes the primary's dependencies, whatever it came to.
///
/// # Errors
/// If the cluster could not say what was asked: that is neither yes nor no, so the decision is tried again.
pub(super) async fn decide(
    host: &Host,
    activation: &Activation,
    assembled: &Assembled,
    call: &Call,
) -> Result<Decided, Unreadable> {
    let mut request = call.request.clone();
    decided(host, activation, assembled, call, &mut request, &mut Vec::new()).await
}

/// The same with what was asked, and what was answered as far as it came to that.
pub(super) async fn decide_and_show(
    host: &Host,
    activation: &Activation,
    assembled: &Assembled,
    call: &Call,
) -> Result<(Decided, Vec<(Query, Option<Answer>)>), Unreadable> {
    let (mut request, mut asked) = (call.request.clone(), Vec::new());
    let decided = decided(host, activation, assembled, call, &mut request, &mut asked).await?;
    // Each question has one answer, in its order.
    let answers = request.answers.into_iter().map(|answered| Some(answered.answer));
    let asked = asked.into_iter().zip(answers.chain(std::iter::repeat(None)));
    Ok((decided, asked.collect()))
}

async fn decided(
    host: &Host,
    activation: &Activation,
    assembled: &Assembled,
    call: &Call,
    request: &mut Request,
    asked: &mut Vec<Query>,
) -> Result<Decided, Unreadable> {
    // At the level of errors, so that a guest's line carries it whatever is logged.
    let whose = tracing::error_span!("decision", reconciler = %activation.id, primary = %assembled.name);
    let rounds = rounds(host, activation, assembled, call, request, asked);
    let decided = rounds.instrument(whose).await;
    activation.depend(assembled.name.clone(), asked.clone());
    match decided {
        Ok(decided) => Ok(decided),
        Err(Stopped::Fault(fault)) => Ok(Decided::Faulted(fault)),
        Err(Stopped::Unreadable(unreadable)) => Err(*unreadable),
    }
}

async fn rounds(
    host: &Host,
    activation: &Activation,
    assembled: &Assembled,
    call: &Call,
    request: &mut Request,
    asked: &mut Vec<Query>,
) -> Result<Decided, Stopped> {
    let mut session = activation.guest.begin(&call.random).await?;
    let mut fetches = Fetches(MAX_SECRETS);
    for _ in 0..=MAX_ROUNDS {
        let queries = match session.call(call.entry, request).await? {
            Reply::Decided(decided) => return Ok(decided),
            Reply::Ask(queries) => queries,
        };
        let findings = check_queries(&activation.manifest, &assembled.primary, asked, &queries);
        if let Some(fault) = rejected(&findings) {
            return Err(fault.into());
        }
        let queries: Vec<Query> = queries
            .into_iter()
            .map(|query| secret_values::as_stored(host, activation, query))
            .collect();
        // Dependencies are taken down before they are answered: a change in between wakes the primary again.
        asked.extend(queries.iter().cloned());
        activation.depend(assembled.name.clone(), asked.clone());
        for query in queries {
            let answer = answer(host, activation, &query, &mut fetches).await?;
            request.answers.push(Answered { id: query.id, answer });
        }
        if objects(request) > MAX_OBJECTS {
            return Err(too_much(format!(
                "it asked for more than {MAX_OBJECTS} objects in one decision; ask for less"
            )));
        }
    }
    Err(too_much(format!(
        "it asked in more than {MAX_ROUNDS} rounds; ask for everything that is needed at once"
    )))
}

fn too_much(what: String) -> Stopped {
    Stopped::Fault(Fault {
        kind: FaultKind::GuestOutputRejected,
        message: what,
    })
}

fn objects(request: &Request) -> usize {
    let found = |answered: &Answered| match &answered.answer {
        Answer::Found(objects) | Answer::Truncated(objects) => objects.len(),
        Answer::NotServed | Answer::Forbidden(_) => 0,
    };
    request.answers.iter().map(found).sum()
}

/// What is known.
async fn answer(host: &Host, activation: &Activation, query: &Query, fetches: &mut Fetches) -> Result<Answer, Stopped> {
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
    if !allowed.map_err(Unreadable::Unknown)? {
        host.note_a_no(&activation.id);
        let place = namespace.map_or("all namespaces".into(), |namespace| format!("namespace {namespace}"));
        return Ok(Answer::Forbidden(format!("list {} in {place}", read.kind.plural)));
    }
    let (found, more) = host.store.select(watch, query);
    let found = shown(host, activation, read, &found, fetches).await?;
    Ok(if more {
        Answer::Truncated(found)
    } else {
        Answer::Found(found)
    })
}

async fn shown(
    host: &Host,
    activation: &Activation,
    read: &ReadKind,
    found: &[Object],
    fetches: &mut Fetches,
) -> Result<Vec<Object>, Stopped> {
    if activation.policy.secret_values && is_secret(&read.kind) && shows_values(&read.projection) {
        fetches.take(found.len())?;
    }
    let mut shown = Vec::with_capacity(found.len());
    for object in found {
        shown.push(secret_values::shown(host, activation, &read.kind, &read.projection, object).await?);
    }
    Ok(shown)
}
