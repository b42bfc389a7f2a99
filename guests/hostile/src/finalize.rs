//! Finalizes a primary, or fails to, as `settings.finalize` says.

use windlass_sdk::{Child, Context, Finalized, Outcome, Query, Stop};

use crate::behaviour::{exhaust_memory, spin, trap};
use crate::objects::{CONFIG_MAPS, config_map};
use crate::{Primary, Settings, told};

/// `""` waits for a ConfigMap `<name>-release`; `done` is done at once; `farewell` makes a ConfigMap
/// `<name>-farewell` and then waits as `""` does; `never` never finishes; `invalid`, `trap`, `spin`, `memory`;
/// `told` wants what `spec.farewell` says, and is done where that is nothing.
pub(crate) fn run(context: &Context<Settings>, primary: &Primary) -> Result<Finalized, Stop> {
    match context.settings.finalize.as_str() {
        "" => until_released(context, primary, Outcome::unchanged()),
        "done" => Ok(Finalized::Done),
        "farewell" => until_released(context, primary, farewell(primary)),
        "never" => Ok(Finalized::Proceed(Outcome::unchanged())),
        "told" => Ok(told::farewell(context, primary)?.map_or(Finalized::Done, Finalized::Proceed)),
        "invalid" => Err(Stop::invalid("this one cannot be finalized")),
        "trap" => trap(),
        "spin" => spin(),
        "memory" => exhaust_memory(),
        unknown => Err(Stop::invalid(format!("settings: finalize: there is no {unknown:?}"))),
    }
}

fn until_released(context: &Context<Settings>, primary: &Primary, meanwhile: Outcome) -> Result<Finalized, Stop> {
    let release =
        Query::name(&CONFIG_MAPS, format!("{}-release", primary.metadata.name)).namespace(&primary.metadata.namespace);
    match context.ask(release)?.exists()? {
        true => Ok(Finalized::Done),
        false => Ok(Finalized::Proceed(meanwhile)),
    }
}

fn farewell(primary: &Primary) -> Outcome {
    let name = format!("{}-farewell", primary.metadata.name);
    Outcome::exactly([Child::new(&config_map(primary, &name, "farewell"))])
}
