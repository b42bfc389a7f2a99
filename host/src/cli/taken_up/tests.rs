//! Tells every standing of a Reconciler from its status alone.

use super::*;
use serde_json::{Value, json};

fn awaited() -> Awaited {
    Awaited {
        digest: "new".into(),
        generation: 3,
        before: ReconcilerStatus::default(),
    }
}

fn condition(type_: &str, status: &str, reason: &str) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": format!("{reason}."), "lastTransitionTime": ""})
}

fn active(digest: &str) -> Value {
    json!({"digest": digest, "shortDigest": digest, "name": "nginx", "version": "1", "kind": "Nginx", "strict": true,
        "rightsHash": "h"})
}

fn refused(digest: &str, step: &str) -> Value {
    json!({"digest": digest, "step": step, "reason": "Why", "message": "words"})
}

fn stands(mut value: Value) -> String {
    value
        .as_object_mut()
        .unwrap()
        .entry("observedGeneration")
        .or_insert(3.into());
    let status: ReconcilerStatus = serde_json::from_value(value).unwrap();
    match standing(&status, &awaited()) {
        Standing::Runs => "runs".into(),
        Standing::Refused(refused) => format!("refused {} {}", refused.step, refused.reason),
        Standing::Waits(waiting) => format!("waits {} {}", waiting.step, waiting.reason),
    }
}

#[test]
fn every_standing_follows_from_the_status() {
    let (ready, old) = (json!([condition("Ready", "True", "Running")]), active("old"));
    let poor = json!([
        condition("Loaded", "True", "Compiled"),
        condition("Permitted", "False", "NoAccount"),
        condition("Synced", "Unknown", "NotReached"),
        condition("Ready", "False", "NoAccount")
    ]);
    let pinned = json!([
        condition("Loaded", "True", "SourceMismatch"),
        condition("Ready", "True", "Running")
    ]);
    let lost = json!([
        condition("Loaded", "False", "SourceMismatch"),
        condition("Ready", "False", "SourceMismatch")
    ]);
    let failing = json!([
        condition("Loaded", "True", "Compiled"),
        condition("Ready", "False", "DecisionsFailing")
    ]);
    let broken = json!([
        condition("Loaded", "False", "GuestLoadFailed"),
        condition("Ready", "False", "GuestLoadFailed")
    ]);
    let table = [
        (json!({"active": active("new"), "conditions": ready}), "runs"),
        (
            json!({"active": active("new"), "conditions": ready, "observedGeneration": 2}),
            "waits Loaded NoAnswer",
        ),
        (
            json!({"active": active("new"), "conditions": []}),
            "waits Loaded NotTakenUp",
        ),
        (json!({"active": active("new"), "conditions": failing}), "runs"),
        (json!({"active": active("new"), "conditions": pinned}), "runs"),
        (json!({"active": old, "conditions": ready}), "waits Loaded NotTakenUp"),
        (
            json!({"active": old, "conditions": lost}),
            "waits Loaded SourceMismatch",
        ),
        (
            json!({"conditions": poor, "refused": refused("new", "Permitted")}),
            "waits Permitted Why",
        ),
        (json!({"conditions": poor}), "waits Permitted NoAccount"),
        (
            json!({"active": old, "conditions": poor, "refused": refused("new", "Rights")}),
            "waits Rights Why",
        ),
        (
            json!({"active": old, "conditions": broken, "refused": refused("new", "Compile")}),
            "refused Compile Why",
        ),
        // It was refused before, for what it was told then.
        (
            json!({"active": old, "conditions": broken, "refused": refused("new", "Describe"), "observedGeneration": 2}),
            "waits Loaded NoAnswer",
        ),
        (
            json!({"active": old, "conditions": broken, "refused": refused("other", "Compile")}),
            "waits Loaded NotTakenUp",
        ),
        (
            json!({"conditions": broken, "refused": refused("", "Fetch")}),
            "waits Fetch Why",
        ),
        (json!({}), "waits Loaded NotTakenUp"),
    ];
    for (status, wanted) in table {
        let shown = status.to_string();
        assert_eq!(stands(status), wanted, "{shown}");
    }
}

fn end(status: Value, before: Value) -> Ended {
    let status: ReconcilerStatus = serde_json::from_value(status).unwrap();
    let before = serde_json::from_value(before).unwrap();
    let awaited = Awaited { before, ..awaited() };
    let stands = standing(&status, &awaited);
    ended(
        &ReconcilerId::new("team-a", "nginx"),
        &awaited,
        (status, stands),
        Duration::from_secs(9),
    )
}

#[test]
fn the_end_is_a_sentence_with_what_runs_and_where_the_module_stopped() {
    let ready = json!([condition("Ready", "True", "Running")]);
    let primaries = json!({"total": 2, "ready": 1, "failing": 0, "summary": "1/2"});
    let runs = json!({"observedGeneration": 3, "active": active("new"), "conditions": ready, "primaries": primaries});
    let runs = end(runs, json!({}));
    assert!(runs.runs());
    assert_eq!(
        runs.text().unwrap(),
        "nginx 1 (new) runs for Reconciler team-a/nginx: 1/2 Nginx ready\n"
    );

    let broken = json!([condition("Loaded", "False", "GuestLoadFailed")]);
    let refused = json!({"observedGeneration": 3, "active": active("old"), "conditions": broken,
        "refused": refused("new", "Compile")});
    let refused = end(refused, json!({})).text().unwrap_err().to_string();
    assert_eq!(
        refused,
        "Reconciler team-a/nginx: module new is refused at Compile: Why: words. nginx 1 (old) runs on."
    );
}

#[test]
fn an_unchanged_status_at_the_end_of_the_time_means_that_no_host_runs() {
    let old = json!({"observedGeneration": 2, "active": active("old")});
    let silent = end(old.clone(), old.clone()).text().unwrap_err().to_string();
    assert!(
        silent.contains("waits at Loaded: NoHost: no host has answered within 9 s")
            && silent.contains("namespace team-a?"),
        "{silent}"
    );
    let slow = end(old, json!({})).text().unwrap_err().to_string();
    assert!(
        slow.contains("waits at Loaded: NoAnswer") && slow.contains("(waited 9 s"),
        "{slow}"
    );

    let poor = json!({"observedGeneration": 3, "conditions": [condition("Permitted", "False", "NoAccount")],
        "refused": refused("new", "Permitted")});
    let waits = end(poor.clone(), json!({})).text().unwrap_err().to_string();
    assert_eq!(
        waits,
        "Reconciler team-a/nginx: module new waits at Permitted: Why: words (waited 9 s; it is taken up when that \
         comes). Nothing runs."
    );
    // It waited for that before: then only the host's silence may be new.
    let still = end(poor.clone(), poor).text().unwrap_err().to_string();
    assert!(
        still.contains("Permitted: Why: words (waited") && still.contains("No host has said anything since"),
        "{still}"
    );
}

#[test]
fn the_result_for_programs_has_these_fields() {
    let poor = json!({"observedGeneration": 3, "conditions": [condition("Permitted", "False", "NoAccount")]});
    let mut said = serde_json::to_value(end(poor, json!({}))).unwrap();
    let message = said["message"].take();
    assert!(message.as_str().unwrap().starts_with("NoAccount (waited"));
    let wanted = json!({
        "reconciler": {"namespace": "team-a", "name": "nginx"}, "digest": "new", "runs": false, "refused": false,
        "step": "Permitted", "reason": "NoAccount", "failing": null, "message": null, "active": null, "primaries": null,
    });
    assert_eq!(said, wanted);
}

#[test]
fn a_time_has_a_unit() {
    assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
    assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
    for bad in ["90", "-5s", "soon", ""] {
        assert!(duration(bad).unwrap_err().contains("90s or 5m"), "{bad}");
    }
}
