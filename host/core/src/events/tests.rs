//! Says things in many orders, and looks at what is written of them.

use super::*;
use crate::decision::Severity;

fn event(reason: &str, note: &str) -> EventNote {
    EventNote {
        severity: Severity::Warning,
        reason: reason.into(),
        note: note.into(),
        from_guest: false,
        is_news: true,
    }
}

fn still(note: &str) -> EventNote {
    EventNote {
        is_news: false,
        ..event("Failed", note)
    }
}

fn guests(note: &str) -> EventNote {
    EventNote {
        from_guest: true,
        ..event("Scaled", note)
    }
}

fn object(name: &str, uid: &str) -> Object {
    Object::from_value(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "uid": uid}}))
        .unwrap_or_default()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Says something at this second.
fn say(told: &mut Told, event: &EventNote, at: u64) -> Put {
    told.say(&event.reason, event, seconds(at), AGAIN)
}

fn found(told: &mut Told, event: &EventNote, note: &str, ago: u64, at: u64) -> Put {
    let there = Found {
        count: 7,
        note,
        ago: seconds(ago),
    };
    told.found(&event.reason, event, &there, seconds(at), AGAIN)
}

#[test]
fn a_name_is_that_of_object_and_reason_and_of_a_guests_note() {
    let id = ReconcilerId::new("a", "b");
    let of = |about: &Object, event: &EventNote| name(&id, about, event);
    let web = object("web", "1");
    let first = of(&web, &event("Failed", "one"));
    assert_eq!(
        first,
        of(&web, &event("Failed", "other")),
        "the host's note does not count"
    );
    assert_ne!(of(&web, &guests("one")), of(&web, &guests("other")), "a guest's does");
    assert_ne!(first, of(&web, &event("Invalid", "one")));
    assert_ne!(first, of(&object("web", "2"), &event("Failed", "one")));
    assert_ne!(first, name(&ReconcilerId::new("a", "c"), &web, &event("Failed", "one")));
    assert_eq!(crate::syntax::subdomain(&first), Ok(()), "{first}");
    let long = of(&object(&"a.".repeat(126), "1"), &event("Failed", ""));
    assert_eq!(crate::syntax::subdomain(&long), Ok(()), "{long}");
}

#[test]
fn what_flips_for_hours_is_written_once_a_minute() {
    let mut told = Told::new(seconds(0));
    assert_eq!(say(&mut told, &event("Failed", "a"), 0), Put::Create);
    let mut written = Vec::new();
    for at in 1..=3_600 {
        match say(&mut told, &event("Failed", "a"), at) {
            Put::Series(count) => written.push(count),
            Put::Later(left) => assert!(left <= AGAIN),
            other => panic!("{other:?} at {at}"),
        }
    }
    assert_eq!(written.len(), 60);
    assert_eq!(written.last(), Some(&3_601), "and none is lost");
}

#[test]
fn what_goes_on_is_written_before_it_expires_and_no_oftener() {
    let mut told = Told::new(seconds(0));
    assert_eq!(say(&mut told, &event("Failed", "a"), 0), Put::Create);
    let writes: Vec<u64> = (1..=7_200)
        .filter(|at| say(&mut told, &still("a"), *at) != Put::Nothing)
        .collect();
    assert_eq!(writes, [1_800, 3_600, 5_400, 7_200]);
}

#[test]
fn other_words_follow_after_a_minute_also_where_they_are_said_once() {
    let mut told = Told::new(seconds(0));
    assert_eq!(say(&mut told, &event("Failed", "a"), 0), Put::Create);
    assert_eq!(say(&mut told, &event("Failed", "b"), 20), Put::Later(seconds(40)));
    assert_eq!(say(&mut told, &still("b"), 60), Put::Series(3));
    assert_eq!(say(&mut told, &still("b"), 120), Put::Nothing);
}

#[test]
fn after_a_restart_what_goes_on_is_not_written_and_news_go_on_where_they_were() {
    let mut told = Told::new(seconds(0));
    assert_eq!(say(&mut told, &still("a"), 1), Put::Nothing);
    let mut told = Told::new(seconds(0));
    let news = event("Failed", "b");
    assert_eq!(say(&mut told, &news, 1), Put::Create);
    assert_eq!(found(&mut told, &news, "a", 10, 1), Put::Later(seconds(50)));
    assert_eq!(say(&mut told, &still("b"), 60), Put::Series(9));
    let mut told = Told::new(seconds(0));
    assert_eq!(say(&mut told, &news, 1), Put::Create);
    assert_eq!(found(&mut told, &news, "a", 100, 1), Put::Series(8));
    let mut told = Told::new(seconds(0));
    assert_eq!(say(&mut told, &news, 1), Put::Create);
    assert_eq!(found(&mut told, &news, "b", 100, 1), Put::Nothing, "it may just go on");
}

#[test]
fn one_that_expired_begins_anew() {
    let mut told = Told::new(seconds(0));
    assert_eq!(say(&mut told, &event("Failed", "a"), 0), Put::Create);
    assert_eq!(say(&mut told, &event("Failed", "a"), 60), Put::Series(2));
    told.expired("Failed");
    assert_eq!(say(&mut told, &event("Failed", "a"), 120), Put::Series(2));
}

#[test]
fn a_guest_is_heard_for_a_while_and_the_host_for_ever() {
    let mut told = Told::new(seconds(0));
    let puts: Vec<Put> = (0..30)
        .map(|number| {
            let event = guests(&number.to_string());
            told.say(&number.to_string(), &event, seconds(0), AGAIN)
        })
        .collect();
    assert_eq!(puts.iter().filter(|put| **put == Put::Create).count(), 25);
    assert_eq!(puts.last(), Some(&Put::TooMuch));
    assert_eq!(say(&mut told, &event("Failed", "a"), 0), Put::Create);
}

#[test]
fn no_more_is_remembered_than_may_be() {
    let mut told = Told::new(seconds(0));
    for number in 0..1_000_u64 {
        told.say(&number.to_string(), &event("Failed", ""), seconds(number), AGAIN);
    }
    assert_eq!(told.series.len(), REMEMBERED);
    assert!(told.series.contains_key("999"), "the last ones stay");
}
