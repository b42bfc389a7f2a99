//! Shows access rules, failures on demand and the history of writes.

use super::*;
use crate::cluster::memory::{AccessPattern, Verb};
use windlass_core::rights::Access;

#[tokio::test]
async fn everything_is_allowed_until_a_rule_says_otherwise() {
    let cluster = cluster();
    let access = |namespace: Option<&str>| Access {
        verb: "list".into(),
        group: String::new(),
        resource: "pods".into(),
        namespace: namespace.map(Into::into),
    };
    assert_eq!(cluster.review(&account(), &access(None)).await, Ok(true));
    cluster.deny(account(), AccessPattern::new("list", "", "pods").within("a"));
    assert_eq!(cluster.review(&account(), &access(Some("a"))).await, Ok(false));
    assert_eq!(cluster.review(&account(), &access(Some("b"))).await, Ok(true));
    assert_eq!(cluster.review(&account(), &access(None)).await, Ok(false));
    cluster.lift(&account());
    cluster.restrict(account(), vec![AccessPattern::new("*", "", "pods").within("a")]);
    assert_eq!(cluster.review(&account(), &access(Some("a"))).await, Ok(true));
    assert_eq!(cluster.review(&account(), &access(None)).await, Ok(false));
}

#[tokio::test]
async fn a_write_without_the_right_is_forbidden_in_the_servers_words() {
    let cluster = cluster();
    cluster.restrict(account(), vec![AccessPattern::new("patch", "apps", "deployments")]);
    let apply = Request::Apply {
        object: deployment("web"),
        force: false,
    };
    let error = send(&cluster, write(&deployments(), "web", "ours", apply.clone())).await;
    let text = "deployments.apps is forbidden: User \"system:serviceaccount:default:worker\" cannot create resource \
                \"deployments\" in API group \"apps\" in the namespace \"default\"";
    assert_eq!(error, Err(WriteError::Forbidden(text.into())));
    cluster.create(&deployment("web")).expect("created");
    send(&cluster, write(&deployments(), "web", "ours", apply))
        .await
        .expect("applied");
}

#[tokio::test]
async fn the_next_writes_fail_on_demand_and_are_remembered() {
    let cluster = cluster();
    let mark = cluster.mark();
    let error = WriteError::Unavailable("time-out".into());
    cluster.fail_next_writes(1, error.clone());
    let create = write(
        &config_maps(),
        "one",
        "ours",
        Request::Create(config_map("one", json!({}))),
    );
    assert_eq!(send(&cluster, create.clone()).await, Err(error.clone()));
    let created = send(&cluster, create).await.expect("created");
    let writes = cluster.writes_since(mark);
    assert_eq!(
        writes.iter().map(|write| write.error.clone()).collect::<Vec<_>>(),
        [Some(error), None]
    );
    assert_eq!(
        (writes[1].verb, &writes[1].before, &writes[1].after),
        (Verb::Create, &None, &created)
    );
    assert!(!writes[0].changed() && writes[1].changed());
}
