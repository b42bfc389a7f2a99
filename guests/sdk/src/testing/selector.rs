//! Matches labels against a selector in kubectl's syntax.

use std::collections::BTreeMap;

/// Whether the selector selects these labels; an empty one selects all.
pub(super) fn selects(selector: &str, labels: &BTreeMap<String, String>) -> bool {
    terms(selector).iter().all(|term| holds(term.trim(), labels))
}

/// The terms between the commas that are not inside parentheses.
fn terms(selector: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let mut terms = selector.split(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    });
    terms.by_ref().filter(|term| !term.trim().is_empty()).collect()
}

fn holds(term: &str, labels: &BTreeMap<String, String>) -> bool {
    let value = |key: &str| labels.get(key.trim()).map(String::as_str);
    if let Some((key, wanted)) = term.split_once("!=") {
        return value(key) != Some(wanted.trim());
    }
    if let Some((key, wanted)) = term.split_once("==").or_else(|| term.split_once('=')) {
        return value(key) == Some(wanted.trim());
    }
    if let Some((head, list)) = term.split_once('(') {
        let listed = |text: &str| list.trim_end_matches(')').split(',').any(|item| item.trim() == text);
        let head = head.trim();
        return match (head.strip_suffix(" notin"), head.strip_suffix(" in")) {
            (Some(key), _) => !value(key).is_some_and(listed),
            (_, Some(key)) => value(key).is_some_and(listed),
            _ => panic!("{term:?} is no term of a label selector"),
        };
    }
    match term.strip_prefix('!') {
        Some(key) => value(key).is_none(),
        None => value(term).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_select_as_kubectl_does() {
        let labels = BTreeMap::from([("app", "web"), ("tier", "front")].map(|(k, v)| (k.to_owned(), v.to_owned())));
        let cases = [
            ("", true),
            ("app=web", true),
            ("app == web, tier=front", true),
            ("app=db", false),
            ("app!=db", true),
            ("missing!=x", true),
            ("app in (db, web),tier", true),
            ("app notin (db,web)", false),
            ("missing notin (a)", true),
            ("!missing", true),
            ("!app", false),
            ("missing", false),
        ];
        for (selector, expected) in cases {
            assert_eq!(selects(selector, &labels), expected, "{selector:?}");
        }
    }
}
