//! Looks at values of Secrets, in the ways that a host has to hide or to give them.

use serde_json::{Value, json};
use windlass_sdk::{Child, Context, Outcome, Query, Stop, log};

use crate::objects::{SECRETS, config_map, secret};
use crate::{Primary, Settings};

/// `hush`, as it is in `data`.
const HUSH: &str = "aHVzaA==";

/// The password in the Secret named like the primary, in the child's data.
pub(crate) fn show(context: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let secret = Query::name(&SECRETS, &primary.metadata.name).namespace(&primary.metadata.namespace);
    let secrets: Vec<Value> = context.ask(secret)?.all()?;
    Ok(Outcome::exactly([told(primary, &secrets)]))
}

/// The password in the Secret whose password it is, in the child's data.
pub(crate) fn find(context: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let secret = Query::field(&SECRETS, ".data.password", HUSH).namespace(&primary.metadata.namespace);
    let secrets: Vec<Value> = context.ask(secret)?.all()?;
    Ok(Outcome::exactly([told(primary, &secrets)]))
}

/// A Secret of its own, and what it is shown of that.
pub(crate) fn keep(context: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let children = context
        .children
        .iter()
        .filter_map(|text| serde_json::from_str(text).ok());
    let secrets: Vec<Value> = children.filter(|child: &Value| child["kind"] == "Secret").collect();
    let mut own = secret(primary);
    own["stringData"] = Value::Null;
    own["data"] = json!({"password": HUSH});
    Ok(Outcome::exactly([Child::new(&own), told(primary, &secrets)]))
}

/// A Secret with what it is shown of the one named like the primary.
pub(crate) fn copy(context: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let named = Query::name(&SECRETS, &primary.metadata.name).namespace(&primary.metadata.namespace);
    let secrets: Vec<Value> = context.ask(named)?.all()?;
    let Some(source) = secrets.first() else {
        return Err(Stop::waiting("there is no Secret to copy"));
    };
    let mut copy = secret(primary);
    copy["metadata"]["name"] = format!("{}-copy", primary.metadata.name).into();
    copy["stringData"] = source["data"].clone();
    Ok(Outcome::exactly([Child::new(&copy)]))
}

fn told(primary: &Primary, secrets: &[Value]) -> Child {
    let passwords = secrets
        .iter()
        .map(|secret| secret["data"]["password"].as_str().unwrap_or("none"));
    let text = passwords.collect::<Vec<_>>().join(" ");
    Child::new(&config_map(primary, &primary.metadata.name, &text))
}

/// A Secret with a value of its own making; logs all that it was given.
pub(crate) fn tell(context: &Context<Settings>, primary: &Primary, key: &str, value: &str) -> Result<Outcome, Stop> {
    for child in &context.children {
        log::info(format!("a child is {child}"));
    }
    log::warn(format!("the input is {context:?} {primary:?}"));
    let mut own = secret(primary);
    own["stringData"] = json!({key: value});
    Ok(Outcome::exactly([Child::new(&own)]))
}

/// A Secret with what is derived from the seed.
pub(crate) fn password(context: &Context<Settings>, primary: &Primary) -> Result<Outcome, Stop> {
    let seed = context.seed()?;
    let key: String = seed.key("tls", 32).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut own = secret(primary);
    own["stringData"] = json!({"password": seed.password("admin", 24), "key": key});
    log::info(format!("the context is {context:?}"));
    Ok(Outcome::exactly([Child::new(&own)]))
}
