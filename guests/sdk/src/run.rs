//! Runs one call of a guest: decodes settings and primary, calls the author's code, sorts the result.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::context::Context;
use crate::json::decode;
use crate::manifest::{KindRef, Manifest};
use crate::outcome::Outcome;
use crate::query::{Answer, Query};
use crate::reconciler::{Finalized, Reconciler};
use crate::seed::Seed;
use crate::stop::{Failure, Stop};

/// One call, in plain types; see `request` in `wit/decision.wit`.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) reconciler: (String, String),
    pub(crate) primary: String,
    pub(crate) children: Vec<String>,
    pub(crate) not_served: Vec<KindRef>,
    pub(crate) answers: BTreeMap<String, Answer>,
    pub(crate) settings: String,
    pub(crate) now: Duration,
    pub(crate) seed: Option<Seed>,
}

/// What `reconcile` answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    Ask(Vec<Query>),
    Decide(Outcome),
}

/// What `finalize` answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FinalReply {
    Ask(Vec<Query>),
    Proceed(Outcome),
    Done,
}

pub(crate) fn describe<R: Reconciler>(settings: &str) -> Result<Manifest, String> {
    R::describe(&settings_of::<R>(settings)?)
}

pub(crate) fn reconcile<R: Reconciler>(request: Request) -> Result<Reply, Failure> {
    match with_decoded::<R, _>(request, R::reconcile) {
        Ok(outcome) => Ok(Reply::Decide(outcome)),
        Err(Stop::Ask(queries)) => Ok(Reply::Ask(queries)),
        Err(Stop::Fail(failure)) => Err(failure),
    }
}

pub(crate) fn finalize<R: Reconciler>(request: Request) -> Result<FinalReply, Failure> {
    match with_decoded::<R, _>(request, R::finalize) {
        Ok(Finalized::Proceed(outcome)) => Ok(FinalReply::Proceed(outcome)),
        Ok(Finalized::Done) => Ok(FinalReply::Done),
        Err(Stop::Ask(queries)) => Ok(FinalReply::Ask(queries)),
        Err(Stop::Fail(failure)) => Err(failure),
    }
}

fn with_decoded<R: Reconciler, T>(
    request: Request,
    call: impl FnOnce(&Context<R::Settings>, &R::Primary) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let settings = settings_of::<R>(&request.settings).map_err(Failure::invalid)?;
    let primary = decode(&request.primary).map_err(Failure::invalid)?;
    let context = Context {
        settings,
        reconciler: request.reconciler,
        children: request.children,
        not_served: request.not_served,
        now: request.now,
        seed: request.seed,
        answers: request.answers,
    };
    call(&context, &primary)
}

/// A `Reconciler` without settings has none, `null` or `{}`.
fn settings_of<R: Reconciler>(text: &str) -> Result<R::Settings, String> {
    match text.trim() {
        "" | "null" | "{}" => Ok(R::Settings::default()),
        text => decode(text).map_err(|reason| format!("settings: {reason}")),
    }
}
