//! Shows which selectors are read, and which objects they match.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn labelled(labels: &[(&str, &str)]) -> Object {
    let mut object = Object::default();
    for (key, value) in labels {
        object.set_metadata_entry("labels", key, value);
    }
    object
}

#[test]
fn every_form_of_kubectl_is_understood() {
    let object = labelled(&[("app", "web"), ("tier", ""), ("example.com/in", "in")]);
    let cases = [
        ("", true),
        ("  ", true),
        ("app=web", true),
        ("app==web", true),
        (" app = web ", true),
        ("app=api", false),
        ("app!=web", false),
        ("app!=api", true),
        ("none!=web", true),
        ("app in (api, web)", true),
        ("app in(api,web)", true),
        ("app in (api)", false),
        ("app notin (api)", true),
        ("app notin (web,api)", false),
        ("none notin (web)", true),
        ("app", true),
        ("none", false),
        ("!app", false),
        ("! none", true),
        ("tier=", true),
        ("tier!=", false),
        ("none=", false),
        ("app in (,x)", false),
        ("tier in (x,)", true),
        ("app=web,!none,tier", true),
        ("app=web,app=api", false),
        ("example.com/in in (in)", true),
        ("in", false),
    ];
    for (text, expected) in cases {
        let selector = Selector::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(selector.matches(&object), expected, "{text:?}");
    }
}

#[test]
fn labels_that_are_not_text_do_not_exist() {
    let object = Object::from_value(json!({"metadata": {"labels": {"app": 5}}})).unwrap();
    assert!(!Selector::parse("app").unwrap().matches(&object));
}

#[test]
fn errors_name_the_piece_and_how_to_write_it() {
    let cases = [
        (
            "app=web,",
            "the label selector 'app=web,' has a comma with nothing on one side: write it like app=web,tier!=test",
        ),
        (
            "a,,b",
            "the label selector 'a,,b' has a comma with nothing on one side: write it like app=web,tier!=test",
        ),
        (
            "a in (b",
            "'a in (b' in the label selector has a parenthesis without its other half: write it like tier in (a, b)",
        ),
        (
            "a in b)",
            "'a in b)' in the label selector has a parenthesis without its other half: write it like tier in (a, b)",
        ),
        (
            "a in ()",
            "'a in ()' in the label selector lists no values: write it like tier in (a, b), or use tier or !tier",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(Selector::parse(text).unwrap_err().to_string(), expected);
    }
    for text in [
        "x=1,a b",
        "a > 1",
        "a within (b)",
        "!",
        "!!a",
        "a in (b) c",
        "in (a)",
        "a((b))",
        "a in (b)(c)",
    ] {
        let error = Selector::parse(text).unwrap_err();
        assert!(
            matches!(error, SelectorError::Form(_) | SelectorError::Parenthesis(_)),
            "{text}: {error}"
        );
    }
}

#[test]
fn keys_and_values_that_no_label_can_have_are_refused_with_the_rule() {
    let long = "v".repeat(64);
    let value = Selector::parse(&format!("app={long}")).unwrap_err().to_string();
    assert!(
        value.starts_with(&format!(
            "the value '{long}' in the label selector must be a label value"
        )),
        "{value}"
    );
    assert!(value.contains("at most 63"), "{value}");
    for text in ["=a", "a/b/c=d", "a=b=c", "a==b==c", "a!=b!=c", "-a", "a = b c"] {
        let error = Selector::parse(text).unwrap_err();
        assert!(
            matches!(error, SelectorError::Key { .. } | SelectorError::Value { .. }),
            "{text}: {error}"
        );
    }
}

#[test]
fn only_exact_values_are_positive_terms() {
    let selector = Selector::parse("b=2,a==1,c in (3),d in (4,5),e!=6,f,!g,h notin (7)").unwrap();
    assert_eq!(
        selector.positive_terms().collect::<Vec<_>>(),
        [("a", "1"), ("b", "2"), ("c", "3")]
    );
    assert_eq!(selector.positive_sets().count(), 4);
}

#[test]
fn order_and_spelling_do_not_make_a_difference() {
    let one = Selector::parse("b in (y, x, y), a == 1").unwrap();
    let other = Selector::parse("a=1,b in (x,y)").unwrap();
    assert_eq!(one, other);
    assert_eq!(one.to_string(), "a=1,b in (x,y)");
}

fn piece() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        "[a-c]",
        "[a-c]\\.io/[a-c]",
        Just("in".to_string()),
        Just("notin".to_string())
    ];
    let value = "[A-C1-3]?";
    let list = prop::collection::vec(value, 1..4).prop_map(|values| values.join(", "));
    (key, value, list, 0..7).prop_filter_map("a list of nothing", |(key, value, list, form)| {
        if list.trim().is_empty() && (3..5).contains(&form) {
            return None;
        }
        Some(match form {
            0 => format!("{key}={value}"),
            1 => format!("{key} == {value}"),
            2 => format!("{key}!={value}"),
            3 => format!("{key} in ({list})"),
            4 => format!("{key} notin ({list})"),
            5 => key,
            _ => format!("!{key}"),
        })
    })
}

proptest! {
    #[test]
    fn what_is_shown_is_read_again(pieces in prop::collection::vec(piece(), 0..5)) {
        let selector = Selector::parse(&pieces.join(",")).unwrap();
        let again = Selector::parse(&selector.to_string()).unwrap();
        prop_assert_eq!(selector, again);
    }

    #[test]
    fn an_object_with_all_positive_terms_is_found_by_each(pieces in prop::collection::vec(piece(), 0..5), value in "[A-C1-3]") {
        let selector = Selector::parse(&pieces.join(",")).unwrap();
        let object = labelled(&[("a", &value), ("b", "A"), ("in", "1")]);
        if selector.matches(&object) {
            for (key, value) in selector.positive_terms() {
                prop_assert_eq!(object.label(key), Some(value));
            }
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,40}", near in "[a-c=!()<, ]{0,20}") {
        let _ = Selector::parse(&text);
        let _ = Selector::parse(&near);
    }
}
