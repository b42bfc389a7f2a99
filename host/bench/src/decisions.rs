//! Measures decisions in fresh instances: against the same logic as a native function, and on other engines.
//!
//! All ways take turns, batch by batch, so that whatever else the machine does falls on each of them.

use crate::comparison::{Comparison, Target};
use crate::effort::Effort;
use crate::quantity::Sample;
use crate::subject::{Calls, Subject};
use anyhow::{Result, anyhow};
use serde_json::json;
use std::sync::Arc;
use windlass::decide::Decide;
use windlass::guest::{Allocation, Capacity, Compiler, DESCRIBE_TIME, Interruption, Limits, Loader, Runtime};

/// What a decision may cost, as a multiple of the same logic as a native function.
const TARGET: Target = Target::Times(12.0);

/// A way to come to a decision, and how long it took each time.
struct Way {
    /// None: the native function.
    guest: Option<Arc<dyn Decide>>,
    times: Sample,
}

/// Measures these decisions.
///
/// # Errors
/// If a guest does not load, or does not decide what its logic decides natively.
pub(crate) async fn measure(effort: &Effort, subjects: &[Subject]) -> Result<Vec<Comparison>> {
    let product = Capacity::default();
    let given_back = Capacity {
        allocation: Allocation::PoolingGivenBack,
        ..product.clone()
    };
    let on_demand = Capacity {
        allocation: Allocation::OnDemand,
        ..product.clone()
    };
    let fuel = Capacity {
        interruption: Interruption::Fuel,
        ..product.clone()
    };
    let engines = [product, given_back, on_demand, fuel].map(Runtime::new);
    let engines = engines.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut lines = Vec::new();
    for subject in subjects {
        let mut ways = Vec::new();
        for engine in &engines {
            ways.push(Way::through(load(engine, subject).await?));
        }
        let product = ways[0]
            .guest
            .clone()
            .ok_or_else(|| anyhow!("the first way is a guest"))?;
        let calls = subject.calls(&*product).await?;
        ways.push(Way::natively());
        take_turns(&calls, &mut ways, effort).await?;
        let [seen, given_back, on_demand, fuel, native] = &ways[..] else {
            return Err(anyhow!("there are five ways"));
        };
        let (name, seen) = (subject.guest.name(), seen.times.quantity());
        let line = |what: &str| Comparison::of(format!("{name}: {what}"), seen);
        lines.extend([
            line("a decision in a fresh instance")
                .against("native function", native.times.quantity())
                .target(TARGET),
            line("pooling allocation").against("on demand", on_demand.times.quantity()),
            line("pages kept for the next decision").against("given back", given_back.times.quantity()),
            line("epoch interruption").against("fuel", fuel.times.quantity()),
        ]);
    }
    // The exports report panics to a host's log, which is not there.
    drop(std::panic::take_hook());
    Ok(lines)
}

impl Way {
    fn through(guest: Arc<dyn Decide>) -> Self {
        Self {
            guest: Some(guest),
            times: Sample::new(),
        }
    }

    fn natively() -> Self {
        Self {
            guest: None,
            times: Sample::new(),
        }
    }
}

/// Takes the guest up on an engine, compiled in this process: the code is what the child would make.
async fn load(engine: &Runtime, subject: &Subject) -> Result<Arc<dyn Decide>> {
    let loader = Loader::new(engine.clone(), Compiler::InProcess);
    let refused = |refusal| anyhow!("{}: {refusal}", subject.guest.name());
    let module = loader.load(subject.guest.module()).await.map_err(refused)?;
    let limits = Limits::default();
    let describing = limits.clone().with_time(DESCRIBE_TIME);
    let manifest = module.describe(&json!({}), &describing).await.map_err(refused)?;
    Ok(module.guest(&manifest, &limits))
}

/// Takes decisions in turns. The first batch of each is not counted: code and data have yet to come into the caches.
async fn take_turns(calls: &Calls, ways: &mut [Way], effort: &Effort) -> Result<()> {
    for batch in 0..=effort.batches {
        for way in &mut *ways {
            for _ in 0..effort.batch {
                let time = match &way.guest {
                    Some(guest) => calls.time(&**guest).await?,
                    None => calls.time_natively(),
                };
                if batch > 0 {
                    way.times.add(time);
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_guest_decides_on_every_engine_what_its_logic_decides_natively() {
        let effort = Effort {
            batches: 1,
            batch: 1,
            ..Effort::quick()
        };
        let lines = measure(&effort, &[Subject::friend()]).await.unwrap();
        assert_eq!(lines.len(), 4);
        assert!(lines.iter().all(|line| line.ratio().is_some()), "{lines:?}");
    }
}
