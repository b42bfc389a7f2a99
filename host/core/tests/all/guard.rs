//! Holds plans: what is held is exactly what would go, and everything else goes on.

use crate::golden::Case;
use proptest::prelude::*;
use serde_json::json;
use windlass_core::decision::{ChildrenPlan, Decided, Outcome};
use windlass_core::guard::{PruneGuard, approval, hold};
use windlass_core::object::Object;
use windlass_core::reason::Reason;

fn none_wanted() -> Decided {
    Decided::Outcome(Box::new(Outcome {
        children: ChildrenPlan::NoneWanted,
        primary: None,
        status: None,
        conditions: Vec::new(),
        events: Vec::new(),
        requeue_after: None,
    }))
}

fn child(number: usize) -> Object {
    Object::from_value(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": format!("c{number}"), "namespace": "team-a", "uid": format!("uid-{number}"), "resourceVersion": "1",
            "labels": {
                "windlass.dev/reconciler": "nginx", "windlass.dev/reconciler-namespace": "team-a",
                "windlass.dev/primary-uid": "uid-primary",
            },
            "annotations": {"windlass.dev/applied": "h"},
        },
    }))
    .unwrap()
}

fn case(children: &[usize]) -> Case {
    let mut case = Case::new(&json!({}));
    case.children = children.iter().map(|number| child(*number)).collect();
    case
}

proptest! {
    #[test]
    fn what_is_held_deletes_nothing_and_names_what_it_keeps(count in 1usize..12) {
        let case = case(&(0..count).collect::<Vec<_>>());
        let plan = case.plan(&none_wanted());
        prop_assert_eq!(plan.prune.len(), count);
        let held = hold(plan, &case.actor, "abc", &PruneGuard::default());
        prop_assert!(held.is_empty());
        prop_assert_eq!(held.blocked[0].reason, Reason::PruneHeld);
        let message = &held.blocked[0].message;
        prop_assert_eq!(message.matches("ConfigMap team-a/c").count(), count.min(5), "{}", message);
        prop_assert_eq!(message.contains("more would"), count > 5, "{}", message);
        prop_assert!(message.contains("windlass approve prune nginx -n team-a") && message.contains("abc"), "{}", message);
    }

    #[test]
    fn an_approval_depends_on_what_goes_and_not_on_its_order(
        (numbers, shuffled) in proptest::sample::subsequence((0usize..8).collect::<Vec<_>>(), 1..8)
            .prop_flat_map(|numbers| (Just(numbers.clone()), Just(numbers).prop_shuffle())),
    ) {
        let of = |numbers: &[usize]| {
            let case = case(numbers);
            approval(&case.primary, &case.plan(&none_wanted()).prune)
        };
        prop_assert_eq!(of(&numbers), of(&shuffled));
        prop_assert_ne!(of(&numbers), of(&[numbers.as_slice(), &[9]].concat()));
    }
}

#[test]
fn an_approval_is_about_this_primary_and_these_objects() {
    let mut one = case(&[1]);
    let hash = |case: &Case| approval(&case.primary, &case.plan(&none_wanted()).prune);
    let before = hash(&one);
    assert_eq!(before.len(), 32);
    one.children[0].metadata_mut().insert("uid".into(), json!("another"));
    assert_ne!(hash(&one), before, "an object that was made anew is another one");
}
