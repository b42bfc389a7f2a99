//! Runs the guests' own cases as wasm: they come out as they do natively. One test per guest.

use crate::world::{RUNTIME, module};
use serde_json::{Value, json};
use windlass::guest::{Compiler, Limits, Loader, Module, Step};
use windlass_core::change::matches;
use windlass_core::check::{OutcomeLimits, check, check_queries};
use windlass_core::decision::{Answer, Answered, Decided, Entry, Query, Reply, Request};
use windlass_core::key::ReconcilerId;
use windlass_core::kind::KindRef;
use windlass_core::manifest::Manifest;
use windlass_core::object::Object;
use windlass_core::project::for_guest;
use windlass_sdk::testing::{Case, Expectation, compact};

macro_rules! assert_test_exists {
    ($name:ident) => {
        #[allow(unused_imports, reason = "only says that it must exist")]
        use self::$name as _;
    };
}
windlass_artifacts::foreach_guest!(assert_test_exists);

#[tokio::test]
async fn nginx() {
    come_out_as_natively("nginx", "nginx").await;
}

#[tokio::test]
async fn friend() {
    come_out_as_natively("friend", "friend").await;
}

/// The next version decides as this one does, but for the image of a Deployment that nobody has set.
#[tokio::test]
async fn nginx_next() {
    let module = load("nginx-next").await;
    for mut case in cases("nginx") {
        let text = case.expect.decided.to_string().replace("nginx:1.7.9", "nginx:1.9.1");
        case.expect.decided = serde_json::from_str(&text).unwrap();
        come_out(&module, &case).await;
    }
}

/// What it is for is shown in `cases` and `finalize`; here, that it can do both.
#[tokio::test]
async fn hostile() {
    let module = load("hostile").await;
    for (finalizes, behaviour) in [(false, "good"), (true, "none")] {
        let settings = json!({"finalizes": finalizes, "behaviour": behaviour});
        let manifest = module.describe(&settings, &Limits::default()).await.unwrap();
        assert_eq!(manifest.finalizes, finalizes);
    }
}

async fn come_out_as_natively(guest: &str, folder: &str) {
    let module = load(guest).await;
    for case in cases(folder) {
        come_out(&module, &case).await;
    }
}

async fn load(guest: &str) -> Module {
    Loader::new(RUNTIME.clone(), Compiler::InProcess)
        .load(module(guest))
        .await
        .unwrap()
}

fn cases(guest: &str) -> Vec<Case> {
    Case::load_folder(format!("{}/../guests/{guest}/tests/cases", env!("CARGO_MANIFEST_DIR")))
}

async fn come_out(module: &Module, case: &Case) {
    let actual = run(module, case).await;
    let what = format!("{}: {}", case.path.display(), case.why);
    let wanted = compact(&case.expect.decided);
    match wanted.get("describeError").and_then(Value::as_str) {
        // The host puts words of its own before the guest's.
        Some(sentence) => {
            let said = actual.decided["describeError"].as_str().unwrap_or_default().to_owned();
            assert!(said.ends_with(sentence), "{what}: {said}");
        }
        None => assert_eq!(actual.decided, wanted, "{what}"),
    }
    assert_eq!(actual.rounds, case.expect.rounds, "{what}");
}

/// Takes the decision as the host does, with the case's objects as its store.
async fn run(module: &Module, case: &Case) -> Expectation {
    let settings = if case.settings.is_null() {
        json!({})
    } else {
        case.settings.clone()
    };
    let manifest = match module.describe(&settings, &Limits::default()).await {
        Ok(manifest) => manifest,
        Err(refusal) => {
            assert_eq!(refusal.step, Step::Describe);
            let decided = json!({"describeError": refusal.message});
            return Expectation { rounds: 0, decided };
        }
    };
    let primary = Object::from_value(case.primary.clone()).unwrap();
    let entry = if primary.is_being_deleted() && manifest.finalizes {
        Entry::Finalize
    } else {
        Entry::Reconcile
    };
    let mut request = request(case, &manifest, &primary, settings);
    let guest = module.guest(&manifest, &Limits::default());
    let mut decision = guest.begin(primary.uid().as_bytes()).await.unwrap();
    for rounds in 1.. {
        match decision.call(entry, &request).await.unwrap() {
            Reply::Decided(decided) => {
                assert_allowed(&manifest, &primary, &decided);
                let decided = compact(&json!(decided));
                return Expectation { rounds, decided };
            }
            Reply::Ask(queries) => {
                assert_eq!(check_queries(&manifest, &primary, &[], &queries), []);
                for query in queries {
                    let answer = answer(case, &manifest, &query);
                    request.answers.push(Answered { id: query.id, answer });
                }
            }
        }
    }
    unreachable!("a guest that asks for ever is stopped by the host, not here")
}

/// Whatever a guest of ours decides passes the host's own rules.
fn assert_allowed(manifest: &Manifest, primary: &Object, decided: &Decided) {
    assert_eq!(check(manifest, primary, decided, &OutcomeLimits::default()), []);
}

fn request(case: &Case, manifest: &Manifest, primary: &Object, settings: Value) -> Request {
    let object = |value: &Value| Object::from_value(value.clone()).unwrap();
    Request {
        reconciler: ReconcilerId::new("windlass-system", "guest"),
        primary: for_guest(primary, &manifest.primary.projection),
        children: case.children.iter().map(object).collect(),
        not_served: case.not_served.iter().map(|kind| of(&json!(kind))).collect(),
        answers: Vec::new(),
        settings,
        now: 0,
        seed: None,
    }
}

fn answer(case: &Case, manifest: &Manifest, query: &Query) -> Answer {
    if case.not_served.iter().any(|kind| of(&json!(kind)) == query.of) {
        return Answer::NotServed;
    }
    if let Some(forbidden) = case
        .forbidden
        .iter()
        .find(|forbidden| of(&json!(forbidden.of)) == query.of)
    {
        return Answer::Forbidden(forbidden.rule.clone());
    }
    let projection = &manifest.read(&query.of).unwrap().projection;
    let all = case.world.iter().filter_map(|value| Object::from_value(value.clone()));
    let mut found: Vec<Object> = all
        .filter(|object| object.kind() == query.of && matches(query, object))
        .map(|object| for_guest(&object, projection))
        .collect();
    let limit = usize::try_from(query.limit).unwrap();
    let more = found.len() > limit;
    found.truncate(limit);
    if more {
        Answer::Truncated(found)
    } else {
        Answer::Found(found)
    }
}

/// The SDK's name of a kind in the core's words.
fn of(kind: &Value) -> KindRef {
    serde_json::from_value(kind.clone()).unwrap()
}
