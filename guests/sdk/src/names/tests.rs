//! Tests that names are valid, apart and stable.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn valid_label(text: &str) -> bool {
    text.len() <= LABEL && is_label_value(text)
}

#[test]
fn what_fits_is_kept() {
    for text in ["", "a", "nginx-web", "Has.dots_and-dashes", &"a".repeat(63)] {
        assert_eq!(label_value(text), text);
    }
    for stem in ["web", "a.b.c", "underneathall-nginx", &"x".repeat(DEPLOYMENT - 7)] {
        assert_eq!(object_name(stem, "-deploy", DEPLOYMENT), format!("{stem}-deploy"));
    }
}

/// Changing these would orphan objects.
#[test]
fn cut_names_are_stable() {
    assert_eq!(label_value(&"a".repeat(64)), format!("{}--ffe054fe7a", "a".repeat(51)));
    assert_eq!(
        object_name(&"a".repeat(253), "-deploy", 63),
        format!("{}--{}-deploy", "a".repeat(44), digits(&"a".repeat(253)))
    );
}

#[test]
fn a_cut_inside_punctuation_leaves_a_valid_end() {
    let stem = format!("{}.-.{}", "a".repeat(50), "b".repeat(60));
    assert!(valid_label(&label_value(&stem)), "{}", label_value(&stem));
    assert!(is_subdomain(&object_name(&stem, "-deploy", 70)));
}

#[test]
fn long_names_with_a_common_beginning_stay_apart() {
    let names = ["1", "2", "3"].map(|end| format!("{}{end}", "a".repeat(120)));
    let labels: BTreeSet<_> = names.iter().map(|name| label_value(name)).collect();
    let objects: BTreeSet<_> = names.iter().map(|name| object_name(name, "-deploy", 63)).collect();
    assert_eq!((labels.len(), objects.len()), (3, 3));
}

#[test]
fn nobody_can_choose_the_name_another_is_cut_to() {
    let long = "a".repeat(300);
    let label = label_value(&long);
    assert_ne!(label_value(&label), label);
    let object = object_name(&long, "-deploy", DEPLOYMENT);
    let stem = object.strip_suffix("-deploy").unwrap();
    assert_ne!(object_name(stem, "-deploy", DEPLOYMENT), object);
    let nothing_readable = label_value("///");
    assert_ne!(label_value(&nothing_readable), nothing_readable);
}

proptest! {
    #[test]
    fn any_text_becomes_a_valid_label_value(text in ".{0,300}") {
        prop_assert!(valid_label(&label_value(&text)));
    }

    #[test]
    fn any_text_becomes_a_valid_object_name(text in ".{1,300}", max in 20usize..253) {
        let name = object_name(&text, "-deploy", max);
        prop_assert!(name.len() <= max && is_subdomain(&name), "{}", name);
    }

    #[test]
    fn names_of_objects_become_valid_names(text in "[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?){0,3}") {
        let name = object_name(&text, "-deploy", DEPLOYMENT);
        prop_assert!(name.len() <= DEPLOYMENT && is_subdomain(&name));
        prop_assert!(valid_label(&label_value(&text)));
    }

    #[test]
    fn different_texts_stay_different(one in "[a-c./-]{0,80}", other in "[a-c./-]{0,80}") {
        prop_assume!(one != other);
        prop_assert_ne!(label_value(&one), label_value(&other));
    }

    #[test]
    fn different_stems_stay_different(one in "[a-c.]{1,80}", other in "[a-c.]{1,80}") {
        prop_assume!(one != other);
        prop_assert_ne!(object_name(&one, "-x", 63), object_name(&other, "-x", 63));
    }
}
