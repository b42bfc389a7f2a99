//! Reads the small languages: selectors, paths, quantities, managed fields, YAML.

use serde_json::{Map, Value, json};
use windlass::api::Index;
use windlass::cluster::memory::canonical_quantity;
use windlass_core::managed_fields as fields;
use windlass_core::manifest::Projection;
use windlass_core::object::Object;
use windlass_core::path;
use windlass_core::project::{covers, for_guest, for_store};
use windlass_core::secrets::{hidden_values, is_value_path, replace_values};
use windlass_core::selector::Selector;
use windlass_core::write::Subresource;

/// A selector as it is shown can be read again, and is the same.
pub fn selectors(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(selector) = Selector::parse(text) else { return };
    assert_eq!(
        Selector::parse(&selector.to_string()).as_ref(),
        Ok(&selector),
        "{text:?}"
    );
    for (key, value) in selector.positive_terms() {
        let labelled = object(json!({"metadata": {"labels": {key: value}}}));
        let only = Selector::parse(&format!("{key}={value}")).expect("made of what was read");
        assert!(only.matches(&labelled), "{text:?}");
    }
    selector.matches(&object(json!({"metadata": {"labels": {"app": "web"}}})));
}

/// Lines: a path, another one, and a value. What is within a path is shown by it.
pub fn paths(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut lines = text.splitn(3, '\n');
    let mut line = || lines.next().unwrap_or_default();
    let (first, second, value) = (line(), line(), line());
    let thing = object(json!({
        "metadata": {"name": "one", "annotations": {"example.com/owner": "me"}},
        "spec": {"nodeName": "n", "tls": [{"secretName": "a"}, {"secretName": "b"}, 1], "": {"": null}},
        "data": {"password": "cGFzcw=="},
    }));
    path::holds(&thing, first, value);
    is_value_path(first);
    let (Ok(()), Ok(())) = (path::validate(first), path::validate(second)) else {
        return;
    };
    assert!(path::is_within(first, first), "{first:?}");
    assert!(
        path::is_within(&format!("{first}{second}"), first),
        "{first:?} {second:?}"
    );
    let projection = Projection::Fields(vec![first.into()]);
    assert!(covers(&projection, first), "{first:?}");
    let shown = for_guest(&thing, &projection);
    assert_eq!(
        path::holds(&shown, first, value),
        path::holds(&thing, first, value),
        "{first:?}"
    );
    assert_eq!(for_guest(&shown, &projection), shown, "{first:?}");
}

/// A quantity in its canonical spelling is spelt so.
pub fn quantities(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(canonical) = canonical_quantity(text) {
        assert_eq!(canonical_quantity(&canonical).as_ref(), Some(&canonical), "{text:?}");
    }
}

/// An object as JSON, with entries of whatever managers.
pub fn managed_fields(bytes: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
        return;
    };
    let Some(object) = Object::from_value(value) else {
        return;
    };
    let managers: Vec<String> = fields::managers(&object).into_iter().map(Into::into).collect();
    for manager in managers.iter().map(String::as_str).chain(["windlass:team-a:one"]) {
        fields::has_written(&object, manager);
        fields::is_split(&object, manager);
        fields::take_over(&object, manager);
        fields::first_lost(&object, &object, manager);
        fields::owned_condition_types(&object, manager);
        fields::has_applied(&object, &object, manager, Subresource::None);
        fields::has_applied(&object, &object, manager, Subresource::Status);
        fields::owns_any(&object, &[manager]);
        fields::owned_by_others(&object, &object, &[manager]);
        let _ = fields::hand_over(&object, &[manager], "windlass:team-a:one");
    }
    for projection in [Projection::Full, Projection::Metadata] {
        let stored = for_store(object.clone(), &projection);
        assert_eq!(for_store(stored.clone(), &projection), stored);
    }
    let mut secret = object;
    replace_values(&mut secret, |_| "hmac-sha256:".into());
    hidden_values(&secret);
}

/// Settings beside a module, an index of parts, and what people give to the command line.
pub fn yaml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let settings = serde_saphyr::from_str::<Option<Map<String, Value>>>(text);
    if let Ok(Some(settings)) = settings {
        // It is kept as JSON, which has to hold it.
        let json = Value::Object(settings).to_string();
        assert!(serde_json::from_str::<Value>(&json).is_ok(), "{text:?}");
    }
    let _ = serde_saphyr::from_str::<Index>(text);
    let _ = serde_saphyr::from_multiple::<Value>(text);
}

fn object(value: Value) -> Object {
    Object::from_value(value).expect("a map")
}
