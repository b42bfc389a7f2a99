//! Shows what the words of a rule mean.

use super::*;

fn call(verb: &'static str, kind: &str, namespace: &str, name: &str) -> Call {
    let (resource, subresource) = kind.split_once('/').unwrap_or((kind, ""));
    Call {
        verb,
        resource: resource.into(),
        subresource: subresource.into(),
        namespace: namespace.into(),
        name: name.into(),
        user: "system:serviceaccount:windlass-system:nginx".into(),
        ..Call::default()
    }
}

#[test]
fn a_rule_should_concern_what_its_words_say_and_nothing_else() {
    let web = call("apply", "deployments", "a", "web");
    for (words, concerned) in [
        ("drop", true),
        ("drop verb=patch kind=deployments namespace=a name=web", true),
        ("drop verb=apply,delete", true),
        ("drop verb=write", true),
        ("drop verb=delete,get", false),
        ("drop kind=deployments/status", false),
        ("drop kind=pods,deployments", true),
        ("drop namespace=b", false),
        ("drop name=web2", false),
        ("drop user=*:nginx", true),
        ("drop user=nginx", false),
        ("drop user=system:serviceaccount:windlass-system:nginx", true),
        ("drop kind=-", false),
    ] {
        let rule: Rule = words.parse().unwrap();
        assert_eq!(rule.matching.matches(&web), concerned, "{words}");
    }
    let status = call("patch", "nginx/status", "a", "web");
    let apply: Rule = "drop verb=apply".parse().unwrap();
    assert!(!apply.matching.matches(&status));
    let discovery: Rule = "drop kind=-".parse().unwrap();
    assert!(discovery.matching.matches(&call("list", "", "", "")));
}

#[test]
fn a_rule_should_concern_so_many_as_its_words_say() {
    for (words, expected) in [
        ("drop", "111111111"),
        ("drop count=3", "111000000"),
        ("drop every=3", "001001001"),
        ("drop after=4", "000011111"),
        ("drop after=1 every=2 count=2", "001010000"),
    ] {
        let rule: Rule = words.parse().unwrap();
        let mut hits = 0;
        let concerned = (1..=9).map(|seen| {
            let concerned = rule.times.concern(seen, hits);
            hits += u64::from(concerned);
            if concerned { '1' } else { '0' }
        });
        assert_eq!(concerned.collect::<String>(), expected, "{words}");
    }
}

#[test]
fn an_answer_should_be_what_an_api_server_says() {
    let rule: Rule = "code=429 retry-after=5 verb=write message=too much = too much"
        .parse()
        .unwrap();
    let Fault::Answer(refusal) = &rule.fault else {
        panic!("{rule:?}");
    };
    let status = refusal.status();
    assert_eq!(status["reason"], "TooManyRequests");
    assert_eq!(status["message"], "too much = too much");
    assert_eq!(status["details"]["retryAfterSeconds"], 5);
    let rule: Rule = "watch-error=410 reason=Gone kind=pods".parse().unwrap();
    let Fault::WatchError(refusal) = &rule.fault else {
        panic!("{rule:?}");
    };
    assert_eq!((refusal.code, refusal.reason.as_str()), (410, "Gone"));
    let pods = |verb| rule.matching.matches(&call(verb, "pods", "", ""));
    assert!(pods("watch") && !pods("list"), "only watches bring events");
}

#[test]
fn words_that_mean_nothing_should_be_named() {
    for (words, named) in [
        ("", "what is to be done"),
        ("verb=get", "what is to be done"),
        ("drop hold", "`hold`"),
        ("drop verb=put", "`put`"),
        ("code=x", "`code=x`"),
        ("delay=soon", "`delay=soon`"),
        ("drop colour=blue", "`colour`"),
    ] {
        let error = words.parse::<Rule>().unwrap_err();
        assert!(format!("{error:#}").contains(named), "{words}: {error:#}");
    }
}
