//! Runs a guest's logic natively: a list of objects stands in for the cluster and answers its queries.
//!
//! ```
//! # use windlass_sdk::{Context, Kind, Manifest, NoSettings, Object, Outcome, Query, Projection, Read, Reconciler, Stop};
//! # const PODS: Kind = Kind::namespaced("", "v1", "Pod", "pods");
//! # struct Watcher;
//! # impl Reconciler for Watcher {
//! #     type Primary = Object<()>;
//! #     type Settings = NoSettings;
//! #     fn describe(_: &NoSettings) -> Result<Manifest, String> {
//! #         Ok(Manifest::new("watcher", "1", Kind::namespaced("a", "v1", "W", "ws"))
//! #             .read(Read::new(PODS, Projection::Metadata)))
//! #     }
//! #     fn reconcile(context: &Context<NoSettings>, w: &Object<()>) -> Result<Outcome, Stop> {
//! #         let pod = context.ask(Query::name(&PODS, &w.metadata.name).namespace(&w.metadata.namespace))?;
//! #         Ok(Outcome::none_wanted().status(&serde_json::json!({"seen": pod.exists()?})))
//! #     }
//! # }
//! use serde_json::json;
//! use windlass_sdk::testing::Harness;
//!
//! let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default", "name": "joe"}});
//! let report = Harness::<Watcher>::new()
//!     .world([pod])
//!     .run(&json!({"metadata": {"namespace": "default", "name": "joe"}, "spec": null}));
//! assert_eq!(report.status(), Some(json!({"seen": true})));
//! assert_eq!(report.rounds, 2);
//! ```

mod case;
mod selector;
mod world;

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

pub use case::{Case, Expectation, Forbidden, compact};

use crate::log::{Level, collected};
use crate::manifest::{KindRef, Manifest};
use crate::outcome::{Child, Children, Outcome};
use crate::query::{Answer, Query};
use crate::reconciler::Reconciler;
use crate::run::{self, FinalReply, Reply, Request};
use crate::seed::Seed;
use crate::stop::Failure;
use world::World;

/// As a host has it: how often a decision is called before it must have come to something.
const ROUNDS: usize = 4;

/// A guest and all that it can see.
#[derive(Debug, Clone)]
pub struct Harness<R> {
    settings: Value,
    children: Vec<Value>,
    world: World,
    now: Duration,
    seed: Option<Seed>,
    guest: PhantomData<R>,
}

impl<R: Reconciler> Default for Harness<R> {
    fn default() -> Self {
        Harness {
            settings: Value::Null,
            children: Vec::new(),
            world: World::default(),
            now: Duration::ZERO,
            seed: None,
            guest: PhantomData,
        }
    }
}

impl<R: Reconciler> Harness<R> {
    /// The guest `R` without settings, in an empty cluster.
    pub fn new() -> Self {
        Harness::default()
    }

    /// `spec.settings` of its `Reconciler`.
    pub fn settings(mut self, settings: Value) -> Self {
        self.settings = settings;
        self
    }

    /// The objects that queries are answered from, all kinds together. Each needs `apiVersion` and `kind`.
    pub fn world(mut self, objects: impl IntoIterator<Item = Value>) -> Self {
        self.world.objects = objects.into_iter().collect();
        self
    }

    /// What the guest already owns for the primary.
    pub fn children(mut self, children: impl IntoIterator<Item = Value>) -> Self {
        self.children = children.into_iter().collect();
        self
    }

    /// The cluster does not serve this kind.
    pub fn not_served(mut self, kind: KindRef) -> Self {
        self.world.not_served.push(kind);
        self
    }

    /// This kind may not be read; `rule` is the text of the answer.
    pub fn forbidden(mut self, kind: KindRef, rule: impl Into<String>) -> Self {
        self.world.forbidden.push((kind, rule.into()));
        self
    }

    /// The time, for a guest that needs it.
    pub fn now(mut self, now: Duration) -> Self {
        self.now = now;
        self
    }

    /// The seed, for a guest that needs it.
    pub fn seed(mut self, seed: [u8; 32]) -> Self {
        self.seed = Some(Seed::new(seed.to_vec()));
        self
    }

    /// What the guest says about itself with these settings.
    ///
    /// # Errors
    /// The guest's own sentence.
    pub fn describe(&self) -> Result<Manifest, String> {
        run::describe::<R>(&self.settings.to_string())
    }

    /// Takes one decision about `primary`; calls `finalize` if it is being deleted and the guest finalizes.
    ///
    /// # Panics
    /// When the guest asks for something that its manifest does not allow, which a host would refuse.
    pub fn run(&self, primary: &Value) -> Report {
        let ((decided, rounds, asked), log) = collected::while_running(|| match self.describe() {
            Ok(manifest) => self.decide(&manifest, primary),
            Err(message) => (Decided::DescribeError(message), 0, Vec::new()),
        });
        Report {
            decided,
            rounds,
            asked,
            log,
        }
    }

    fn decide(&self, manifest: &Manifest, primary: &Value) -> (Decided, usize, Vec<Query>) {
        let deleting = primary
            .pointer("/metadata/deletionTimestamp")
            .is_some_and(|time| !time.is_null());
        let call = if deleting && manifest.finalizes {
            finalize::<R>
        } else {
            reconcile::<R>
        };
        let mut request = self.request(primary);
        let mut asked = Vec::new();
        for round in 1..=ROUNDS {
            let queries = match call(request.clone()) {
                Decided::StillAsking(queries) => queries,
                decided => return (decided, round, asked),
            };
            for query in queries {
                let answer = self.world.answer(manifest, primary, &query);
                request.answers.insert(query.id(), answer);
                asked.push(query);
            }
        }
        (Decided::StillAsking(asked.clone()), ROUNDS, asked)
    }

    fn request(&self, primary: &Value) -> Request {
        Request {
            reconciler: ("windlass-system".to_owned(), "guest".to_owned()),
            primary: primary.to_string(),
            children: self.children.iter().map(Value::to_string).collect(),
            not_served: self.world.not_served.clone(),
            answers: BTreeMap::<String, Answer>::new(),
            settings: self.settings.to_string(),
            now: self.now,
            seed: self.seed.clone(),
        }
    }
}

fn reconcile<R: Reconciler>(request: Request) -> Decided {
    match run::reconcile::<R>(request) {
        Ok(Reply::Decide(outcome)) => Decided::Outcome(outcome),
        Ok(Reply::Ask(queries)) => Decided::StillAsking(queries),
        Err(failure) => Decided::Failed(failure),
    }
}

fn finalize<R: Reconciler>(request: Request) -> Decided {
    match run::finalize::<R>(request) {
        Ok(FinalReply::Proceed(outcome)) => Decided::Proceed(outcome),
        Ok(FinalReply::Done) => Decided::Done,
        Ok(FinalReply::Ask(queries)) => Decided::StillAsking(queries),
        Err(failure) => Decided::Failed(failure),
    }
}

/// What a decision came to. As JSON it has the form that the host's own decisions have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Decided {
    /// `reconcile` came to this.
    Outcome(Outcome),
    /// `finalize` is not finished.
    Proceed(Outcome),
    /// `finalize` is finished.
    Done,
    /// It waits, or the primary is invalid.
    Failed(Failure),
    /// `describe` refused the settings.
    DescribeError(String),
    /// It was still asking after as many rounds as a host gives; all that it asked.
    StillAsking(Vec<Query>),
}

/// One decision: its result, and how it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The result.
    pub decided: Decided,
    /// How often the guest was called.
    pub rounds: usize,
    /// All that it asked, in this order.
    pub asked: Vec<Query>,
    /// The lines it logged.
    pub log: Vec<(Level, String)>,
}

impl Report {
    /// The outcome, also that of an unfinished `finalize`.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.decided {
            Decided::Outcome(outcome) | Decided::Proceed(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// The children it wants, as objects; those on hold and other plans aside.
    pub fn children(&self) -> Vec<Value> {
        let Some(Outcome {
            children: Children::Exactly(children),
            ..
        }) = self.outcome()
        else {
            return Vec::new();
        };
        let wanted = children.iter().filter_map(|child| match child {
            Child::Want(wanted) => Some(wanted.object.value()),
            Child::Hold(_) => None,
        });
        wanted.collect()
    }

    /// The status fields it wants to own.
    pub fn status(&self) -> Option<Value> {
        self.outcome()?.status.as_ref().map(crate::Json::value)
    }

    /// The message, if it failed or refused its settings.
    pub fn message(&self) -> Option<&str> {
        match &self.decided {
            Decided::Failed(failure) => Some(&failure.message),
            Decided::DescribeError(message) => Some(message),
            _ => None,
        }
    }
}
