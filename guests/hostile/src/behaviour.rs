//! Lists what `reconcile` can do, one small function each.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use windlass_sdk::{Child, Condition, ConditionStatus, Context, Event, Kind, Outcome, Query, Stop, log};

use crate::objects::{CONFIG_MAPS, HOSTILES, NODES, SECRETS, config_map, secret};
use crate::{Primary, Settings, children, numbers, outside, roles, secrets, told};

type Behaviour = fn(&Context<Settings>, &Primary) -> Result<Outcome, Stop>;

const BEHAVIOURS: &[(&str, Behaviour)] = &[
    // A ConfigMap named like the primary.
    ("good", |_, primary| {
        one(&config_map(primary, &primary.metadata.name, "good"))
    }),
    // What it is told to want: see `told.rs`.
    ("told", told::decide),
    // Counts its own runs in `.status.attempts`, each second anew, up to five.
    ("attempts", attempts),
    // A Job that runs once for each `spec.farewell`.
    ("run-once", run_once),
    // Three ConfigMaps, two of them named like the primary with a number.
    ("three", three),
    // No child, on purpose.
    ("none", |_, _| Ok(Outcome::none_wanted())),
    // Good, after a tenth of a second of work or so.
    ("busy", |_, primary| {
        one(&config_map(primary, &primary.metadata.name, &work().to_string()))
    }),
    // Never returns.
    ("spin", |_, _| spin()),
    // Panics, which is a trap.
    ("trap", |_, _| trap()),
    // Panics at every fourth millisecond of the clock.
    ("sometimes", sometimes),
    // Panics in the tenth call of an instance, which no instance lives to see.
    ("tenth", tenth),
    // Takes memory until there is no more.
    ("memory", |_, _| exhaust_memory()),
    // Is refused memory, and spins, or goes on without it.
    ("memory-spin", |_, _| without_memory(spin)),
    ("memory-ignored", |_, primary| {
        without_memory(|| one(&config_map(primary, &primary.metadata.name, "goes on")))
    }),
    // Runs out of stack.
    ("recurse", |_, primary| {
        one(&config_map(primary, &primary.metadata.name, &recurse(0).to_string()))
    }),
    // A good child, and one of a kind that it did not declare.
    ("forbidden-child", forbidden_child),
    // A good child, and one in the namespace `kube-system`.
    ("foreign-namespace", foreign_namespace),
    // A child with a label that is the host's own.
    ("host-label", |_, primary| {
        one(&with_metadata(
            primary,
            "labels",
            json!({"windlass.dev/primary-uid": "mine"}),
        ))
    }),
    // A child with an owner of its own.
    ("own-owner", own_owner),
    // A child that would make itself a module, that carries the host's annotation, or its finalizer.
    ("drop-in-label", children::drop_in_label),
    ("host-annotation", children::host_annotation),
    ("host-finalizer", children::host_finalizer),
    // A child that is a Role, a ClusterRole, a CRD, a Reconciler, or the ConfigMap with this very module.
    ("role", children::role),
    ("cluster-role", children::cluster_role),
    ("crd", children::crd),
    ("reconciler", children::reconciler),
    ("own-module", children::own_module),
    // A child whose name is not a name, is too long, or is not there; and one without a kind.
    ("bad-name", |_, primary| one(&config_map(primary, "Not_A_Name", "bad"))),
    ("long-name", |_, primary| {
        one(&config_map(primary, &"a".repeat(300), "bad"))
    }),
    ("no-name", |_, primary| one(&config_map(primary, "", "bad"))),
    ("no-kind", |_, _| one(&json!({"metadata": {"name": "kindless"}}))),
    // A child that the API server refuses: its data has a key that is not one.
    ("refused-child", refused_child),
    // The same child twice.
    ("twice", twice),
    // Says `exactly`, and then nothing.
    ("empty-exactly", |_, _| Ok(Outcome::exactly([]))),
    // The order of twelve keys in a hash map with the default hasher, in the child's data.
    ("shuffle", |_, primary| {
        one(&config_map(primary, &primary.metadata.name, &shuffled()))
    }),
    // One child of 8 MiB.
    ("big-output", |_, primary| {
        one(&config_map(primary, &primary.metadata.name, &"x".repeat(8 << 20)))
    }),
    // One child of 100 KiB.
    ("hundred-kibibytes", |_, primary| {
        one(&config_map(primary, &primary.metadata.name, &"x".repeat(100 << 10)))
    }),
    // 1,000 children.
    ("many-children", many_children),
    // 1,000 Events.
    ("many-events", |_, _| Ok(eventful(1_000))),
    // Eight Events, each second anew.
    ("chatter", |_, _| Ok(eventful(8).requeue_after(Duration::from_secs(1)))),
    // A new question every round.
    ("ask-forever", ask_forever),
    // 1,000 questions in one round.
    ("ask-much", ask_much),
    // A question about more objects than there are numbers, or about none.
    ("ask-most", |context, primary| ask_limit(context, primary, u32::MAX)),
    ("ask-zero", |context, primary| ask_limit(context, primary, 0)),
    // One question of 200 KB.
    ("ask-long", ask_long),
    // A question about a kind that it did not declare.
    ("ask-undeclared", ask_undeclared),
    // A question about another namespace.
    ("ask-elsewhere", ask_elsewhere),
    // Not-a-numbers and roundings in bits, and vector operations that machines may round as they like, in the child's data.
    ("floats", |_, primary| {
        one(&config_map(primary, &primary.metadata.name, &numbers::floats()))
    }),
    ("vectors", |_, primary| {
        one(&config_map(primary, &primary.metadata.name, &numbers::vectors()))
    }),
    // What it sees of the world outside, in the child's data; or a wait for it.
    ("clocks", |_, primary| seen(primary, outside::clocks)),
    ("environment", |_, primary| seen(primary, outside::environment)),
    ("files", |_, primary| seen(primary, outside::files)),
    ("input", |_, primary| seen(primary, outside::input)),
    ("sockets", |_, primary| seen(primary, outside::sockets)),
    ("sleep", |_, primary| seen(primary, outside::sleep)),
    // The number of ConfigMaps in its namespace labelled `friend=yes`, in the child's data.
    ("count", count),
    // 2,000 lines of 10 KB in the log.
    ("log-flood", log_flood),
    // The time it was given, in the child's data, each second anew.
    ("clock", clock),
    // The password in a Secret: of this name, of this value, in a child of its own, or copied.
    ("show-secret", secrets::show),
    ("find-secret", secrets::find),
    ("keep-secret", secrets::keep),
    ("copy-secret", secrets::copy),
    // Its own Secret and its input in the log: a token in it, another one, and one that the API server refuses.
    ("tell-secret", |context, primary| {
        secrets::tell(context, primary, "token", "S3CR3T-42")
    }),
    ("tell-another-secret", |context, primary| {
        secrets::tell(context, primary, "token", "S3CR3T-42, changed")
    }),
    ("tell-refused-secret", |context, primary| {
        secrets::tell(context, primary, "not a key!", "S3CR3T-42")
    }),
    // A Secret with a password that is derived from the seed, and with a key.
    ("password", secrets::password),
    // The host's own condition.
    ("reconciled", reconciled),
    // Says that it waits, or that the primary is wrong.
    ("waiting", |_, _| Err(Stop::waiting("waits for something on purpose"))),
    ("invalid", |_, _| {
        Err(Stop::invalid("spec.behaviour: is wrong on purpose"))
    }),
    // Questions about a node, and about the primary itself, which it did not declare.
    ("ask-node", |context, primary| ask_about(context, primary, &NODES)),
    ("ask-self", |context, primary| ask_about(context, primary, &HOSTILES)),
    // Children that give rights: see `roles.rs`, and `roles` in `describe.rs`.
    ("cluster-role", |_, primary| roles::cluster_role(primary)),
    ("cluster-role-binding", |_, primary| {
        roles::cluster_role_binding(primary)
    }),
    ("role-binding", |_, primary| roles::role_binding(primary)),
];

/// Does what `name` says.
pub(crate) fn run(name: &str, context: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let found = BEHAVIOURS.iter().find(|(known, _)| *known == name);
    let (_, behaviour) = found.ok_or_else(|| Stop::invalid(format!("spec.behaviour: there is no {name:?}")))?;
    behaviour(context, primary)
}

fn work() -> u64 {
    (0..40_000_000_u64).fold(0, |sum, number| black_box(sum.wrapping_add(number)))
}

pub(crate) fn spin() -> ! {
    let mut count = 0_u64;
    loop {
        count = black_box(count.wrapping_add(1));
    }
}

/// Takes a moment.
pub(crate) fn count_to(end: u64) {
    for number in 0..end {
        let _ = black_box(number);
    }
}

pub(crate) fn trap() -> ! {
    panic!("traps on purpose")
}

pub(crate) fn exhaust_memory() -> ! {
    let mut blocks = Vec::new();
    loop {
        blocks.push(black_box(vec![1_u8; 1 << 20]));
    }
}

#[expect(unconditional_recursion, reason = "that is the point")]
fn recurse(depth: u64) -> u64 {
    // Frames this small use up the stack of calls before the one in memory.
    black_box(recurse(black_box(depth + 1))) + 1
}

/// Wants a gibibyte at once, which is refused, and goes on.
fn without_memory<T>(on: impl FnOnce() -> T) -> T {
    let mut block: Vec<u8> = Vec::new();
    assert!(
        black_box(&mut block).try_reserve_exact(1 << 30).is_err(),
        "there is no limit"
    );
    on()
}

fn sometimes(context: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    if context.now.as_millis().is_multiple_of(4) {
        trap();
    }
    one(&config_map(primary, &primary.metadata.name, "good"))
}

fn tenth(_: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    if CALLS.fetch_add(1, Ordering::Relaxed) >= 10 {
        trap();
    }
    one(&config_map(primary, &primary.metadata.name, "good"))
}

/// A child that says what was seen.
fn seen(primary: &Primary, see: fn() -> String) -> Result<Outcome, Stop> {
    one(&config_map(primary, &primary.metadata.name, &see()))
}

pub(crate) fn one(child: &Value) -> Result<Outcome, Stop> {
    Ok(Outcome::exactly([Child::new(child)]))
}

fn three(_: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let name = &primary.metadata.name;
    let names = [name.clone(), format!("{name}-2"), format!("{name}-3")];
    Ok(Outcome::exactly(
        names.map(|name| Child::new(&config_map(primary, &name, "one of three"))),
    ))
}

pub(crate) fn with_metadata(primary: &Primary, key: &str, value: Value) -> Value {
    let mut child = config_map(primary, &primary.metadata.name, "bad");
    child["metadata"][key] = value;
    child
}

fn forbidden_child(_: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let good = config_map(primary, &primary.metadata.name, "good");
    Ok(Outcome::exactly([Child::new(&good), Child::new(&secret(primary))]))
}

fn foreign_namespace(_: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let good = config_map(primary, &primary.metadata.name, "good");
    let foreign = with_metadata(primary, "namespace", json!("kube-system"));
    Ok(Outcome::exactly([Child::new(&good), Child::new(&foreign)]))
}

fn own_owner(_: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let owner = json!([{"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "1"}]);
    one(&with_metadata(primary, "ownerReferences", owner))
}

fn refused_child(_: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let mut child = config_map(primary, &primary.metadata.name, "refused");
    child["data"]["not a key!"] = json!("");
    one(&child)
}

fn twice(_: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let texts = ["first", "second"];
    Ok(Outcome::exactly(texts.map(|text| {
        Child::new(&config_map(primary, &primary.metadata.name, text))
    })))
}

fn shuffled() -> String {
    let map: HashMap<String, usize> = (0..12).map(|number| (format!("key-{number}"), number)).collect();
    map.keys().map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn many_children(_: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let names = (0..1_000).map(|number| format!("{}-{number}", primary.metadata.name));
    Ok(Outcome::exactly(
        names.map(|name| Child::new(&config_map(primary, &name, "one of many"))),
    ))
}

fn eventful(count: usize) -> Outcome {
    (0..count).fold(Outcome::none_wanted(), |outcome, number| {
        outcome.event(Event::normal("Many", format!("event {number}")))
    })
}

fn ask_forever(context: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    for number in 0_u64.. {
        context.ask(config_maps(primary, &format!("question-{number}")))?;
    }
    Ok(Outcome::none_wanted())
}

fn ask_much(context: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let questions = (0..1_000).map(|number| config_maps(primary, &format!("question-{number}")));
    context.ask_each(&questions.collect::<Vec<_>>())?;
    Ok(Outcome::none_wanted())
}

fn ask_limit(context: &Context<Settings>, primary: &Primary, limit: u32) -> Result<Outcome, Stop> {
    context.ask(config_maps(primary, "any").limit(limit))?;
    Ok(Outcome::none_wanted())
}

fn ask_long(context: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    context.ask(config_maps(primary, &"a".repeat(200_000)))?;
    Ok(Outcome::none_wanted())
}

fn ask_undeclared(context: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    context.ask(Query::name(&SECRETS, "any").namespace(&primary.metadata.namespace))?;
    Ok(Outcome::none_wanted())
}

fn ask_elsewhere(context: &Context<Settings>, _: &Primary) -> Result<Outcome, Stop> {
    context.ask(Query::name(&CONFIG_MAPS, "any").namespace("kube-system"))?;
    Ok(Outcome::none_wanted())
}

fn count(context: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let friends = Query::labels(&CONFIG_MAPS, "friend=yes").namespace(&primary.metadata.namespace);
    let friends: Vec<Value> = context.ask(friends)?.all()?;
    one(&config_map(primary, &primary.metadata.name, &friends.len().to_string()))
}

fn log_flood(_: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let line = "x".repeat(10_000);
    (0..2_000).for_each(|_| log::info(&line));
    one(&config_map(primary, &primary.metadata.name, "flooded"))
}

fn clock(context: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let now = context.now.as_millis().to_string();
    let child = Child::new(&config_map(primary, &primary.metadata.name, &now));
    Ok(Outcome::exactly([child]).requeue_after(Duration::from_secs(1)))
}

fn reconciled(_: &Context<Settings>, _: &Primary) -> Result<Outcome, Stop> {
    let condition = Condition::new(
        "Reconciled",
        ConditionStatus::True,
        "Mine",
        "This is not the guest's to say.",
    );
    Ok(Outcome::none_wanted().condition(condition))
}

fn ask_about(context: &Context<Settings>, primary: &Primary, kind: &Kind) -> Result<Outcome, Stop> {
    context.ask(Query::name(kind, &primary.metadata.name))?;
    Ok(Outcome::none_wanted())
}

fn config_maps(primary: &Primary, name: &str) -> Query {
    Query::name(&CONFIG_MAPS, name).namespace(&primary.metadata.namespace)
}

fn attempts(_: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let attempts = primary.status["attempts"].as_u64().unwrap_or(0) + 1;
    let outcome = Outcome::unchanged().status(&json!({"attempts": attempts}));
    Ok(match attempts {
        0..5 => outcome.requeue_after(Duration::from_secs(1)),
        _ => outcome,
    })
}

/// A Job that is to run once for each text in `spec.farewell`, and is no more asked for when its completion is in the status: that
/// its TTL has removed it by then is no reason to run it again (D-13).
fn run_once(context: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let name = &primary.metadata.name;
    let done = json!({"done": primary.spec.farewell});
    let job = context
        .children
        .iter()
        .find_map(|child| serde_json::from_str::<Value>(child).ok());
    let conditions = job.as_ref().and_then(|job| job["status"]["conditions"].as_array());
    let completed = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Complete" && condition["status"] == "True");
    let args = json!([primary.spec.farewell.to_string()]);
    let is_of_now = |job: &Value| job["spec"]["template"]["spec"]["containers"][0]["args"] == args;
    if primary.status["told"] == done || completed && job.as_ref().is_some_and(is_of_now) {
        return Ok(Outcome::unchanged().status(&json!({"told": done})));
    }
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "namespace": primary.metadata.namespace},
        "spec": {
            "ttlSecondsAfterFinished": 1,
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "once", "image": "once:1", "args": args}]}},
        },
    });
    Ok(Outcome::exactly([Child::new(&job).or_recreate()]))
}
