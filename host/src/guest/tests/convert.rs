//! What a guest returned is text of its own making, and is read with limits (E-09, E-10).

use crate::guest::bindings::decision as wit;
use crate::guest::convert::{final_reply, reply};
use std::time::Duration;
use windlass_core::decision::{Decided, Reply};

fn outcome(status: Option<&str>, children: &[&str]) -> wit::Outcome {
    let child = |text: &&str| {
        wit::DesiredChild::Want(wit::WantedChild {
            object: (*text).into(),
            mode: wit::WriteMode::Apply,
            propagation: wit::Propagation::Background,
            retain: false,
        })
    };
    wit::Outcome {
        children: wit::ChildrenPlan::Exactly(children.iter().map(child).collect()),
        primary: None,
        status: status.map(Into::into),
        conditions: Vec::new(),
        events: Vec::new(),
        requeue_after: None,
    }
}

fn read(outcome: wit::Outcome) -> Result<Reply, String> {
    reply(Ok(wit::Reply::Decide(outcome)))
}

#[test]
fn an_unreadable_answer_is_refused_with_the_name_of_its_field() {
    let deep = format!("{}{}", r#"{"a":"#.repeat(10_000), "1".to_owned() + &"}".repeat(10_000));
    let many = format!(r#"{{"a":[{}0]}}"#, "0,".repeat(300_000));
    let cases = [
        (outcome(None, &["{}", "nonsense"]), "`children[1].object`"),
        (outcome(None, &["[]"]), "`children[0].object` has to be a JSON map"),
        (outcome(None, &[r#"{"a": 1} x"#]), "`children[0].object`"),
        (outcome(Some("null"), &["{}"]), "`status` has to be a JSON map"),
        (outcome(Some(&deep), &["{}"]), "recursion limit"),
        (outcome(None, &["{}", &many]), "250000 values"),
        (outcome(Some(r#"{"a":1e999}"#), &["{}"]), "`status`"),
    ];
    for (outcome, words) in cases {
        let why = read(outcome).expect_err(words);
        assert!(why.contains(words), "no {words:?} in {why:?}");
    }
    let primary = wit::Outcome {
        primary: Some("1".into()),
        ..outcome(None, &["{}"])
    };
    assert!(read(primary).expect_err("a number is no object").contains("`primary`"));
}

#[test]
fn commas_in_texts_are_no_values() {
    let csv = format!(r#"{{"data":{{"csv":"\"{}"}}}}"#, "1,2,[{".repeat(100_000));
    assert!(read(outcome(None, &[&csv])).is_ok());
}

#[test]
fn e_10_the_longest_requeue_is_read_without_overflow() {
    let forever = wit::Outcome {
        requeue_after: Some(u64::MAX),
        ..outcome(None, &["{}"])
    };
    let Ok(Reply::Decided(Decided::Outcome(read))) = read(forever) else {
        panic!("no outcome")
    };
    assert_eq!(read.requeue_after, Some(Duration::from_millis(u64::MAX)));
}

#[test]
fn finalize_is_done_only_when_the_guest_says_so() {
    assert_eq!(
        final_reply(Ok(wit::FinalReply::Done)),
        Ok(Reply::Decided(Decided::Done))
    );
    let failure = wit::Failure {
        kind: wit::FailureKind::Waiting,
        message: "not yet".into(),
        status: None,
        conditions: Vec::new(),
    };
    assert!(matches!(
        final_reply(Err(failure)),
        Ok(Reply::Decided(Decided::Failed(_)))
    ));
}
