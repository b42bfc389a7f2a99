//! Shows on random values that field sets are sets, and that applying twice is applying once.

use super::super::compare::{compare, set_of};
use super::super::fields::FieldSet;
use super::*;
use proptest::prelude::*;
use windlass_core::shape::{Known, Shape};

fn field_set() -> impl Strategy<Value = FieldSet> {
    let leaf = any::<bool>().prop_map(|member| FieldSet {
        member,
        children: Default::default(),
    });
    leaf.prop_recursive(3, 16, 3, |below| {
        (
            any::<bool>(),
            prop::collection::btree_map("f:[a-c]|v:[1-3]|k:\\{\"name\":\"[xy]\"\\}", below, 0..3),
        )
            .prop_map(|(member, children)| {
                let mut set = FieldSet {
                    member,
                    children: Default::default(),
                };
                children.into_iter().for_each(|(name, child)| set.put(name, child));
                set
            })
    })
    .prop_map(|set| FieldSet { member: false, ..set })
}

fn content() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(1)),
        Just(json!("text")),
        Just(json!(true)),
        Just(json!([1, 2]))
    ];
    leaf.prop_recursive(3, 12, 3, |below| {
        prop::collection::btree_map("[a-d]", below, 1..4).prop_map(|fields| json!(fields))
    })
}

proptest! {
    #[test]
    fn union_and_difference_are_those_of_sets(left in field_set(), right in field_set()) {
        let both = left.union(&right);
        prop_assert_eq!(&both, &right.union(&left));
        prop_assert_eq!(&left.union(&left), &left);
        let only_left = left.difference(&right);
        prop_assert!(only_left.intersection(&right).is_empty());
        prop_assert_eq!(&only_left.union(&left.intersection(&right)), &left);
        prop_assert_eq!(only_left.union(&right), both);
        prop_assert!(left.difference(&left).is_empty());
    }

    #[test]
    fn field_sets_survive_being_written_and_read(set in field_set()) {
        prop_assert_eq!(FieldSet::from_json(&set.to_json()), set);
    }

    #[test]
    fn equal_values_do_not_differ_and_others_do(left in content(), right in content()) {
        let shape = Shape::of(Known::Nothing);
        let change = compare(Some(&left), Some(&right), shape);
        let differs = !(change.added.is_empty() && change.modified.is_empty() && change.removed.is_empty());
        prop_assert_eq!(differs, left != right);
    }

    #[test]
    fn applying_twice_is_applying_once(first in content(), second in content()) {
        let cluster = cluster();
        cluster.declare(widgets());
        cluster.apply_as("ours", &widget("one", json!({"x": first}))).expect("applied");
        let once = cluster.apply_as("ours", &widget("one", json!({"x": second}))).expect("applied");
        prop_assert_eq!(once.at(&["spec"]), Some(&json!({"x": second})));
        let twice = cluster.apply_as("ours", &widget("one", json!({"x": second}))).expect("applied");
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn whoever_applies_alone_owns_what_was_applied(spec in content()) {
        let cluster = cluster();
        cluster.declare(widgets());
        let body = widget("one", json!({"x": spec}));
        let object = cluster.apply_as("ours", &body).expect("applied");
        let owned = FieldSet::from_json(&object.0["metadata"]["managedFields"][0]["fieldsV1"]);
        let spec = json!({"spec": body.0["spec"]});
        prop_assert_eq!(owned, set_of(&spec, Shape::of(Known::Nothing)));
    }
}
